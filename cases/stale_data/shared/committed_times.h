// Overwrites of which nothing but the data is left to be made durable.
#pragma once

#include "cases/stale_data/shared/crash.h"

namespace holdfast {

/// Overwrites `range` of `file` directly. While the disk holds the data, an fsync of `other`, which has been appended to, commits what
/// else the write has changed, the file's times; then the data is let go. A sync that follows finds nothing in the
/// filesystem to write, and must flush the disk all the same. Throws Failure.
void overwrite_with_times_committed(CrashTest& test, CrashTest::WrittenFile& file, CrashTest::WrittenFile& other,
                                    Range range);

}  // namespace holdfast
