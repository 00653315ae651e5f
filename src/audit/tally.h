#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace kvasir::audit {

// The latest verdicts on the members of pools. Touched by one thread at a time.
class Tally {
 public:
  static constexpr std::size_t kWindow = 20;  // number of latest verdicts on a member that count
  static constexpr int kMostWrong = 3;        // wrong verdicts among these at which it is no longer trusted
  static constexpr std::size_t kMostMembers = 1024;

  void note_right(const std::string& model, const std::string& member) { note(model, member, false); }
  // True if the member has been wrong too often.
  bool note_wrong(const std::string& model, const std::string& member) { return note(model, member, true); }
  void forget(const std::string& model, const std::string& member) { verdicts_.erase({model, member}); }

 private:
  bool note(const std::string& model, const std::string& member, bool is_wrong) {
    if (verdicts_.size() >= kMostMembers) verdicts_.clear();  // keeps the map bounded
    std::deque<bool>& verdicts = verdicts_[{model, member}];
    verdicts.push_back(is_wrong);
    if (verdicts.size() > kWindow) verdicts.pop_front();
    return std::ranges::count(verdicts, true) >= kMostWrong;
  }

  std::map<std::pair<std::string, std::string>, std::deque<bool>> verdicts_;  // true: it was wrong
};

}  // namespace kvasir::audit
