// Ends a process, a context or a descriptor while the disk holds a direct write of a file that has no name any more.
// Contract: the blocks are the file's until the write has ended, so that nobody else who is short of space gets them; a
// context is gone only when its requests have ended (io_destroy(2)), and so is a process that submitted them.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/fallocate/shared/space.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t left = 128 * KiB;

enum class Ending { close, destroy, kill };
struct Scene {
    const char* name;
    bool appends;
    Ending ending;
};
// By io_submit alone: a ring gives up its files in the background, some time after its process.
constexpr std::array scenes{Scene{"close", false, Ending::close}, Scene{"io_destroy", false, Ending::destroy},
                            Scene{"exit", false, Ending::kill}, Scene{"exit while it appends", true, Ending::kill}};

class Pipe {
 public:
    Pipe() {
        std::array<int, 2> ends{};
        checked(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
        out_ = Descriptor{ends[0]};
        in_ = Descriptor{ends[1]};
        checked(::fcntl(ends[0], F_SETFL, O_NONBLOCK), "F_SETFL of a pipe");
    }
    void tell(char what) const { checked(::write(in_.get(), &what, 1), "write to a pipe"); }
    [[nodiscard]] std::optional<char> heard() const {
        char what = 0;
        return ::read(out_.get(), &what, 1) == 1 ? std::optional{what} : std::nullopt;
    }

 private:
    Descriptor out_;
    Descriptor in_;
};

constexpr char completed = 'c';
constexpr char done = 'd';

// A process of its own, which unlinks the file, submits the write, and does what it is told with SIGUSR1.
class Submitter {
 public:
    Submitter(const Scene& scene, const std::filesystem::path& path, std::uint64_t offset, const AlignedBuffer& bytes) {
        sigset_t order{};
        ::sigemptyset(&order);
        ::sigaddset(&order, SIGUSR1);
        sigset_t before{};
        ::pthread_sigmask(SIG_BLOCK, &order, &before);
        const auto parent = ::getpid();
        id_ = checked(::fork(), "fork");
        if (id_ == 0) submit(scene, path, offset, bytes, order, parent);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    Submitter(const Submitter&) = delete;
    Submitter& operator=(const Submitter&) = delete;
    // What it waits for must have been let go.
    ~Submitter() {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
    }

    void signal(int number) const { checked(::kill(id_, number), "signalling the submitter"); }
    [[nodiscard]] std::optional<char> heard() const { return pipe_.heard(); }
    [[nodiscard]] bool gone() const {
        siginfo_t info{};
        checked(::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT), "waitid");
        return info.si_pid == id_;
    }
    [[nodiscard]] pid_t id() const { return id_; }

 private:
    [[noreturn]] void submit(const Scene& scene, const std::filesystem::path& path, std::uint64_t offset,
                             const AlignedBuffer& bytes, const sigset_t& order, pid_t parent) const {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        try {
            std::optional file{File::open(path, O_RDWR | O_DIRECT)};
            std::filesystem::remove(path);
            std::optional<AioContext> context{std::in_place, 1U};
            std::array request{prepare_write(*file, offset, bytes.bytes())};
            context->submit(request);
            const bool ended = context->wait_for(std::chrono::milliseconds{0}).has_value();
            if (ended) pipe_.tell(completed);
            int number = 0;
            ::sigwait(&order, &number);
            if (scene.ending == Ending::close) file.reset();
            if (scene.ending == Ending::destroy) context.reset();
            pipe_.tell(done);
            while (true) ::pause();
        } catch (const std::exception& error) {
            fmt::print(stderr, "{}: {}\n", scene.name, error.what());
        }
        ::_exit(1);
    }

