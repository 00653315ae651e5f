#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/grammar_compiler.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "wire/embed_client.h"
#include "wire/worker_client.h"

namespace kvasir::router {

enum class Phase {
  queued,
  downloading,
  loading,
  ready,
  failed,
  restarting,  // its engine failed, and the process is about to begin anew
};
std::string_view name_of(Phase phase);

struct ModelState {
  Phase phase = Phase::queued;
  double progress = 0;  // of a download, 0 to 1
  std::string reason;   // of a failure or a restart; of a ready one, what its operator should know
};

// What a model is for.
enum class Task {
  generate,
  embed,
  any,  // of a request that asks for neither
};

// What a request needs of a model that is ready: one that generates has a worker, a template and grammars,
// one that embeds has an embedder.
struct ServedModel {
  std::shared_ptr<wire::WorkerClient> worker;
  std::shared_ptr<wire::EmbedClient> embedder;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;
  std::shared_ptr<grammar::GrammarCompiler> grammars;  // over the tokenizer's vocabulary
  int context_length = 0;                              // tokens of prompt and output together
  std::string fingerprint;                             // of the weights and the program

  Task task() const { return embedder ? Task::embed : Task::generate; }
};

// A model as the outside may see it.
struct ModelStatus {
  std::string name;
  ModelState state;
  std::int64_t created_s = 0;                // seconds since the epoch
  int context_length = 0;                    // 0 until ready
  int num_leases = 0;                        // requests on it
  std::optional<wire::WorkerReport> report;  // of a ready one
  std::optional<Task> task;                  // likewise: generate or embed
  int dimensions = 0;                        // of the vectors of one that embeds
};

// A request's hold on the worker that answers it; counts as load until it dies. A move-only value.
class Lease {
 public:
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease();

  const std::string& name() const;
  const ServedModel& model() const { return *model_; }

 private:
  friend class Router;
  struct Entry;
  Lease(std::shared_ptr<Entry> entry, std::shared_ptr<const ServedModel> model);

  std::shared_ptr<Entry> entry_;  // null once moved from
  std::shared_ptr<const ServedModel> model_;
};

// Which worker answers for a model. Thread-safe.
// A name once added stays; its state changes as its files come and its worker starts.
class Router {
 public:
  Router();
  ~Router();

  // Adding a name twice is a bug.
  void add(std::string name);
  void set_state(std::string_view name, ModelState state);
  void set_ready(std::string_view name, ServedModel model);
  // Takes the worker back: nobody is leased it any more. Leases that exist keep it alive.
  void set_failed(std::string_view name, std::string reason);

  // not_found: no such model; unavailable: not ready (yet); unsupported: it is for something else.
  base::Result<Lease> pick(std::string_view name, Task task = Task::generate);

  // In the order in which they were added.
  std::vector<ModelStatus> models() const;

 private:
  using Entry = Lease::Entry;
  std::shared_ptr<Entry> find(std::string_view name) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;  // guarded by mutex_
};

}  // namespace kvasir::router
