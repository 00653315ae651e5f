#include "ops/cuda/product_ways.h"

#include <unistd.h>

#include <fstream>
#include <ios>
#include <sstream>
#include <system_error>
#include <utility>

namespace kvasir::ops::cuda {

bool ProductWays::Way::operator==(const Way& other) const {
  if (algorithm != other.algorithm || own.has_value() != other.own.has_value()) return false;
  return !own || (own->parts == other.own->parts && own->sharers == other.own->sharers);
}

ProductWays::ProductWays(std::filesystem::path file, std::string title)
    : file_(std::move(file)), title_(std::move(title)) {
  if (file_.empty()) return;
  std::ifstream in(file_);
  std::string line;
  if (!std::getline(in, line) || line != title_) return;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    Key key;
    Way way;
    WideShape own;
    for (std::int64_t& part : key) words >> part;
    words >> own.parts >> own.sharers >> std::hex;
    for (std::uint64_t& part : way.algorithm) words >> part;
    std::string end;
    if (!(words >> end) || end != ".") continue;  // this line was cut off
    if (own.parts > 0) way.own = own;
    ways_.insert_or_assign(key, way);
  }
}

const ProductWays::Way* ProductWays::find(const Key& key) const {
  const auto found = ways_.find(key);
  return found == ways_.end() ? nullptr : &found->second;
}

void ProductWays::keep(const Key& key, const Way& way) {
  if (file_.empty()) return;
  ways_.insert_or_assign(key, way);
  has_new_ = true;
}

void ProductWays::save() {
  if (!std::exchange(has_new_, false)) return;
  ProductWays there(file_, title_);  // what other processes have written since
  ways_.merge(there.ways_);
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  std::filesystem::path fresh = file_;
  fresh += "." + std::to_string(::getpid());
  {
    std::ofstream out(fresh);
    out << title_ << '\n';
    for (const auto& [key, way] : ways_) {
      out << std::dec;
      for (const std::int64_t part : key) out << part << ' ';
      out << (way.own ? way.own->parts : 0) << ' ' << (way.own ? way.own->sharers : 0) << std::hex;
      for (const std::uint64_t part : way.algorithm) out << ' ' << part;
      out << " .\n";
    }
    if (!out.flush()) {
      std::filesystem::remove(fresh, ignored);
      return;
    }
  }
  std::filesystem::rename(fresh, file_, ignored);
}

}  // namespace kvasir::ops::cuda
