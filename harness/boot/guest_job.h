// What the two sides of a boot agree upon: the job that lies in the root image, and the files by which the guest answers
// in the directory that it shares with the host.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// The verb under which the program is init of the guest.
inline constexpr const char* guest_verb = "guest";
/// Where the program and its job are in the root image.
inline constexpr const char* guest_program = "/usr/bin/holdfast";
inline constexpr const char* guest_job_file = "/holdfast-job.json";
/// Where the guest mounts the shared directory.
inline constexpr const char* guest_share = "/host";
/// The name under which a virtual machine offers it.
inline constexpr const char* share_tag = "holdfast";

/// Names in the shared directory.
namespace share {
/// There once the guest could write; empty.
inline constexpr const char* booted = "booted";
/// Written anew every second, with another content.
inline constexpr const char* alive = "alive";
/// What the program wrote in the guest.
inline constexpr const char* output = "stdout";
inline constexpr const char* progress = "stderr";
/// Its result file.
inline constexpr const char* results = "results.json";
/// There once the program has ended: how ("exit status 0"), and its exit status in a second line.
inline constexpr const char* ended = "ended";
}  // namespace share

struct GuestJob {
    /// The command line of the program in the guest.
    std::vector<std::string> arguments;
    /// How the shared directory is mounted: filesystem and mount options.
    std::string share_type;
    std::string share_options;
    std::string share_source;
    /// Modules to load before anything else, each with what it needs.
    std::vector<std::string> modules;
    /// User Mode Linux ends when it is switched off, a virtual machine most surely when it wants to start anew.
    bool restart_to_end = true;

    [[nodiscard]] std::string to_text() const;
    /// Throws BadInput.
    [[nodiscard]] static GuestJob load(const std::filesystem::path& file);
};

}  // namespace holdfast
