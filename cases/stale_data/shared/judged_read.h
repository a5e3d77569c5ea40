// One read of a file, judged by both oracles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cases/experiment.h"
#include "fixtures/io/reader.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// Whether others write to the file meanwhile. A page that is mapped while a direct write is in flight may show the old
/// data for as long as it stays mapped (open(2), O_DIRECT), so mapped readers are then held to the first oracle alone.
enum class Writers { none, some };

/// Reads `range` of the file through `reader` and adds what is wrong to `findings`: in the bytes, in the size, and a read
/// that fails with EIO.
/// Returns whether a write that touches the range was in flight: the read lay in a race window.
bool judged_read(Reader& reader, const FileContent& content, Range range, Writers writers, Findings& findings);

/// Asks lseek(2) for data and holes: where acknowledged data is there must be no hole, or a copy that skips holes loses it.
/// Returns whether a write was in flight.
bool judged_seek(const std::filesystem::path& path, const FileContent& content, Findings& findings);
/// The same of FIEMAP, with writeback first: where acknowledged data is there must be no hole and no unwritten extent.
bool judged_map(const std::filesystem::path& path, const FileContent& content, Findings& findings);

/// Reads a file at rest from begin to end: directly, buffered, mapped, by pipe; and asks lseek(2) and FIEMAP.
void judge_whole_file(const std::filesystem::path& path, const FileContent& content, Findings& findings);

/// Observes `stale`, `lost` and `unreadable`, with the first sentences of each as evidence.
void observe_findings(Experiment& experiment, const Findings& findings,
                      nlohmann::json evidence = nlohmann::json::object());

}  // namespace holdfast