    Pipe pipe_;
    pid_t id_ = 0;
};

class ClosedInFlight {
 public:
    explicit ClosedInFlight(Experiment& experiment)
        : experiment_(experiment),
          disk_(*experiment.held_disk()),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())) {
        age(root_, 4 * MiB, experiment.seed());
        warm_up(root_);
    }

    void run() {
        std::vector<std::uint32_t> prepared;
        for (std::uint32_t i = 0; i < scenes.size(); ++i)
            if (prepare(scenes.at(i), i + 1))
                prepared.push_back(i);
            else
                ends_.emplace_back(scenes.at(i).name, "no preallocation");
        const auto units = allocation_units(experiment_.filesystem());
        fill_but(File::create(root_ / "ballast"), left, units, experiment_.recipe().size);
        for (const auto i : prepared) end_in_flight(scenes.at(i), i + 1);
        experiment_.filesystem().remount();
        for (const auto& heir : heirs_) judge(heir);
        observe_findings(experiment_, findings_);
        for (const auto& [name, how] : ends_) experiment_.observe(name, how);
    }

 private:
    [[nodiscard]] std::filesystem::path path(std::uint32_t number) const {
        return root_ / fmt::format("file-{}", number);
    }
    [[nodiscard]] std::filesystem::path heir_path(std::uint32_t number) const {
        return root_ / fmt::format("heir-{}", number);
    }
    void judge(const FileContent& heir) { judge_whole_file(heir_path(heir.file()), heir, findings_); }

    [[nodiscard]] bool prepare(const Scene& scene, std::uint32_t number) const {
        FileState state{.written = 16 * unit_};
        if (scene.appends) state.allocated = FileState::Allocation{FALLOC_FL_KEEP_SIZE, {16 * unit_, 32 * unit_}};
        const auto file = File::create(path(number), O_DIRECT);
        const int error = bring_into(file, state, {number, 1});
        if (error == EOPNOTSUPP) return false;
        if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
        (void)File::create(heir_path(number));
        file.sync_filesystem();
        return true;
    }

    void end_in_flight(const Scene& scene, std::uint32_t number) {
        const auto offset = (scene.appends ? 16 : 2) * unit_;
        AlignedBuffer bytes{unit_};
        fill_data(bytes.bytes(), {number, 2}, offset);
        std::optional<Submitter> submitter;
        std::optional<WatchedCall> heir;
        // Whatever happens, what is held is let go before those who wait for it are waited for.
        const auto hold = disk_.hold(RequestFilter::data_writes(), 1);
        submitter.emplace(scene, path(number), offset, bytes);
        wait_while_held(
            [&] {
                if (submitter->heard() == completed)
                    experiment_.skip(
                        "a direct write is over before the disk has seen it: it is buffered, or there is no space");
                if (submitter->gone()) throw Failure("a process that was to submit a write has ended");
                return !disk_.served().held().empty();
            },
            "no write of a process that has submitted one has reached the disk");
        end(scene, *submitter);
        std::uint64_t written = 0;
        heir.emplace(SYS_pwrite64, [&] {
            written = take_space(number);
            return 0L;
        });
        (void)wait_for_return_or_block(*heir, disk_);
        hold->release();
        (void)heir->result();
        submitter.reset();
        auto& content = heirs_.emplace_back(number);
        content.submit({0, written}, 3);
        content.acknowledge({0, written}, 3);
        judge(content);
    }

    // Whether it waits for the write, where that is asked.
    void end(const Scene& scene, const Submitter& submitter) {
        submitter.signal(scene.ending == Ending::kill ? SIGKILL : SIGUSR1);
        BlockDetector detector{0};
        bool ended = false;
        wait_while_held(
            [&] {
                ended = scene.ending == Ending::kill ? submitter.gone() : submitter.heard() == done;
                auto sample = look_at(submitter.id(), disk_);
                sample.system_call.reset();
                detector.look(sample);
                return ended || detector.blocked();
            },
            "a process has neither ended nor come to wait for a held write");
        ends_.emplace_back(scene.name, ended ? "does not wait" : "waits for the write");
    }

    // All that there is. How much that was.
    [[nodiscard]] std::uint64_t take_space(std::uint32_t number) const {
        const auto file = File::open(heir_path(number), O_RDWR | O_DIRECT);
        AlignedBuffer data{unit_};
        std::uint64_t at = 0;
        for (; at < 16 * left; at += unit_) {
            fill_data(data.bytes(), {number, 3}, at);
            if (::pwrite(file.descriptor(), data.bytes().data(), unit_, static_cast<off_t>(at)) !=
                static_cast<ssize_t>(unit_))
                break;
        }
        return at;
    }

    Experiment& experiment_;
    HeldDisk& disk_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::deque<FileContent> heirs_;
    std::vector<std::pair<std::string, std::string>> ends_;
    Findings findings_;
};

void run(Experiment& experiment) { ClosedInFlight{experiment}.run(); }

}  // namespace

extern const Case stale_data_closed_in_flight;
const Case stale_data_closed_in_flight{
    .name = "stale_data.closed_in_flight",
    .summary =
        "ends a process, a context or a descriptor while its write is in flight, and lets another file take the space",
    .method =
        "On an aged disk with hardly any space left, a process of its own unlinks a file and submits a direct write "
        "to it, by io_submit, which the disk holds; then it closes the descriptor, destroys the context, or is "
        "killed. Whether that waits for the write is told by its being asleep while the write is held. Meanwhile "
        "another file is written to until the disk is full; then the write is let go. All that was written to the "
        "other file must be there, also after a remount.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
