#include "api/summarize.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/fit_context.h"
#include "api/store_task.h"
#include "text/tokenizer.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::string_view kInstructions =
    "You compress conversations. Write a short summary of the conversation that the user shows you. Keep "
    "names, "
    "numbers, decisions, open questions and what the user asked for. Write only the summary.";

// Bytes of a text that is worth a hop to another thread, however long it is.
constexpr std::size_t kAlwaysQueued = kSmallBody + 1;

std::string hex_digest(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1, "no SHA-256");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

// keys[i] names the summary of the first i + 1 turns: each is a digest of the key before it and the turn.
std::vector<std::string> keys_of(const SummaryPlan& plan, const std::string& fingerprint) {
  std::vector<std::string> keys;
  std::string key = tenancy::anonymous().name + "\n" + plan.model + "\n" + fingerprint + "\n" +
                    std::to_string(plan.max_tokens);
  for (std::size_t turn = 0; turn < plan.starts.size(); ++turn) {
    const std::size_t end = turn + 1 < plan.starts.size() ? plan.starts[turn + 1] : plan.messages.size();
    for (std::size_t i = plan.starts[turn]; i < end; ++i) key += "\n" + base::json_text(plan.messages[i]);
    key = hex_digest(key);
    keys.push_back(key);
  }
  return keys;
}

struct Found {
  std::size_t num_turns = 0;  // 0: none
  std::string text;
};

asio::awaitable<Result<Found>> find_longest(Service& service, const asio::any_io_executor& executor,
                                            const std::vector<std::string>& keys) {
  StoreWork<Found> work = [keys](store::Store& store) -> Result<Found> {
    for (std::size_t n = keys.size(); n > 0; --n) {
      TRY(const std::optional<store::Summary> summary, store.summaries().find(keys[n - 1]));
      if (summary) return Found{n, summary->text};
    }
    return Found{};
  };
  co_return co_await run_on_store<Found>(service, executor, std::move(work));
}

std::string transcript(const SummaryPlan& plan, std::size_t first_turn, std::size_t last_turn) {
  const std::size_t end = last_turn < plan.starts.size() ? plan.starts[last_turn] : plan.messages.size();
  std::string text;
  for (std::size_t i = plan.starts[first_turn]; i < end; ++i) {
    const json::object& message = plan.messages[i].get_object();
    text += std::string(message.at("role").get_string()) + ": ";
    text += content_text(message);
    if (const json::value* calls = message.if_contains("tool_calls"); calls != nullptr && calls->is_array())
      text += base::json_text(*calls);
    text += "\n\n";
  }
  return text;
}

// Cuts the middle out of a turn that is too long by itself.
std::string cut(const std::string& text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto is_inner = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  std::size_t head = max_bytes / 2;
  while (head > 0 && is_inner(head)) --head;
  std::size_t tail = text.size() - max_bytes / 2;
  while (tail < text.size() && is_inner(tail)) ++tail;
  return text.substr(0, head) + "\n[...]\n" + text.substr(tail);
}

// A request for the summary of `text`, which goes on from `earlier`.
Result<Job> summary_job(Service& service, const SummaryPlan& plan, const std::string& earlier,
                        const std::string& text) {
  TRY(router::Lease lease, service.router.pick(plan.model));
  ChatRequest request;
  request.params.model = plan.model;
  request.params.sampling.temperature = 0;
  request.params.seed = 0;
  request.params.max_tokens = plan.max_tokens;
  std::string prompt;
  if (!earlier.empty()) prompt = "Summary of what came before:\n" + earlier + "\n\n";
  prompt += "The conversation:\n\n" + text + "Summarize all of it.";
  request.messages = {json::object{{"role", "system"}, {"content", kInstructions}},
                      json::object{{"role", "user"}, {"content", prompt}}};
  TRY(EncodedChat chat, encode_chat(lease.model(), request, {}));
  const int room = lease.model().context_length - static_cast<int>(chat.tokens.size());
  if (room < plan.max_tokens)
    return Error{ErrorCode::invalid_argument, "the turns are too long", {}, "context_length_exceeded"};
  return make_job(std::move(lease), request.params, {std::move(chat.tokens)}, "messages");
}

struct Piece {
  Job job;
  std::size_t num_turns;  // that are in the summary once it is made
};

