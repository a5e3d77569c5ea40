// Measures how fast data is checked, for the README: each sector says to whom it belongs, and is compared with that.
#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "fixtures/base/bytes.h"
#include "fixtures/pattern/oracle.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

constexpr int rounds = 15;
constexpr std::size_t size = 64 * MiB;

// The median of the rounds, in 10^9 bytes a second.
template <typename Check>
double speed_of(const std::vector<std::byte>& bytes, Check check) {
    std::vector<double> speeds;
    for (int round = 0; round < rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        if (!check()) throw std::runtime_error("the data is not what was written");
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        speeds.push_back(static_cast<double>(bytes.size()) / taken.count() / 1e9);
    }
    std::ranges::sort(speeds);
    return speeds[speeds.size() / 2];
}

void measure() {
    std::vector<std::byte> data(size);
    fill_data(data, {1, 1}, 0);
    FileContent content{1};
    content.submit({0, size}, 1);
    content.acknowledge({0, size}, 1);
    const auto allowed = content.allowed({0, size}, size, View::direct);
    const std::vector<std::byte> zeros(size);
    fmt::print("| check | GB/s on one core |\n| --- | --- |\n");
    fmt::print("| data of a known file and generation | {:.1f} |\n", speed_of(data, [&] {
                   return is_data(data, {1, 1}, 0);
               }));
    fmt::print("| the same by both oracles, as readers are judged | {:.1f} |\n", speed_of(data, [&] {
                   Findings findings;
                   judge_read(content, "a reader", 0, data, allowed, allowed, findings);
                   return findings.none();
               }));
    fmt::print("| zeros | {:.1f} |\n", speed_of(zeros, [&] { return is_zeros(zeros); }));
}

}  // namespace
}  // namespace holdfast

int main() {
    try {
        holdfast::measure();
    } catch (const std::exception& error) {
        fmt::print(stderr, "figures-pattern: {}\n", error.what());
        return 1;
    }
    return 0;
}
