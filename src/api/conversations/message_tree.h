#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/conversations.h"

namespace kvasir::api {

// The messages of a conversation by their places. A value; immutable.
class MessageTree {
 public:
  explicit MessageTree(std::vector<store::MessageNode> nodes);

  bool contains(const std::string& id) const { return parents_.contains(id); }
  // Of a message that is there; empty: it is the first of its branch.
  const std::string& parent(const std::string& id) const { return parents_.at(id); }
  // From the first message to this one; empty for the empty id.
  std::vector<std::string> path_to(const std::string& id) const;
  // The children of its parent, itself among them, in the order of their creation.
  const std::vector<std::string>& siblings(const std::string& id) const { return children_.at(parent(id)); }
  // Where one comes to from a message by always taking the newest child.
  std::string newest_leaf(std::string id) const;

 private:
  std::map<std::string, std::string> parents_;                // by id
  std::map<std::string, std::vector<std::string>> children_;  // by id; the first messages by the empty one
};

}  // namespace kvasir::api
