#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "router/answer_listener.h"
#include "router/demand.h"
#include "router/ejections.h"
#include "router/failover.h"
#include "router/lease.h"
#include "router/model_text.h"
#include "router/pool.h"
#include "router/retry_budget.h"
#include "router/trust.h"
#include "router/use.h"
#include "seam/embed_client.h"
#include "seam/worker_client.h"

namespace kvasir::router {

enum class Phase {
  unloaded,
  queued,
  downloading,
  loading,
  measuring,  // how fast its steps are
  ready,
  leaving,  // ends what runs, and takes nothing new
  failed,
  restarting,  // its engine failed, and the process will restart
};
std::string_view name_of(Phase phase);

struct ModelState {
  Phase phase = Phase::queued;
  double progress = 0;  // of a download, 0 to 1
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;  // of a download
  std::string reason;             // why it failed or restarts; for a ready model, a note to its operator
};

// A model that is ready. The names and versions in their texts are the router's to write.
struct GeneratingModel {
  ChatText text;
  std::shared_ptr<seam::WorkerClient> worker;  // its local member; null: all members are added by themselves
};
struct EmbeddingModel {
  EmbedText text;
  std::shared_ptr<seam::EmbedClient> worker;  // likewise
};
using ServedModel = std::variant<GeneratingModel, EmbeddingModel>;

// What a model takes of the device's memory, in bytes.
struct ModelMemory {
  std::int64_t weights = 0;
  std::int64_t kv = 0;  // its whole pool, which the system may give it bit by bit
  std::int64_t workspace = 0;

  std::int64_t sum() const { return weights + kv + workspace; }
};

// The public status of a model.
struct ModelStatus {
  std::string name;
  ModelState state;
  std::int64_t created_s = 0;                // seconds since the epoch
  int num_leases = 0;                        // requests on its workers
  std::optional<AnyText> text;               // only if it is ready
  std::optional<wire::WorkerReport> report;  // of all members together; only if it is ready
  std::vector<MemberStatus> members;         // of a pool; empty unless it is ready
  ModelMemory memory;                        // zeros until it is ready
  std::uint64_t version = 0;                 // of its text, which it gets when it is loaded
};

// The part of the models that somebody may use. What is outside of it is not there.
struct Reach {
  std::span<const std::string> models = {};  // empty: all
  int max_context = 0;                       // tokens of prompt and answer together; 0: the models' own
};

// Decides which worker answers for a model. Thread-safe. A name's state changes while its files are fetched
// and its worker starts. Whoever holds a text or a lease that the router gave uses the model.
class Router {
 public:
  // The clock outlives it.
  explicit Router(PoolOptions options = {}, const base::Clock& clock = Pool::real_clock());
  ~Router();

  // Adding a name twice is a bug.
  void add(std::string name);
  void set_state(std::string_view name, ModelState state);
  void set_ready(std::string_view name, ServedModel model, ModelMemory memory = {});
  // Adds a worker to the pool of a model that generates, or replaces the one with this id. The worker may
  // come before the model's text, and stays when the text changes: it must be one for the same tokens. No
  // such name: nothing happens.
  void add_member(std::string_view name, std::string id, std::shared_ptr<seam::WorkerClient> worker,
                  MemberPart part = {});
  // The same for a model that makes vectors.
  void add_embedder(std::string_view name, std::string id, std::shared_ptr<seam::EmbedClient> worker);
  // No new lease gets the worker.
  void remove_member(std::string_view name, std::string_view id);
  // A ready model gives its text to nobody any more; those who have it still get leases.
  void set_leaving(std::string_view name);
  // Takes the name away. Uses keep what they hold.
  void remove(std::string_view name);
  bool in_use(std::string_view name) const;
  // Nothing: there is no such name.
  std::optional<ModelState> state(std::string_view name) const;
  // The name has members elsewhere, which generate and take text. Without models of ours it stays unknown
  // here, in words that say so. Before anybody asks.
  void add_elsewhere(std::string name) { elsewhere_.push_back(std::move(name)); }
  // Is told whenever a model's last use has ended, on any thread. Must not call the router.
  void on_unused(UseListener::Told told) { listener_->set(std::move(told)); }
  // Takes the local worker back: no new lease gets it. Existing leases keep it alive.
  void set_failed(std::string_view name, std::string reason);

