#include "harness/verbs/progress.h"

#include <cstdio>

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr std::chrono::milliseconds between_drawings{200};

bool needs_attention(Verdict verdict) { return blames_kernel(verdict) || verdict == Verdict::broken; }

// A run goes on where its progress cannot be shown.
void write(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

Progress::Progress(std::size_t total, bool terminal, TextStyle style)
    : total_(total), terminal_(terminal), style_(style) {}

Progress::~Progress() { clear(); }

void Progress::finished(const Planned& planned, const CaseResult& result) {
    ++done_;
    next_drawing_ = {};
    if (terminal_ && !needs_attention(result.verdict)) return;
    clear();
    write(fmt::format("[{}/{}] {} {} ({:.2f} s){}{}\n", done_, total_, format_verdict(result.verdict, style_),
                      planned.name(), result.seconds, result.reason.empty() ? "" : ": ", result.reason));
}

void Progress::ticked(const std::vector<const RunningCase*>& running) {
    const auto now = Clock::now();
    if (!terminal_ || now < next_drawing_) return;
    next_drawing_ = now + between_drawings;
    const std::chrono::duration<double> elapsed = now - start_;
    auto line =
        fmt::format("case {} of {}, {:.0f} s:", std::min(done_ + running.size(), total_), total_, elapsed.count());
    for (const auto* one : running) line += fmt::format(" {} ({:.0f} s)", one->planned().name(), one->seconds());
    if (line.size() > style_.columns) line.resize(style_.columns);
    write(fmt::format("\r\033[K{}", line));
    std::fflush(stderr);
    line_shown_ = true;
}

void Progress::clear() {
    if (!line_shown_) return;
    write(fmt::format("\r\033[K"));
    line_shown_ = false;
}

}  // namespace holdfast