// As many turns behind `found` as fit into one request.
Result<Piece> next_piece(Service& service, const SummaryPlan& plan, const Found& found) {
  std::size_t num_taken = plan.starts.size() - found.num_turns;
  std::size_t max_bytes = std::string::npos;
  while (true) {
    const std::size_t last = found.num_turns + num_taken;
    Result<Job> job =
        summary_job(service, plan, found.text, cut(transcript(plan, found.num_turns, last), max_bytes));
    if (job.ok()) return Piece{std::move(*job), last};
    const bool too_long = job.error().reason == "context_length_exceeded";
    if (!too_long || (num_taken == 1 && max_bytes < 64)) return std::move(job).error();
    if (num_taken > 1)
      num_taken /= 2;
    else
      max_bytes = std::min(max_bytes, transcript(plan, found.num_turns, last).size()) / 2;
  }
}

asio::awaitable<Result<std::string>> generate(Service& service, Outlet& out, const GenerateParams& params,
                                              Job job) {
  const tenancy::Tenant tenant = tenancy::anonymous();
  tenancy::Cost cost;
  for (wire::GenerateRequest& sequence : job.sequences) {
    sequence.cache_namespace = tenant.name;
    cost.tokens += static_cast<std::int64_t>(sequence.prompt.size()) + sequence.max_tokens;
  }
  Result<tenancy::Permit> permit = service.admission.enter(tenant, cost);
  if (!permit.ok()) co_return std::move(permit).error();
  ModelMetrics& metrics = service.metrics.of_model(job.lease.name());
  net::Responder& responder = out.exchange().responder;
  Result<std::unique_ptr<Generation>> generation =
      Generation::start(std::move(job), std::move(*permit), {responder.executor(), service.clock, metrics});
  if (!generation.ok()) co_return std::move(generation).error();
  if (!out.resumable()) responder.on_disconnect([&running = **generation] { running.cancel(); });
  std::string text;
  Result<std::vector<Delta>> deltas = std::vector<Delta>();
  while (deltas.ok() && !(*generation)->over()) {
    deltas = co_await (*generation)->next(service.options.ping_interval);
    if (!deltas.ok()) break;
    for (const Delta& delta : *deltas) text += delta.text;
    if (!deltas->empty() || !params.stream) continue;
    base::Status written = co_await out.start();
    if (written.ok()) written = co_await out.ping();
    if (!written.ok()) (*generation)->cancel();
  }
  responder.on_disconnect({});
  if (!deltas.ok()) co_return std::move(deltas).error();
  if ((*generation)->cancelled()) co_return base::error(ErrorCode::cancelled, "the client left");
  // What a reasoning model thought is no part of it.
  if (const std::size_t thought = text.rfind("</think>"); thought != std::string::npos)
    text.erase(0, thought + std::string_view("</think>").size());
  co_return text;
}

}  // namespace

asio::awaitable<Result<std::string>> summarize(Service& service, Outlet& out, const GenerateParams& params,
                                               std::shared_ptr<const SummaryPlan> plan) {
  const asio::any_io_executor executor = out.exchange().responder.executor();
  Result<router::Lease> lease = service.router.pick(plan->model);
  if (!lease.ok()) co_return std::move(lease).error();
  const std::vector<std::string> keys = keys_of(*plan, lease->model().fingerprint);
  Result<Found> found = co_await find_longest(service, executor, keys);
  if (!found.ok()) co_return std::move(found).error();
  while (found->num_turns < plan->starts.size()) {
    TextTask<Piece>::Work take = [&service, plan, found = *found](const std::stop_token&) {
      return next_piece(service, *plan, found);
    };
    Result<Piece> piece =
        co_await run_text_work<Piece>(service.tokenizing, out.exchange(), kAlwaysQueued, std::move(take));
    if (!piece.ok()) co_return std::move(piece).error();
    Result<std::string> text = co_await generate(service, out, params, std::move(piece->job));
    if (!text.ok()) co_return std::move(text).error();
    *found = Found{piece->num_turns, std::move(*text)};
    const store::Summary made{.key = keys[found->num_turns - 1], .text = found->text, .created_ms = now_ms()};
    StoreWork<std::monostate> put = [made](store::Store& store) { return store.summaries().put(made); };
    const base::Status kept = co_await run_on_store<std::monostate>(service, executor, std::move(put));
    if (!kept.ok()) co_return kept.error();
  }
  co_return std::move(found->text);
}

}  // namespace kvasir::api
