#include "api/conversations/message_tree.h"

#include <algorithm>
#include <utility>

namespace kvasir::api {

MessageTree::MessageTree(std::vector<store::MessageNode> nodes) {
  for (store::MessageNode& node : nodes) {
    children_[node.parent_id].push_back(node.id);
    parents_.emplace(std::move(node.id), std::move(node.parent_id));
  }
}

std::vector<std::string> MessageTree::path_to(const std::string& id) const {
  std::vector<std::string> path;
  for (std::string at = id; !at.empty(); at = parents_.at(at)) path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

std::string MessageTree::newest_leaf(std::string id) const {
  for (auto it = children_.find(id); it != children_.end(); it = children_.find(id)) id = it->second.back();
  return id;
}

}  // namespace kvasir::api
