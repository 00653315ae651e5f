#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace kvasir::store {

// For tests: a store whose disk is full while `full` is set. Writes then fail and reads do not.
class FailingStore final : public Store {
 public:
  explicit FailingStore(std::unique_ptr<Store> inner)
      : inner_(std::move(inner)), conversations_(*this), batches_(*this), usage_(*this) {}

  std::atomic<bool> full{false};
  std::atomic<int> num_lost_lines{0};  // outcomes of batch lines that could not be stored

  store::Conversations& conversations() override { return conversations_; }
  store::Answers& answers() override { return inner_->answers(); }
  store::Summaries& summaries() override { return inner_->summaries(); }
  store::Files& files() override { return inner_->files(); }
  store::Batches& batches() override { return batches_; }
  store::Accounts& accounts() override { return inner_->accounts(); }
  store::Usage& usage() override { return usage_; }

 private:
  base::Status room() const {
    if (!full) return base::ok();
    return base::Error{.code = base::ErrorCode::io,
                       .message = "the store failed: database or disk is full",
                       .reason = "storage_full"};
  }

  class FailingConversations final : public store::Conversations {
   public:
    explicit FailingConversations(FailingStore& store) : store_(store) {}
    base::Status add(const Conversation& conversation) override {
      TRY_OK(store_.room());
      return inner().add(conversation);
    }
    base::Result<Conversation> find(const Key& key) override { return inner().find(key); }
    base::Result<Page<Conversation>> list(const std::string& tenant, const PageQuery& query) override {
      return inner().list(tenant, query);
    }
    base::Result<Conversation> change(const Key& key, const ConversationChange& change) override {
      TRY_OK(store_.room());
      return inner().change(key, change);
    }
    base::Status remove(const Key& key) override {
      TRY_OK(store_.room());
      return inner().remove(key);
    }
    base::Status append(const Key& key, const Append& append) override {
      TRY_OK(store_.room());
      return inner().append(key, append);
    }
    base::Status save(const Key& key, const Message& message) override {
      TRY_OK(store_.room());
      return inner().save(key, message);
    }
    base::Status withdraw(const Key& key, const std::vector<std::string>& ids) override {
      TRY_OK(store_.room());
      return inner().withdraw(key, ids);
    }
    base::Status rewrite(const Key& key, const std::string& id, const std::string& body) override {
      TRY_OK(store_.room());
      return inner().rewrite(key, id, body);
    }
    base::Status take_out(const Key& key, const std::string& id) override {
      TRY_OK(store_.room());
      return inner().take_out(key, id);
    }
    base::Result<std::vector<MessageNode>> tree(const Key& key) override { return inner().tree(key); }
    base::Result<std::vector<Message>> messages(const Key& key,
                                                const std::vector<std::string>& ids) override {
      return inner().messages(key, ids);
    }
    base::Result<std::vector<Message>> first_messages(const Key& key,
                                                      const std::vector<std::string>& ids) override {
      return inner().first_messages(key, ids);
    }

   private:
    store::Conversations& inner() { return store_.inner_->conversations(); }
    FailingStore& store_;
  };

  class FailingBatches final : public store::Batches {
   public:
    explicit FailingBatches(FailingStore& store) : store_(store) {}
    base::Status add(const Batch& batch) override {
      TRY_OK(store_.room());
      return inner().add(batch);
    }
    base::Result<Batch> find(const Key& key) override { return inner().find(key); }
    base::Result<Page<Batch>> list(const std::string& tenant, const PageQuery& query) override {
      return inner().list(tenant, query);
    }
    base::Result<std::optional<Batch>> claim() override {
      TRY_OK(store_.room());
      return inner().claim();
    }
    base::Result<Batch> advance(const Key& key, const std::vector<BatchStatus>& from, BatchStatus to,
                                std::int64_t now_ms) override {
      TRY_OK(store_.room());
      return inner().advance(key, from, to, now_ms);
    }
    base::Status fail(const Key& key, const std::string& errors, std::int64_t now_ms) override {
      TRY_OK(store_.room());
      return inner().fail(key, errors, now_ms);
    }
    base::Status begin(const Key& key, const std::vector<BatchLine>& lines, std::int64_t now_ms) override {
      TRY_OK(store_.room());
      return inner().begin(key, lines, now_ms);
    }
    base::Result<std::vector<BatchLine>> open_lines(const std::string& batch_id, std::int64_t after,
                                                    int limit) override {
      return inner().open_lines(batch_id, after, limit);
    }
    base::Status finish_line(const std::string& batch_id, const LineOutcome& outcome) override {
      if (base::Status fits = store_.room(); !fits.ok()) {
        ++store_.num_lost_lines;
        return fits;
      }
      return inner().finish_line(batch_id, outcome);
    }
    base::Result<Batch> finish(const Key& key, const Ending& ending) override {
      TRY_OK(store_.room());
      return inner().finish(key, ending);
    }

   private:
    store::Batches& inner() { return store_.inner_->batches(); }
    FailingStore& store_;
  };

  class FailingUsage final : public store::Usage {
   public:
    explicit FailingUsage(FailingStore& store) : store_(store) {}
    base::Status fold(const UsageFold& fold) override {
      TRY_OK(store_.room());
      return inner().fold(fold);
    }
    base::Result<std::int64_t> position(const std::string& log) override { return inner().position(log); }
    base::Status forget(const std::string& log) override {
      TRY_OK(store_.room());
      return inner().forget(log);
    }
    base::Result<std::vector<UsageRow>> totals(const UsageQuery& query) override {
      return inner().totals(query);
    }

   private:
    store::Usage& inner() { return store_.inner_->usage(); }
    FailingStore& store_;
  };

  std::unique_ptr<Store> inner_;
  FailingConversations conversations_;
  FailingBatches batches_;
  FailingUsage usage_;
};

}  // namespace kvasir::store
