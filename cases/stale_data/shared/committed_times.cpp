#include "cases/stale_data/shared/committed_times.h"

#include <optional>

#include <sys/syscall.h>

#include "fixtures/io/blocking.h"

namespace holdfast {

void overwrite_with_times_committed(CrashTest& test, CrashTest::WrittenFile& file, CrashTest::WrittenFile& other,
                                    Range range) {
    other.write_direct({other.size(), other.size() + 4 * KiB});
    std::optional<WatchedCall> write;
    const auto hold = test.disk().hold(RequestFilter::data_writes());
    write.emplace(SYS_pwrite64, [&] { return file.write_direct(range), 0L; });
    (void)wait_for_return_or_block(*write, test.disk());
    other.fsync();
}

}  // namespace holdfast
