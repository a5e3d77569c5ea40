#include "harness/verbs/append_conclusion.h"

#include <algorithm>

#include <fmt/format.h>

namespace holdfast {
namespace {

const WayResult& result_of(const AppendCheck& check, Way way) {
    return *std::ranges::find(check.ways, way, &WayResult::way);
}

bool sleeps(const WayResult& result) {
    const auto outcome = result.count.outcome();
    return outcome == Outcome::blocks || outcome == Outcome::sometimes_blocks || outcome == Outcome::sleeps;
}

bool is_asynchronous(const WayResult& result) {
    return !result.refused && result.count.outcome() == Outcome::asynchronous;
}

StorageKind storage_here(const AppendCheck& check) {
    return check.mount ? storage_of(check.mount->type) : StorageKind::disk;
}

std::string where(const WayResult& result) {
    return result.waits_in ? fmt::format(" (waits in {})", *result.waits_in) : std::string{};
}

std::string counted(const SubmissionCount& count) {
    return fmt::format("{} of {} io_submit calls slept ({} had completed when it returned)", count.slept,
                       count.submissions, count.complete);
}

std::string answer_of(const AppendCheck& check) {
    const auto& append = result_of(check, Way::append);
    switch (append.count.outcome()) {
        case Outcome::blocks:
            return fmt::format("Appends block here{}: {}.", where(append), counted(append.count));
        case Outcome::sometimes_blocks:
            return fmt::format("Appends block here now and then{}: {}.", where(append), counted(append.count));
        case Outcome::sleeps:
            return fmt::format("Appends sleep in io_submit here{}, but not until they are written: {}.", where(append),
                               counted(append.count));
        case Outcome::asynchronous:
            return fmt::format("Appends do not block here, one in flight: {}.", counted(append.count));
        case Outcome::within_call:
            break;
    }
    if (storage_here(check) == StorageKind::memory)
        return fmt::format(
            "Appends do not block here: {} keeps its data in memory, so io_submit copies the data and returns, and "
            "there is no disk to wait for. It says nothing about a filesystem on a disk.",
            check.mount->type);
    return fmt::format(
        "Cannot tell: {}. Either io_submit does the writing itself without sleeping, as it does where a filesystem "
        "buffers what O_DIRECT asks for, or the device is faster than the call.",
        counted(append.count));
}

std::string advice_of(const AppendCheck& check) {
    if (!sleeps(result_of(check, Way::append))) return {};
    const bool preallocated = is_asynchronous(result_of(check, Way::preallocated));
    const bool truncated = is_asynchronous(result_of(check, Way::pre_truncated));
    if (preallocated && truncated)
        return "To avoid it: preallocate (fallocate) and write below the end of file; ftruncate to the full size "
               "first also does.";
    if (preallocated) return "To avoid it: preallocate (fallocate) and write below the end of file.";
    if (truncated) return "To avoid it: ftruncate to the full size first and write below the end of file.";
    const std::string none{"Neither preallocating nor truncating to the full size first avoids it here"};
    if (is_asynchronous(result_of(check, Way::overwrite)))
        return none + "; overwriting blocks that are there already does: write the file once, and then use it again.";
    return none + ", and overwriting does not either.";
}

std::string on_two_appends(const AppendCheck& check) {
    const auto& two = result_of(check, Way::two_appends);
    if (!is_asynchronous(result_of(check, Way::append))) return {};
    if (two.overlapped == 0)
        return "Whether a second append waits for the first is not known: the first was complete each time before the "
               "second was submitted.";
    if (sleeps(two))
        return fmt::format(
            "With another append in flight, an append waits{}: {}. Keep to one append in flight, or write below the "
            "end of file.",
            two.waits_in ? " in " + *two.waits_in : "", counted(two.count));
    if (is_asynchronous(two)) return fmt::format("Nor do they with two in flight: {}.", counted(two.count));
    return {};
}

std::string on_storage(const AppendCheck& check) {
    switch (storage_here(check)) {
        case StorageKind::network:
            return fmt::format(
                "{} is a network filesystem: what waits is this machine's client, and how long depends "
                "on the server.",
                check.mount->type);
        case StorageKind::process:
            return fmt::format("{} is served by a process: what that does decides how long a call takes.",
                               check.mount->type);
        case StorageKind::stacked:
            return fmt::format("{} passes writes on: the answer is that of the filesystem beneath it.",
                               check.mount->type);
        default:
            return {};
    }
}

std::string on_privilege(const AppendCheck& check) {
    if (check.sees_stacks || std::ranges::none_of(check.ways, sleeps)) return {};
    return "Run as root, it also says where in the kernel the calls wait.";
}

std::string on_certainty(const AppendCheck& check) {
    if (storage_here(check) == StorageKind::memory) return {};
    return "This was measured, not held: a fast device may hide that a call waits. `sudo holdfast run 'aio_append.*'` "
           "decides it, for this kernel and the filesystems that Holdfast makes, by holding the disk.";
}

}  // namespace

AppendConclusion conclude(const AppendCheck& check) {
    const bool unclear = result_of(check, Way::append).count.outcome() == Outcome::within_call;
    AppendConclusion conclusion{.could_tell = !unclear || storage_here(check) == StorageKind::memory,
                                .answer = answer_of(check),
                                .advice = advice_of(check),
                                .notes = {}};
    for (auto&& note : {on_two_appends(check), on_storage(check), on_privilege(check), on_certainty(check)})
        if (!note.empty()) conclusion.notes.push_back(note);
    return conclusion;
}

}  // namespace holdfast
