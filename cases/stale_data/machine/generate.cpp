#include "cases/stale_data/machine/generate.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <rapidcheck.h>

namespace holdfast::machine {
namespace {

using rc::Gen;
namespace gen = rc::gen;

// Most of what a sequence does it does within so much of a file, so that its steps meet each other.
constexpr std::uint64_t usual_end = 64 * KiB;
constexpr std::uint64_t usual_length = 24 * KiB;
constexpr std::size_t fewest_steps = 12;
constexpr std::size_t most_steps = 48;

Gen<unsigned> any_file() { return gen::inRange(0U, files); }
Gen<std::uint64_t> any_seed() { return gen::inRange<std::uint64_t>(0, 1'000'000); }

// One of these; the earlier, the simpler.
template <typename T>
Gen<T> any_of(std::vector<T> all) {
    return gen::map(gen::inRange<std::size_t>(0, all.size()), [all](std::size_t index) { return all[index]; });
}

// A multiple of `unit`, or as often of `larger`.
Gen<std::uint64_t> multiple(std::uint64_t unit, std::uint64_t larger, std::uint64_t least, std::uint64_t end) {
    const auto count = gen::inRange<std::uint64_t>(least, std::max<std::uint64_t>(end / unit, least + 1));
    return gen::map(gen::tuple(gen::inRange(0, 2), count), [=](const std::tuple<int, std::uint64_t>& chosen) {
        const auto value = std::get<1>(chosen) * unit;
        const auto coarse = std::max(unit, larger);
        return std::get<0>(chosen) == 0 ? value : std::max(value / coarse, least) * coarse;
    });
}

Gen<std::uint64_t> any_offset(std::uint64_t unit, std::uint64_t larger) { return multiple(unit, larger, 0, usual_end); }
Gen<std::uint64_t> any_length(std::uint64_t unit, std::uint64_t larger) {
    return multiple(unit, larger, 1, std::max(usual_length, 3 * unit));
}

Gen<Action> just(Action action) { return gen::just(action); }

Gen<Step> any_write(const std::vector<WriteWay>& ways, std::uint64_t unit, Action action = Action::write) {
    return gen::build<Step>(gen::set(&Step::action, just(action)), gen::set(&Step::file, any_file()),
                            gen::set(&Step::offset, any_offset(unit, 4 * KiB)),
                            gen::set(&Step::length, any_length(unit, 4 * KiB)), gen::set(&Step::way, any_of(ways)),
                            gen::set(&Step::after, gen::inRange<std::uint64_t>(0, 2)));
}

std::vector<WriteWay> buffered_ways() {
    std::vector<WriteWay> ways;
    for (int number = 0; number < static_cast<int>(first_direct_way); ++number)
        if (const auto way = static_cast<WriteWay>(number); !only_appends(way)) ways.push_back(way);
    return ways;
}

// Some write in pieces of single sectors.
std::vector<WriteWay> direct_ways(std::uint64_t unit) {
    std::vector ways{WriteWay::direct, WriteWay::direct_aio, WriteWay::direct_ring};
    constexpr std::array in_pieces{WriteWay::direct_segments, WriteWay::direct_aio_pair, WriteWay::direct_sequential,
                                   WriteWay::direct_sequential_sync};
    if (unit == sector_size) ways.insert(ways.end(), in_pieces.begin(), in_pieces.end());
    return ways;
}

Gen<Step> any_fallocate(const std::vector<int>& modes, std::uint64_t unit, std::uint64_t larger) {
    return gen::build<Step>(gen::set(&Step::action, just(Action::fallocate)), gen::set(&Step::file, any_file()),
                            gen::set(&Step::offset, any_offset(unit, larger)),
                            gen::set(&Step::length, any_length(unit, larger)), gen::set(&Step::mode, any_of(modes)));
}

Gen<Step> any_truncate(std::uint64_t block) {
    return gen::build<Step>(gen::set(&Step::action, just(Action::truncate)), gen::set(&Step::file, any_file()),
                            gen::set(&Step::offset, any_offset(sector_size, block)));
}

Gen<Step> any_sync(Syncing last) {
    return gen::build<Step>(gen::set(&Step::action, just(Action::sync)), gen::set(&Step::file, any_file()),
                            gen::set(&Step::syncing, gen::map(gen::inRange(0, static_cast<int>(last) + 1),
                                                              [](int which) { return static_cast<Syncing>(which); })));
}

Gen<Step> any_copy(Action action, std::uint64_t unit, std::uint64_t larger) {
    return gen::build<Step>(gen::set(&Step::action, just(action)), gen::set(&Step::file, any_file()),
                            gen::set(&Step::other, any_file()), gen::set(&Step::offset, any_offset(unit, larger)),
                            gen::set(&Step::length, any_length(unit, larger)),
                            gen::set(&Step::from, any_offset(unit, larger)));
}

Gen<Step> any_look() {
    return gen::build<Step>(
        gen::set(&Step::action, just(Action::look)), gen::set(&Step::file, any_file()),
        gen::set(&Step::reading, gen::map(gen::inRange(0, 5), [](int which) { return static_cast<Reading>(which); })));
}

Gen<Step> any_power_cut() {
    return gen::build<Step>(
        gen::set(&Step::action, just(Action::power_cut)), gen::set(&Step::back, gen::inRange<std::uint64_t>(0, 12)),
        gen::set(&Step::kept, gen::map(gen::inRange(0, 4), [](int which) { return static_cast<Kept>(which); })),
        gen::set(&Step::seed, any_seed()));
}

// Direct writes or buffered ones, not both at once: a page that is dirtied while a direct write to it is in flight cannot be
// dropped at its end, and the next sync tells EIO (open(2), O_DIRECT). On XFS, what does not cover whole blocks that are
// shared is written through the page cache.
Gen<Step> any_together(const Abilities& abilities, bool direct) {
    const auto unit = abilities.clones ? abilities.block : abilities.direct_unit;
    const auto write = direct ? any_write({WriteWay::direct, WriteWay::direct_aio, WriteWay::direct_ring}, unit)
                              : any_write({WriteWay::buffered, WriteWay::o_sync}, sector_size);
    const auto inner = gen::weightedOneOf<Step>({{6, write},
                                                 {1, any_truncate(abilities.block)},
                                                 {1, any_fallocate(abilities.modes, sector_size, abilities.block)},
                                                 {1, any_sync(Syncing::syncfs)}});
    // On one file.
    return gen::map(gen::tuple(any_file(), gen::resize(3, gen::container<Steps>(gen::resize(rc::kNominalSize, inner))),
                               gen::inRange(0, 3), any_seed()),
                    [](const std::tuple<unsigned, Steps, int, std::uint64_t>& parts) {
                        Step step{.action = Action::together};
                        step.inside = std::get<1>(parts);
                        for (auto& one : step.inside) one.file = std::get<0>(parts);
                        step.release = static_cast<Release>(std::get<2>(parts));
                        step.seed = std::get<3>(parts);
                        return step;
                    });
}

Gen<Step> any_step(const Abilities& abilities) {
    const auto unlike = [](std::size_t weight, bool possible) { return possible ? weight : 0; };
    const auto block = abilities.block;
    const auto drop =
        gen::build<Step>(gen::set(&Step::action, just(Action::drop_cache)), gen::set(&Step::file, any_file()));
    const auto store = gen::build<Step>(gen::set(&Step::action, just(Action::store)), gen::set(&Step::file, any_file()),
                                        gen::set(&Step::offset, any_offset(sector_size, block)),
                                        gen::set(&Step::length, any_length(sector_size, block)));
    const auto moving = abilities.moving_modes.empty() ? abilities.modes : abilities.moving_modes;
    return gen::weightedOneOf<Step>(
        {{14, any_write(buffered_ways(), sector_size)},
         {16, any_write(direct_ways(abilities.direct_unit), abilities.direct_unit)},
         {5, store},
         {14, any_fallocate(abilities.modes, sector_size, block)},
         {unlike(6, !abilities.moving_modes.empty()), any_fallocate(moving, abilities.step, abilities.step)},
         {7, any_truncate(block)},
         {3, any_copy(Action::copy, sector_size, block)},
         {unlike(4, abilities.clones), any_copy(Action::clone_range, block, block)},
         {unlike(2, abilities.clones), any_copy(Action::clone, block, block)},
         {10, any_sync(Syncing::aio_fdsync)},
         {4, drop},
         {8, any_look()},
         {unlike(3, abilities.failing_unit != 0),
          any_write({WriteWay::direct, WriteWay::direct_aio, WriteWay::direct_ring},
                    std::max(abilities.failing_unit, sector_size), Action::failing_write)},
         {unlike(12, abilities.survives_power_cuts), any_power_cut()},
         {5, any_together(abilities, true)},
         {2, any_together(abilities, false)}});
}

using Sequence = std::vector<rc::Shrinkable<Step>>;

Sequence sequence_of(const Abilities& abilities, std::uint64_t seed) {
    rc::Random random{seed};
    const auto count = fewest_steps + random.split().next() % (most_steps - fewest_steps + 1);
    const auto step = any_step(abilities);
    Sequence sequence;
    while (sequence.size() < count) sequence.push_back(step(random.split(), rc::kNominalSize));
    return sequence;
}

Steps steps_of(const Sequence& sequence) {
    Steps steps;
    for (const auto& step : sequence) steps.push_back(step.value());
    return steps;
}

class Shrinking {
 public:
    Shrinking(Sequence sequence, const std::function<bool(const Steps&)>& fails, unsigned tries)
        : sequence_(std::move(sequence)), fails_(fails), tries_(tries) {}

