// Several threads append to one file, each in its own way.
// Contract: with O_APPEND and RWF_APPEND each write goes to the end of file in one piece (write(2)): no record is lost, torn,
// or written over another, and the file holds nothing else.
#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/file.h"
#include "fixtures/io/reader.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr std::uint32_t records_of_each = 150;

struct Appender {
    const char* name;
    int flags;
    int rwf;
    bool by_aio;
};
// Buffered and direct writes at once are nobody's promise.
constexpr std::array direct_appenders{Appender{"write with O_APPEND", O_APPEND | O_DIRECT, 0, false},
                                      Appender{"pwritev2 with RWF_APPEND", O_DIRECT, RWF_APPEND, false},
                                      Appender{"io_submit with O_APPEND", O_APPEND | O_DIRECT, 0, true}};
constexpr std::array buffered_appenders{Appender{"write with O_APPEND", O_APPEND, 0, false},
                                        Appender{"pwritev2 with RWF_APPEND", 0, RWF_APPEND, false},
                                        Appender{"write with O_APPEND and O_DSYNC", O_APPEND | O_DSYNC, 0, false}};

std::int64_t append(const File& file, const Appender& appender, AioContext& aio, std::span<const std::byte> bytes) {
    if (appender.by_aio) {
        std::array request{prepare_write(file, 0, bytes, 0, appender.rwf)};
        const int taken = aio.try_submit(request);
        return taken == 1 ? aio.wait().front().result : taken;
    }
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const auto count = ::pwritev2(file.descriptor(), &vector, 1, 0, appender.rwf);
    return count < 0 ? -errno : count;
}

class Appenders {
 public:
    Appenders(Experiment& experiment, std::filesystem::path path, std::uint64_t record)
        : experiment_(experiment), path_(std::move(path)), record_(record) {}

    [[nodiscard]] std::string run(std::span<const Appender> appenders) {
        { File::create(path_); }
        std::vector<std::string> wrong(appenders.size());
        {
            std::vector<std::jthread> threads;
            for (std::uint32_t i = 0; i < appenders.size(); ++i)
                threads.emplace_back([&, i] { wrong[i] = append_all(appenders[i], i + 1); });
        }
        for (const auto& one : wrong)
            if (!one.empty()) return one;
        if (auto found = judge(appenders.size()); !found.empty()) return found;
        experiment_.filesystem().remount();
        return judge(appenders.size());
    }

 private:
    // A record is told by its appender (as the file) and its number (as the generation); its data is that of offset 0.
    [[nodiscard]] std::string append_all(const Appender& appender, std::uint32_t who) const {
        try {
            const auto file = File::open(path_, O_RDWR | appender.flags);
            AioContext aio{1};
            AlignedBuffer data{record_};
            for (std::uint32_t number = 1; number <= records_of_each; ++number) {
                fill_data(data.bytes(), {who, number}, 0);
                if (const auto result = append(file, appender, aio, data.bytes());
                    result != static_cast<std::int64_t>(record_))
                    return fmt::format("{} gives {}", appender.name,
                                       result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result));
            }
        } catch (const Failure& failure) {
            return failure.what();
        }
        return {};
    }

    // Of each appender all records, in their order, whole.
    [[nodiscard]] std::string judge(std::size_t appenders) const {
        Reader reader{path_, Reading::buffered};
        if (const auto expected = record_ * records_of_each * appenders; reader.size() != expected)
            return fmt::format("{} bytes in place of {}", reader.size(), expected);
        std::vector<std::byte> content(reader.size());
        content.resize(reader.read(0, content));
        std::vector<std::uint32_t> last(appenders);
        for (std::uint64_t at = 0; at + record_ <= content.size(); at += record_) {
            const auto record = std::span<const std::byte>{content}.subspan(at, record_);
            const auto identity = identify(record.first<sector_size>());
            const auto* const data = std::get_if<Data>(&identity);
            if (data == nullptr || data->tag.file == 0 || data->tag.file > appenders || !is_data(record, data->tag, 0))
                return fmt::format("the record at offset {} is not whole: {}", at, describe(identity));
            auto& number = last.at(data->tag.file - 1);
            if (data->tag.generation != ++number)
                return fmt::format("record {} of appender {} is at offset {}, where {} is next", data->tag.generation,
                                   data->tag.file, at, number);
        }
        return {};
    }

    Experiment& experiment_;
    std::filesystem::path path_;
    std::uint64_t record_;
};

void run(Experiment& experiment) {
    const auto& root = experiment.filesystem().root();
    age(root, 4 * MiB, experiment.seed());
    const auto observe = [&](const char* name, std::span<const Appender> appenders, std::uint64_t record) {
        const auto wrong = Appenders{experiment, root / name, record}.run(appenders);
        experiment.observe(name, wrong.empty() ? "all there" : "damaged", {{"first", wrong}});
    };
    observe("direct", direct_appenders, direct_write_unit(experiment.filesystem()));
    observe("buffered", buffered_appenders, 3 * sector_size);
}

}  // namespace

extern const Case stale_data_appenders;
const Case stale_data_appenders{
    .name = "stale_data.appenders",
    .summary = "appends to one file from three threads at once, each in its own way, and looks for every record",
    .method =
        "Three threads append 150 records each to one file: directly (write(2) with O_APPEND, RWF_APPEND, "
        "io_submit(2)), then to another file through the page cache, in records that are no whole blocks. Every "
        "record says whose it is and which: all must be there, whole, each thread's in order, and nothing else; also "
        "after a remount.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
