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
  measuring,  // measures the speed of its steps
  ready,
  leaving,  // finishes its requests and takes no new ones
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

// A model that is ready. The router sets the name and the version in its text.
struct GeneratingModel {
  ChatText text;
  std::shared_ptr<seam::WorkerClient> worker;  // its local member; null: all members come by add_member
};
struct EmbeddingModel {
  EmbedText text;
  std::shared_ptr<seam::EmbedClient> worker;  // as above, by add_embedder
};
using ServedModel = std::variant<GeneratingModel, EmbeddingModel>;

// The device memory that a model takes, in bytes.
struct ModelMemory {
  std::int64_t weights = 0;
  std::int64_t kv = 0;  // its whole pool, though the system may map it bit by bit
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
  std::optional<wire::WorkerReport> report;  // sum over all members; only if it is ready
  std::vector<MemberStatus> members;         // of a pool; empty unless it is ready
  ModelMemory memory;                        // zeros until it is ready
  std::uint64_t version = 0;                 // of its text; set when it is loaded
};

// The models that a client may use. To that client all other models do not exist.
struct Reach {
  std::span<const std::string> models = {};  // empty: all
  int max_context = 0;                       // tokens of prompt and answer together; 0: the models' own
};

// Decides which worker answers for a model. Thread-safe. A name's state changes while its files are fetched
// and its worker starts. A text or a lease from the router counts as a use of the model while it is held.
class Router {
 public:
  // The clock outlives it.
  explicit Router(PoolOptions options = {}, const base::Clock& clock = Pool::real_clock());
  ~Router();

  // Adding a name twice is a bug.
  void add(std::string name);
  void set_state(std::string_view name, ModelState state);
  void set_ready(std::string_view name, ServedModel model, ModelMemory memory = {});
  // Adds a worker to the pool of a model that generates, or replaces the worker with this id. The worker may
  // come before the model's text, and stays when the text changes, so it must use the same tokens. Does
  // nothing for an unknown name.
  void add_member(std::string_view name, std::string id, std::shared_ptr<seam::WorkerClient> worker,
                  MemberPart part = {});
  // As add_member, for a model that makes vectors.
  void add_embedder(std::string_view name, std::string id, std::shared_ptr<seam::EmbedClient> worker);
  // No new lease gets the worker.
  void remove_member(std::string_view name, std::string_view id);
  // Stops giving out the text of a ready model; holders of the text still get leases.
  void set_leaving(std::string_view name);
  // Removes the name. Texts and leases in use stay valid.
  void remove(std::string_view name);
  bool in_use(std::string_view name) const;
  // Absent: there is no such name.
  std::optional<ModelState> state(std::string_view name) const;
  // An upstream serves this name. Where a request needs a model of this server and none has the name, the
  // error says that an upstream serves it. Called before the first request.
  void add_elsewhere(std::string name) { elsewhere_.push_back(std::move(name)); }
  // `told` is called whenever a model's last use has ended, on any thread. It must not call the router.
  void on_unused(UseListener::Told told) { listener_->set(std::move(told)); }
  // Takes the local worker out: no new lease gets it. Existing leases keep it alive.
  void set_failed(std::string_view name, std::string reason);

  // The text of a ready model. not_found: no such model; unavailable: it is not ready; unsupported: it makes
  // the other kind of output (text or vectors).
  base::Result<ChatTextPtr> chat_text(std::string_view name, const Reach& reach = {}) const;
  base::Result<EmbedTextPtr> embed_text(std::string_view name, const Reach& reach = {}) const;
  base::Result<AnyText> any_text(std::string_view name, const Reach& reach = {}) const;

  bool has(std::string_view name, const Reach& reach = {}) const;
  // The texts of all ready models that generate, in the order in which the models were added. If there are
  // none, the error says that a model is not ready, or else that `name` does not exist.
  base::Result<std::vector<ChatTextPtr>> generating(std::string_view name, const Reach& reach = {}) const;

  // A worker for a request that was tokenized with `text`. unavailable: the model is not ready any more, its
  // name now belongs to another model (for which the tokens would be wrong), or it has no worker.
  base::Result<WorkerLease> pick(const ChatText& text, const Demand& demand);
  // Picks the worker with the fewest requests.
  base::Result<EmbedLease> pick(const EmbedText& text, std::span<const std::string> avoid = {});

  // The number of members in all pools together, with embedders.
  int num_members() const;
  // Notes how a request on a member ended. A member that loses too many requests gets none for a while.
  void note(std::string_view name, const std::string& member, Ejections::Outcome outcome);
  // Whether a request of this model that lost its worker may begin again. True uses up a retry.
  bool take_retry(std::string_view name);
  void give_back_retry(std::string_view name);
  void count(std::string_view name, FailoverOutcome outcome);
  // For metrics: what became of requests that lost their workers, how often members were taken out, and whose
  // answers were wrong. Null: no such name.
  struct PoolFailures {
    FailoverCounts failovers;
    Ejections ejections;
    RetryBudget retries;
    Trust trust;
  };
  std::shared_ptr<const PoolFailures> failures(std::string_view name) const;

  // Sets who checks answers of members in other processes. Called before the first request.
  void listen_to_answers(std::shared_ptr<AnswerListener> listener) {
    listener_to_answers_ = std::move(listener);
  }
  bool wants_answer() const;
  // Called only after `wants_answer` returned true.
  void offer_answer(GivenAnswer answer) const;
  // The members that generate for this version of a model. Empty: the name now has another version.
  std::vector<std::shared_ptr<WorkerMember>> members_of(std::string_view name, std::uint64_t version) const;
  // Count answers that were compared, and members whose answers were wrong.
  void count_check(std::string_view name);
  void count_disagreement(std::string_view name, const std::string& member);
  // Takes a member out, and keeps it out until `trust_again` is called for it.
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
  // Finds a model that is ready or leaving.
  base::Result<std::shared_ptr<Entry>> find_loaded(std::string_view name) const;

  const PoolOptions pool_options_;
  const base::Clock& clock_;
  const std::shared_ptr<UseListener> listener_ = std::make_shared<UseListener>();
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;          // guarded by mutex_
  std::uint64_t last_version_ = 0;                       // guarded by mutex_
  std::vector<std::string> elsewhere_;                   // constant after the first request
  std::shared_ptr<AnswerListener> listener_to_answers_;  // constant after the first request; null: none
};

}  // namespace kvasir::router
