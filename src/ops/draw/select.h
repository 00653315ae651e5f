#pragma once

#include "ops/draw/weights.h"

// Finds places in the order of a row's tokens without sorting all of them: by counts and sums over bins of
// their keys, then among the tokens of one bin. Every thread of a team calls each function here.
namespace kvasir::ops {

inline constexpr int kBinBits = 10;
inline constexpr int kBins = 1 << kBinBits;  // three levels of bins resolve a key's 30 bits
inline constexpr int kListSize = 2048;       // most tokens that can be sorted
inline constexpr int kSumBlock = 1024;       // tokens whose weights are summed together, as on the CPU
inline constexpr int kMaxSumBlocks = 1024;

struct Listed {
  std::uint32_t key = 0;
  std::int32_t id = 0;
};

// How many tokens each bin has, and what they weigh. All weights of a bin share their exponent, so the sum of
// their significands, in two halves, is exact in any order.
struct Bins {
  std::uint32_t counts[kBins];
  std::uint32_t low[kBins];
  std::uint32_t high[kBins];
};

// The memory that the threads of a team share.
struct DrawScratch {
  Bins coarse, fine;
  Listed list[kListSize];
  double sums[kMaxSumBlocks];
  std::uint32_t num_listed;
  std::uint32_t found;
  std::uint32_t last;
  double before_count;
  double before_mass;
};

struct Amount {
  double count = 0;
  double mass = 0;
};

// Looks for the first token with which the count or mass so far reaches the target.
struct Goal {
  enum class Of : std::uint8_t { count, mass };
  enum class Reach : std::uint8_t { at_least, above };
  Of of = Of::mass;
  Reach reach = Reach::at_least;
  double target = 0;

  KVASIR_TEAM bool reached(const Amount& so_far) const {
    const double value = of == Of::count ? so_far.count : so_far.mass;
    return reach == Reach::above ? value > target : value >= target;
  }
};

struct Found {
  int index = 0;
  Amount before;
};

// Finds the first of `n` entries with which `goal` is reached, or else the last one with a nonzero amount.
// Entries with a zero amount are skipped.
template <class Team, class AmountOf>
KVASIR_TEAM Found find_reaching(Team& team, int n, const AmountOf& amount_of, const Goal& goal,
                                const Amount& before, DrawScratch& s) {
  const int chunk = (n + team.size() - 1) / team.size();
  const int begin = team.rank() * chunk < n ? team.rank() * chunk : n;
  const int end = begin + chunk < n ? begin + chunk : n;
  Amount own;
  for (int i = begin; i < end; ++i) {
    const Amount amount = amount_of(i);
    own.count += amount.count;
    own.mass += amount.mass;
  }
  Amount start{before.count + team.exclusive_sum(own.count), before.mass + team.exclusive_sum(own.mass)};
  if (team.rank() == 0) s.found = ~0u, s.last = 0;
  team.barrier();
  Amount so_far = start;
  int last = -1;
  for (int i = begin; i < end; ++i) {
    const Amount amount = amount_of(i);
    if (amount.count <= 0 && amount.mass <= 0) continue;
    so_far.count += amount.count;
    so_far.mass += amount.mass;
    last = i;
    if (!goal.reached(so_far)) continue;
    team.lower(&s.found, static_cast<std::uint32_t>(i));
    break;
  }
  if (last >= 0) team.raise(&s.last, static_cast<std::uint32_t>(last));
  team.barrier();
  const int index = static_cast<int>(s.found != ~0u ? s.found : s.last);
  if (index >= begin && index < end) {
    for (int i = begin; i < index; ++i) {
      const Amount amount = amount_of(i);
      start.count += amount.count;
      start.mass += amount.mass;
    }
    s.before_count = start.count;
    s.before_mass = start.mass;
  }
  team.barrier();
  const Found found{index, {s.before_count, s.before_mass}};
  team.barrier();
  return found;
}

// As find_reaching, over tokens in the order of their ids. value_of(i) is a token's mass, and `s.sums` holds
// the sums of its blocks (see sum_blocks).
template <class Team, class ValueOf>
KVASIR_TEAM Found find_by_id(Team& team, int cols, const ValueOf& value_of, const Goal& goal,
                             const Amount& before, DrawScratch& s) {
  const int num_blocks = (cols + kSumBlock - 1) / kSumBlock;
  const Found block =
      find_reaching(team, num_blocks, [&s](int i) { return Amount{0, s.sums[i]}; }, goal, before, s);
  const int first = block.index * kSumBlock;
  const int count = cols - first < kSumBlock ? cols - first : kSumBlock;
  Found found = find_reaching(
      team, count, [&](int i) { return Amount{0, value_of(first + i)}; }, goal, block.before, s);
  found.index += first;
  return found;
}

// Fills `s.sums` with the sum of each block of kSumBlock tokens, and returns the total.
template <class Team, class ValueOf>
KVASIR_TEAM double sum_blocks(Team& team, int cols, const ValueOf& value_of, DrawScratch& s) {
  const int num_blocks = (cols + kSumBlock - 1) / kSumBlock;
  for (int block = team.group(); block < num_blocks; block += team.num_groups()) {
    double sum = 0;
    for (int i = team.lane(); i < kSumBlock && block * kSumBlock + i < cols; i += team.num_lanes())
      sum += value_of(block * kSumBlock + i);
    sum = team.group_sum(sum);
    if (team.lane() == 0) s.sums[block] = sum;
  }
  team.barrier();
  double own = 0;
  for (int block = team.rank(); block < num_blocks; block += team.size()) own += s.sums[block];
  return team.sum(own);
}

// 2^(exponent - 150), where `exponent` is biased as in a float.
KVASIR_TEAM inline double unit_of(std::uint32_t exponent) {
  const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023 - 150) << 52;
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// Which amounts of the tokens are added up in bins.
enum class Tally : std::uint8_t { counts, masses, both };

// A range of keys, which one level of bins divides.
struct KeyRange {
  std::uint32_t first = 0;
  int bits = 30;  // low bits of a key that are not yet fixed

