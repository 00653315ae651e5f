#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvasir::store {

// Names a record. A tenant finds its own records only; another's are not there.
struct Key {
  std::string tenant;
  std::string id;
};

enum class Order : std::uint8_t { ascending, descending };  // of creation

// Which part of a list. Cursors are ids of records in it, and exclusive; one that names no record is an
// invalid_argument.
struct PageQuery {
  int limit = 20;
  Order order = Order::descending;
  std::string after;   // empty: from the beginning
  std::string before;  // empty: to the end
};

// Of records in one page: it ends with the record that brings it there, and those beyond are not loaded.
inline constexpr std::size_t kMaxPageBytes = std::size_t{4} << 20;

template <class T>
struct Page {
  std::vector<T> items;  // in the order that was asked for; fewer than the limit where they are large
  bool has_more = false;
};

}  // namespace kvasir::store