  // The text of a model that is ready. not_found: no such model; unavailable: not ready (yet); unsupported:
  // it is for something else.
  base::Result<ChatTextPtr> chat_text(std::string_view name, const Reach& reach = {}) const;
  base::Result<EmbedTextPtr> embed_text(std::string_view name, const Reach& reach = {}) const;
  base::Result<AnyText> any_text(std::string_view name, const Reach& reach = {}) const;

  bool has(std::string_view name, const Reach& reach = {}) const;
  // The texts of all ready models that generate, in the order in which the models were added. If there are
  // none: the error of a model that is not ready yet, or else of one called `name` that is not there.
  base::Result<std::vector<ChatTextPtr>> generating(std::string_view name, const Reach& reach = {}) const;

  // A worker for a request that was tokenized with `text`. unavailable: the model is not ready any more, or
  // its name now belongs to another model, for which the tokens would be wrong, or no worker is there.
  base::Result<WorkerLease> pick(const ChatText& text, const Demand& demand);
  // The one with the fewest requests.
  base::Result<EmbedLease> pick(const EmbedText& text, std::span<const std::string> avoid = {});

  // How many members all pools have together.
  int num_members() const;
  // Tells how a request on a member ended. A member that loses too many gets none for a while.
  void note(std::string_view name, const std::string& member, Ejections::Outcome outcome);
  // Whether a request of this model whose worker was lost may begin again, which it then does.
  bool take_retry(std::string_view name);
  void give_back_retry(std::string_view name);
  void count(std::string_view name, FailoverOutcome outcome);
  // What became of requests whose workers were lost, how often members were put out, and whose answers were
  // wrong, for metrics. Null: no such name.
  struct PoolFailures {
    FailoverCounts failovers;
    Ejections ejections;
    RetryBudget retries;
    Trust trust;
  };
  std::shared_ptr<const PoolFailures> failures(std::string_view name) const;

  // Shows answers of members elsewhere to somebody who checks them. Before anybody asks.
  void listen_to_answers(std::shared_ptr<AnswerListener> listener) {
    listener_to_answers_ = std::move(listener);
  }
  bool wants_answer() const;
  // Only after `wants_answer`.
  void offer_answer(GivenAnswer answer) const;
  // Those who generate for this version of a model. Empty: there is another one now.
  std::vector<std::shared_ptr<WorkerMember>> members_of(std::string_view name, std::uint64_t version) const;
  // Answers that were compared, and who was wrong.
  void count_check(std::string_view name);
  void count_disagreement(std::string_view name, const std::string& member);
  // Takes a member out, and keeps it out, until whoever lists it trusts the worker of that name again.
  void distrust(std::string_view name, const std::string& member);
  bool is_distrusted(std::string_view name, std::string_view member) const;
  void trust_again(std::string_view member);

  // In the order in which they were added.
  std::vector<ModelStatus> models(const Reach& reach = {}) const;

 private:
  struct Entry;
  std::shared_ptr<Entry> find(std::string_view name) const;
  std::shared_ptr<Entry> find_locked(std::string_view name) const;
  base::Error does_not_exist(std::string_view name, const Reach& reach) const;
  base::Result<std::shared_ptr<Entry>> find_ready(std::string_view name, const Reach& reach) const;
  // Ready, or leaving.
  base::Result<std::shared_ptr<Entry>> find_loaded(std::string_view name) const;

  const PoolOptions pool_options_;
  const base::Clock& clock_;
  const std::shared_ptr<UseListener> listener_ = std::make_shared<UseListener>();
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;          // guarded by mutex_
  std::uint64_t last_version_ = 0;                       // guarded by mutex_
  std::vector<std::string> elsewhere_;                   // constant once somebody asks
  std::shared_ptr<AnswerListener> listener_to_answers_;  // likewise; null: nobody
};

}  // namespace kvasir::router