  KVASIR_TEAM std::uint32_t last() const { return first + ((std::uint32_t{1} << bits) - 1); }
  KVASIR_TEAM bool has(std::uint32_t key) const { return key >= first && key <= last(); }
  KVASIR_TEAM int bin(std::uint32_t key) const {
    return static_cast<int>((key - first) >> (bits - kBinBits));
  }
  KVASIR_TEAM KeyRange of_bin(int bin) const {
    return {first + (static_cast<std::uint32_t>(bin) << (bits - kBinBits)), bits - kBinBits};
  }
};

// A row's tokens with their keys.
template <class Keys>
struct KeyedRow {
  const float* logits = nullptr;
  int cols = 0;
  Keys keys;
  Tally tally = Tally::both;
};

template <class Team, class Keys>
KVASIR_TEAM void fill_bins(Team& team, const KeyedRow<Keys>& row, const KeyRange& range, Bins& bins) {
  for (int i = team.rank(); i < kBins; i += team.size()) bins.counts[i] = bins.low[i] = bins.high[i] = 0;
  team.barrier();
  const Keys keys = range.bits < 30 ? row.keys.within(range.first, range.last()) : row.keys;
  visit(team, row.logits, row.cols, [&](int /*i*/, float logit) {
    const std::uint32_t key = keys(logit);
    if (!range.has(key)) return;
    const int bin = range.bin(key);
    if (row.tally != Tally::masses) team.add(&bins.counts[bin], 1);
    if (row.tally == Tally::counts) return;
    const std::uint32_t significand = ((kLastKey - key) & 0x7fffffu) | 0x800000u;
    team.add(&bins.low[bin], significand & 0xfffu);
    team.add(&bins.high[bin], significand >> 12);
  });
  team.barrier();
}

template <class Keys>
KVASIR_TEAM Amount amount_of_bin(const KeyedRow<Keys>& row, const KeyRange& range, const Bins& bins,
                                 int bin) {
  Amount amount{static_cast<double>(bins.counts[bin]), 0};
  if (row.tally == Tally::counts) return amount;
  const double sum = bins.high[bin] * 4096.0 + bins.low[bin];
  if (sum > 0) amount.mass = sum * unit_of((kLastKey - range.of_bin(bin).first) >> 23);
  return amount;
}

// The mass of all tokens of a row. The coarse bins must be filled.
template <class Team, class Keys>
KVASIR_TEAM double total_mass(Team& team, const KeyedRow<Keys>& row, const DrawScratch& s) {
  double own = 0;
  for (int bin = team.rank(); bin < kBins; bin += team.size())
    own += amount_of_bin(row, {}, s.coarse, bin).mass;
  return team.sum(own);
}

// Lists the tokens whose keys are in the range, as far as there is room. Returns how many there are.
template <class Team, class Keys>
KVASIR_TEAM int list_range(Team& team, const KeyedRow<Keys>& row, const KeyRange& range, DrawScratch& s) {
  team.barrier();
  if (team.rank() == 0) s.num_listed = 0;
  team.barrier();
  const Keys keys = row.keys.within(range.first, range.last());
  visit(team, row.logits, row.cols, [&](int i, float logit) {
    const std::uint32_t key = keys(logit);
    if (!range.has(key)) return;
    const std::uint32_t place = team.take(&s.num_listed);
    if (place < kListSize) s.list[place] = {key, i};
  });
  team.barrier();
  return static_cast<int>(s.num_listed);
}

template <class Team>
KVASIR_TEAM void sort_list(Team& team, int count, DrawScratch& s) {
  int size = 2;
  while (size < count) size *= 2;
  for (int i = count + team.rank(); i < size; i += team.size()) s.list[i] = {kNoKey, 0x7fffffff};
  const auto before = [](const Listed& a, const Listed& b) {
    return a.key != b.key ? a.key < b.key : a.id < b.id;
  };
  for (int width = 2; width <= size; width *= 2) {
    for (int step = width / 2; step > 0; step /= 2) {
      team.barrier();
      for (int i = team.rank(); i < size; i += team.size()) {
        const int other = i ^ step;
        if (other < i) continue;
        const bool up = (i & width) == 0;
        const Listed a = s.list[i];
        const Listed b = s.list[other];
        if (before(b, a) == up) s.list[i] = b, s.list[other] = a;
      }
    }
  }
  team.barrier();
}

// A token's place in the order of keys, and the mass of all tokens up to and including it.
struct Place {
  std::uint32_t key = 0;
  std::int32_t id = 0;
  double mass = 0;

