#include "cases/aio_append/shared/held_write.h"

#include <algorithm>

#include <sys/statvfs.h>

#include "fixtures/base/failure.h"

namespace holdfast {

std::uint64_t block_size(const DisposableFilesystem& filesystem) {
    struct statvfs status {};
    checked(::statvfs(filesystem.root().c_str(), &status), "statvfs of " + filesystem.root().string());
    return std::max<std::uint64_t>(status.f_bsize, 4096);
}

void observe_submission(Experiment& experiment, const HeldSubmission& held) {
    auto evidence = nlohmann::json::object();
    if (held.blocks && held.stack.empty()) evidence["stack_missing"] = "/proc/self/task/TID/stack cannot be read";
    if (!held.stack.empty()) evidence["stack"] = held.stack;
    experiment.observe("submission", held.blocks ? "blocks" : "async", evidence);
    if (held.where) experiment.observe("where", *held.where);
    experiment.observe("completed_while_held", held.completed_while_held);
}

void observe_result(Experiment& experiment, const HeldSubmission& held, const File& file, FileTag tag,
                    std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    const auto result = held.events.front().result;
    experiment.observe("completed", result == static_cast<std::int64_t>(length), {{"result", result}});

    const auto size_after = file.size();
    experiment.observe("size_after", size_after == size ? nlohmann::json("right") : nlohmann::json(size_after),
                       {{"bytes", size_after}});

    AlignedBuffer buffer{length};
    const auto read = buffer.bytes().first(file.read_at(offset, buffer.bytes()));
    const bool right = read.size() == length && is_data(read, tag, offset);
    experiment.observe("content", right                       ? "right"
                                  : read.size() < sector_size ? "nothing"
                                                              : describe(identify(read.first<sector_size>())));
}

}  // namespace holdfast
