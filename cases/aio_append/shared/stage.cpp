#include "cases/aio_append/shared/stage.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

// Of the file's data before, of what is in flight before, and of the writes that are asked about.
constexpr std::uint32_t generation_before = 1;
constexpr std::uint32_t generation_earlier = 2;
constexpr std::uint32_t generation_asked = 3;

// By how much a truncation that is under way moves the end of file.
constexpr std::uint64_t truncated_by = 64 * KiB;

bool appends(const Scene& scene) { return (scene.open_flags & O_APPEND) != 0 || (scene.write_flags & RWF_APPEND) != 0; }

}  // namespace

std::uint64_t size_after(const Scene& scene) {
    auto size = size_of(scene.file);
    if (scene.meanwhile == Meanwhile::truncate) size += truncated_by;
    if (!scene.earlier_elsewhere)
        for (const auto& range : scene.earlier) size = std::max(size, range.end);
    for (const auto& range : scene.writes) size = std::max(size, range.end);
    return size;
}

bool is_dsync(const Scene& scene) { return (scene.open_flags & O_DSYNC) != 0 || (scene.write_flags & RWF_DSYNC) != 0; }

Stage::Stage(DisposableFilesystem& filesystem, const Scene& scene, std::uint32_t number)
    : scene_(scene), number_(number), content_(number) {
    const int count = scene.earlier_elsewhere ? 2 : 1;
    for (int i = 0; i < count; ++i) {
        const auto path = filesystem.root() / fmt::format("log-{}{}", number, i == 0 ? "" : "-other");
        files_.push_back(File::create(path, O_DIRECT | scene.open_flags));
        if (const int error = bring_into(files_.back(), scene.file, {number, generation_before}); error != 0)
            throw Refused{error};
    }
    expect_state(content_, scene.file, generation_before);
    if (scene.old_times) {
        constexpr std::array<timespec, 2> year_2001{
            {{.tv_sec = 1'000'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000'000, .tv_nsec = 0}}};
        checked(::futimens(file().descriptor(), year_2001.data()), "futimens of " + file().path().string());
    }
    if (scene.cold) cool_down(filesystem);
    file().sync_filesystem();
}

void Stage::cool_down(DisposableFilesystem& filesystem) {
    std::vector<std::filesystem::path> paths;
    for (const auto& file : files_) paths.push_back(file.path());
    files_.clear();
    filesystem.remount();
    for (const auto& path : paths) files_.push_back(File::open(path, O_RDWR | O_DIRECT | scene_.open_flags));
}

void Stage::touch(Touch how) const {
    if (how == Touch::by_call) {
        checked(::futimens(file().descriptor(), nullptr), "futimens of " + file().path().string());
        return;
    }
    const iovec nowhere{nullptr, scene_.writes.front().length()};
    if (::pwritev2(file().descriptor(), &nowhere, 1, 0, 0) >= 0 || errno != EFAULT)
        throw SystemFailure("a write from memory that is not there to " + file().path().string(), errno);
}

Write Stage::prepare_write(const File& file, Range range, std::uint32_t generation, int flags) {
    auto& buffer = buffers_.emplace_back(range.length());
    fill_data(buffer.bytes(), {number_, generation}, range.begin);
    return {.file = &file,
            .offset = appends(scene_) ? 0 : range.begin,  // an append knows its place by itself
            .bytes = buffer.bytes(),
            .flags = flags};
}

std::vector<Write> Stage::asked(int more_flags) {
    std::vector<Write> writes;
    for (const auto& range : scene_.writes) {
        writes.push_back(prepare_write(file(), range, generation_asked, scene_.write_flags | more_flags));
        content_.submit(range, generation_asked);
    }
    return writes;
}

Write Stage::earlier(std::size_t index) {
    const auto& range = scene_.earlier.at(index);
    if (!scene_.earlier_elsewhere) content_.submit(range, generation_earlier);
    return prepare_write(files_.back(), range, generation_earlier, 0);
}

Range Stage::dirty() const { return {scene_.file.written - 4 * KiB, scene_.file.written}; }

void Stage::prepare_meanwhile() {
    if (scene_.meanwhile == Meanwhile::fsync)
        checked(::fchmod(file().descriptor(), 0640), "fchmod of " + file().path().string());
    if (scene_.meanwhile != Meanwhile::writeback) return;
    auto& buffer = buffers_.emplace_back(dirty().length());
    fill_data(buffer.bytes(), {number_, generation_earlier}, dirty().begin);
    content_.submit(dirty(), generation_earlier);
    File::open(file().path(), O_RDWR).write_at(dirty().begin, buffer.bytes());
}

long Stage::meanwhile() const {
    const int number = file().descriptor();
    const auto size = static_cast<off_t>(scene_.file.written);
    int result = 0;
    switch (scene_.meanwhile) {
        case Meanwhile::nothing:
            break;
        case Meanwhile::fsync:
        case Meanwhile::writeback:
            result = ::fsync(number);
            break;
        case Meanwhile::fallocate:
            result = ::fallocate(number, FALLOC_FL_KEEP_SIZE, size, truncated_by);
            break;
        case Meanwhile::truncate:
            result = ::ftruncate(number, size + static_cast<off_t>(truncated_by));
            break;
    }
    return result == 0 ? 0 : -errno;
}

void Stage::settle(const std::vector<std::int64_t>& results) {
    if (!scene_.earlier_elsewhere)
        for (const auto& range : scene_.earlier) content_.acknowledge(range, generation_earlier);
    for (std::size_t i = 0; i < results.size(); ++i)
        if (const auto& range = scene_.writes.at(i); results[i] == static_cast<std::int64_t>(range.length()))
            content_.acknowledge(range, generation_asked);
    if (scene_.meanwhile == Meanwhile::writeback) content_.acknowledge(dirty(), generation_earlier);
    if (scene_.meanwhile == Meanwhile::truncate) content_.resized(size_after(scene_));
}

}  // namespace holdfast