  KVASIR_TEAM bool is_after(const Place& other) const {
    return key != other.key ? key > other.key : id > other.id;
  }
};

// Finds the token by its id, when more tokens than can be sorted have the same key.
template <class Team, class Keys>
KVASIR_TEAM Place find_among_equals(Team& team, const KeyedRow<Keys>& row, std::uint32_t key,
                                    const Goal& goal, const Amount& before, DrawScratch& s) {
  const double weight = row.tally == Tally::counts ? 0 : static_cast<double>(weight_of_key(key));
  const bool by_count = goal.of == Goal::Of::count;
  const double value = by_count ? 1 : weight;
  const auto value_of = [&](int i) { return row.keys(row.logits[i]) == key ? value : 0.0; };
  sum_blocks(team, row.cols, value_of, s);
  const Goal by_value{Goal::Of::mass, goal.reach, goal.target};
  const double start = by_count ? before.count : before.mass;
  const Found found = find_by_id(team, row.cols, value_of, by_value, {0, start}, s);
  const double through = found.before.mass + value;
  return {key, found.index, by_count ? before.mass + (through - before.count) * weight : through};
}

// Finds the token with which the goal is reached, in the order of keys. The coarse bins must be filled.
template <class Team, class Keys>
KVASIR_TEAM_CALL Place locate(Team& team, const KeyedRow<Keys>& row, const Goal& goal, DrawScratch& s) {
  KeyRange range;
  Amount before;
  const Bins* bins = &s.coarse;
  for (;;) {
    const Found bin = find_reaching(
        team, kBins, [&](int i) { return amount_of_bin(row, range, *bins, i); }, goal, before, s);
    before = bin.before;
    range = range.of_bin(bin.index);
    if (range.bits == 0) return find_among_equals(team, row, range.first, goal, before, s);
    const int count = list_range(team, row, range, s);
    if (count <= kListSize) {
      sort_list(team, count, s);
      const auto amount_of = [&](int i) {
        return Amount{1, row.tally == Tally::counts ? 0 : static_cast<double>(weight_of_key(s.list[i].key))};
      };
      const Found found = find_reaching(team, count, amount_of, goal, before, s);
      const Listed listed = s.list[found.index];
      const Place place{listed.key, listed.id, found.before.mass + amount_of(found.index).mass};
      team.barrier();
      return place;
    }
    fill_bins(team, row, range, s.fine);
    bins = &s.fine;
  }
}

// The mass of the tokens with keys up to `last`. The coarse bins must be filled.
template <class Team, class Keys>
KVASIR_TEAM double mass_through(Team& team, const KeyedRow<Keys>& row, std::uint32_t last, DrawScratch& s) {
  const KeyRange all;
  const int bin_of_last = all.bin(last);
  double own = 0;
  for (int bin = team.rank(); bin < bin_of_last; bin += team.size())
    own += amount_of_bin(row, all, s.coarse, bin).mass;
  const KeyRange part = all.of_bin(bin_of_last);
  const Keys keys = row.keys.within(part.first, part.last());
  visit(team, row.logits, row.cols, [&](int /*i*/, float logit) {
    const std::uint32_t key = keys(logit);
    if (part.has(key) && key <= last) own += weight_of_key(key);
  });
  return team.sum(own);
}

}  // namespace kvasir::ops
