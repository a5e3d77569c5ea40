// Where a scene is performed.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "cases/aio_append/shared/scene.h"
#include "cases/aio_append/shared/way.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/filesystem/disposable.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

enum class Touch {
    /// futimens(2).
    by_call,
    /// By a direct write that then finds no memory to take its data from: on XFS with wsync, futimens waits for the log.
    by_failing_write
};

/// A file in the state in which a scene begins, and another like it where the scene has two.
class Stage {
 public:
    /// `number` tells the files of one filesystem apart, in their names and in their data. Throws SystemFailure; Refused
    /// where the filesystem has no such state.
    Stage(DisposableFilesystem& filesystem, const Scene& scene, std::uint32_t number);

    struct Refused {
        int error = 0;
    };

    [[nodiscard]] const Scene& scene() const { return scene_; }
    [[nodiscard]] const File& file() const { return files_.front(); }
    [[nodiscard]] const FileContent& content() const { return content_; }
    /// Sets the file's times to now, so that a write finds nothing to change.
    void touch(Touch how) const;

    /// The writes that are asked about, with `more_flags` for each (as in pwritev2(2): RWF_NOWAIT), and those before
    /// them. Their bytes live as long as the stage.
    [[nodiscard]] std::vector<Write> asked(int more_flags);
    [[nodiscard]] Write earlier(std::size_t index);
    /// Gives the call that is under way meanwhile something to do, while nothing is held.
    void prepare_meanwhile();
    /// Makes that call. Returns 0, or a negative errno.
    [[nodiscard]] long meanwhile() const;

    /// Tells the content that every write with a result of its whole length has reached the file, and nothing else.
    void settle(const std::vector<std::int64_t>& results);

 private:
    // Mounts the filesystem anew, so that nothing but the files' inodes is in memory.
    void cool_down(DisposableFilesystem& filesystem);
    // What is dirty in the page cache meanwhile.
    [[nodiscard]] Range dirty() const;
    Write prepare_write(const File& file, Range range, std::uint32_t generation, int flags);

    Scene scene_;
    std::uint32_t number_;
    std::vector<File> files_;
    std::list<AlignedBuffer> buffers_;
    FileContent content_;
};

}  // namespace holdfast
