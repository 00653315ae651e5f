#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvasir::store {

// Names a record. A tenant finds only its own records.
struct Key {
  std::string tenant;
  std::string id;
};

enum class Order : std::uint8_t { ascending, descending };  // by time of creation

// Selects a part of a list. Cursors are ids of records in the list and are exclusive. An unknown cursor is an
// invalid_argument.
struct PageQuery {
  int limit = 20;
  Order order = Order::descending;
  std::string after;   // empty: from the beginning
  std::string before;  // empty: to the end
};

// The most bytes of records in a page. A page ends with the record that reaches it; later records are not
// loaded.
inline constexpr std::size_t kMaxPageBytes = std::size_t{4} << 20;

template <class T>
struct Page {
  std::vector<T> items;  // in the requested order; fewer than the limit if they are large
  bool has_more = false;
};

}  // namespace kvasir::store