    // Half of the steps less, a quarter, and so on: each attempt costs a filesystem.
    void leave_out_steps() {
        for (auto length = sequence_.size() / 2; length > 0; length /= 2)
            for (std::size_t end = sequence_.size(); end > 0 && !over();) {
                const auto begin = end - std::min(end, length);
                auto fewer = sequence_;
                fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
                            fewer.begin() + static_cast<std::ptrdiff_t>(end));
                take_if_it_fails(std::move(fewer));
                end = begin;
            }
    }

    // True where a step has become simpler.
    bool simplify_steps() {
        bool simpler = false;
        for (std::size_t i = 0; i < sequence_.size(); ++i)
            for (auto candidates = sequence_[i].shrinks(); !over();) {
                const auto candidate = candidates.next();
                if (!candidate) break;
                auto other = sequence_;
                other[i] = *candidate;
                if (!take_if_it_fails(std::move(other))) continue;
                simpler = true;
                candidates = sequence_[i].shrinks();
            }
        return simpler;
    }

    [[nodiscard]] bool over() const { return tried_ >= tries_; }
    [[nodiscard]] Shrunk result() const { return {.steps = steps_of(sequence_), .tries = tried_}; }

 private:
    bool take_if_it_fails(Sequence candidate) {
        ++tried_;
        if (!fails_(steps_of(candidate))) return false;
        sequence_ = std::move(candidate);
        return true;
    }

    Sequence sequence_;
    const std::function<bool(const Steps&)>& fails_;
    unsigned tries_;
    unsigned tried_ = 0;
};

}  // namespace

Steps generate(const Abilities& abilities, std::uint64_t seed) { return steps_of(sequence_of(abilities, seed)); }

Shrunk shrink(const Abilities& abilities, std::uint64_t seed, std::size_t length,
              const std::function<bool(const Steps&)>& fails, unsigned tries) {
    auto sequence = sequence_of(abilities, seed);
    sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(std::min(length, sequence.size())), sequence.end());
    Shrinking shrinking{std::move(sequence), fails, tries};
    shrinking.leave_out_steps();
    while (shrinking.simplify_steps() && !shrinking.over()) shrinking.leave_out_steps();
    return shrinking.result();
}

}  // namespace holdfast::machine
