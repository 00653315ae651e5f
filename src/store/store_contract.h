#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

// Tests that every store must pass. A new store adds a row to the instantiation in store_contract_test.cc.
namespace kvasir::store {

// The ids of a page: "a b", or "a b ..." if there are more.
template <class T>
std::string ids(const Page<T>& page) {
  std::string all;
  for (const T& item : page.items) all += (all.empty() ? "" : " ") + item.id;
  return all + (page.has_more ? " ..." : "");
}

// The place of one test's records. All stores that `open` returns share them, as processes would.
class StoreBed {
 public:
  virtual ~StoreBed() = default;
  virtual std::unique_ptr<Store> open() = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreBed>()> make_bed;
};

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  StoreContract() : bed_(GetParam().make_bed()), store_(bed_->open()) {}

  static constexpr const char* kTenant = "t";
  static Key key(std::string id) { return {kTenant, std::move(id)}; }

  Conversations& conversations() { return store_->conversations(); }

  void add_conversation(const std::string& id) {
    const auto added = conversations().add({.id = id, .tenant = kTenant, .created_ms = 1, .updated_ms = 1});
    ASSERT_TRUE(added.ok()) << added.error().message;
  }
  static Message message(std::string id, std::string parent = "",
                         MessageStatus status = MessageStatus::completed) {
    Message made;
    made.id = std::move(id);
    made.parent_id = std::move(parent);
    made.status = status;
    made.role = "user";
    made.body = R"({"content":"hi"})";
    return made;
  }
  void append(const std::string& conversation, std::vector<Message> messages) {
    const auto done = conversations().append(key(conversation), {.messages = std::move(messages)});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  std::string leaf(const std::string& conversation) {
    return conversations().find(key(conversation)).value().active_leaf;
  }
  // Reopens the store, as after the end of the process.
  void reopen() {
    store_.reset();
    store_ = bed_->open();
  }

  std::unique_ptr<StoreBed> bed_;
  std::unique_ptr<Store> store_;
};

}  // namespace kvasir::store
