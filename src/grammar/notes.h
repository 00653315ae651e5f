#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::grammar {

// Something that the source of a grammar asks for and that the grammar does not enforce.
struct Note {
  std::string what;
  std::string path;  // the first place
  std::size_t num_places = 1;
};

// Collects the first few different notes on one source. Each place counts once.
class Notes {
 public:
  void add(const std::string& what, const std::string& path);
  const std::vector<Note>& list() const { return list_; }

 private:
  static constexpr std::size_t kMaxNotes = 8;

  std::vector<Note> list_;
  std::set<std::pair<std::string, std::string>> places_;
};

}  // namespace kvasir::grammar
