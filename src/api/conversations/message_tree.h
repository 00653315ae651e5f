#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/conversations.h"

namespace kvasir::api {

// The tree of a conversation's messages. Immutable.
class MessageTree {
 public:
  explicit MessageTree(std::vector<store::MessageNode> nodes);

  bool contains(const std::string& id) const { return parents_.contains(id); }
  // `id` must exist. The result is empty if the message is the first of its branch.
  const std::string& parent(const std::string& id) const { return parents_.at(id); }
  // The ids from the first message of the branch to this one; none for the empty id.
  std::vector<std::string> path_to(const std::string& id) const;
  // The children of the message's parent, including the message, in the order of their creation.
  const std::vector<std::string>& siblings(const std::string& id) const { return children_.at(parent(id)); }
  // The leaf that is reached from a message by always taking the newest child.
  std::string newest_leaf(std::string id) const;

 private:
  std::map<std::string, std::string> parents_;                // by id
  std::map<std::string, std::vector<std::string>> children_;  // by parent id; roots under the empty id
};

}  // namespace kvasir::api
