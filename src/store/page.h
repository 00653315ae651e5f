#pragma once

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

template <class T>
struct Page {
  std::vector<T> items;  // in the order that was asked for
  bool has_more = false;
};

}  // namespace kvasir::store
