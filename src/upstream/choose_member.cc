#include "upstream/choose_member.h"

#include <cmath>
#include <vector>

namespace kvasir::upstream {

namespace {

constexpr double kSpread = 1.25;

// Makes each bit of the result depend on all bits of `x`.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Rendezvous hashing: the member with the highest score gets the key.
double score_of(const Candidate& candidate, std::uint64_t key) {
  const std::uint64_t hash = mix(key ^ mix(candidate.id));
  const double uniform = (static_cast<double>(hash >> 11) + 0.5) / 9007199254740992.0;  // 2^53
  return -candidate.weight / std::log(uniform);
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix(hash);
}

std::size_t choose_member(std::span<const Candidate> candidates, std::uint64_t key) {
  double load = 1;  // including the new request
  double weight = 0;
  for (const Candidate& one : candidates) {
    load += one.load;
    weight += one.weight;
  }
  std::size_t best = 0;
  double best_score = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    // The members' bounds sum up to more than the total load, so some member is below its bound.
    const double bound = std::ceil(kSpread * load * candidates[i].weight / weight);
    if (candidates[i].load + 1 > bound) continue;
    const double score = score_of(candidates[i], key);
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

}  // namespace kvasir::upstream
