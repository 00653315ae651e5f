#include "api/answer/encode/summarize.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/answer/admit/start.h"
#include "api/answer/encode/encode.h"
#include "api/answer/encode/fit_context.h"
#include "api/answer/encode/prompt.h"
#include "api/answer/question/tools.h"
#include "api/answer/run/delta_sink.h"
#include "api/answer/run/revocable_stream.h"
#include "api/http/caller/caller.h"
#include "api/http/work/store_task.h"
#include "obs/log.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using Reasoning = text::AnswerSyntax::Reasoning;

namespace {

constexpr std::string_view kInstructions =
    "You compress conversations. Write a short summary of the conversation that the user shows you. Keep "
    "names, "
    "numbers, decisions, open questions and what the user asked for. Write only the summary.";

// A size that always sends the work to another thread, whatever the text's real length.
constexpr std::size_t kAlwaysQueued = kSmallBody + 1;

std::string hex_digest(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1, "no SHA-256");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

// keys[i] names the summary of the first i + 1 turns. Each key is a digest of the key before it and of its
// turn.
std::vector<std::string> keys_of(const SummaryPlan& plan, const tenancy::Caller& caller) {
  std::vector<std::string> keys;
  std::string key = caller.tenant + "\n" + plan.model->name + "\n" + plan.model->fingerprint + "\n" +
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
  std::size_t num_turns = 0;  // 0: no summary was found
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

// Cuts the middle out of a turn that does not fit by itself.
std::string cut(const std::string& text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto is_inner = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  std::size_t head = max_bytes / 2;
  while (head > 0 && is_inner(head)) --head;
  std::size_t tail = text.size() - max_bytes / 2;
  while (tail < text.size() && is_inner(tail)) ++tail;
  return text.substr(0, head) + "\n[...]\n" + text.substr(tail);
}

// A request for a summary of `text` that continues the summary `earlier`.
Result<Job> summary_job(const SummaryPlan& plan, const std::string& earlier, const std::string& text,
                        const std::stop_token& stop) {
  ChatRequest request;
  request.params.model = plan.model->name;
  request.params.sampling.temperature = 0;
  request.params.seed = 0;
  request.params.max_tokens = plan.max_tokens;
  request.template_kwargs["enable_thinking"] = false;  // has an effect if the template knows it
  std::string prompt;
  if (!earlier.empty()) prompt = "Summary of what came before:\n" + earlier + "\n\n";
  prompt += "The conversation:\n\n" + text + "Summarize all of it.";
  request.messages = {json::object{{"role", "system"}, {"content", kInstructions}},
                      json::object{{"role", "user"}, {"content", prompt}}};
  TRY(EncodedChat chat, encode_chat(*plan.model, request, stop));
  const int room = plan.model->context_length - static_cast<int>(chat.tokens.size());
  if (room < plan.max_tokens)
    return Error{ErrorCode::invalid_argument, "the turns are too long", {}, "context_length_exceeded"};
  // Adds the model's own end-of-turn tokens, so that a summary ends with the model's turn.
  TRY(const GenerateParams params, fit_params(*plan.model, QuestionText(std::move(request))));
  Reasoning reasoning = reasoning_of(*plan.model, chat);
  if (reasoning == Reasoning::none) reasoning = Reasoning::tagged;  // some templates do not mention reasoning
  TRY(Job job, make_job(plan.model, params, {std::move(chat.tokens)}, "messages"));
  job.reading = answer_reading({}, std::nullopt, *plan.model, reasoning);
  return job;
}

struct Piece {
  Job job;
  std::size_t num_turns;  // turns that the finished summary covers
};

// Takes as many turns after `found` as fit into one request.
Result<Piece> next_piece(const SummaryPlan& plan, const Found& found, const std::stop_token& stop) {
  std::size_t num_taken = plan.starts.size() - found.num_turns;
  std::size_t max_bytes = std::string::npos;
  while (true) {
    const std::size_t last = found.num_turns + num_taken;
    Result<Job> job =
        summary_job(plan, found.text, cut(transcript(plan, found.num_turns, last), max_bytes), stop);
    if (job.ok()) return Piece{std::move(*job), last};
    const bool too_long = job.error().reason == "context_length_exceeded";
    if (!too_long || (num_taken == 1 && max_bytes < 64)) return std::move(job).error();
    if (num_taken > 1)
      num_taken /= 2;
    else
      max_bytes = std::min(max_bytes, transcript(plan, found.num_turns, last).size()) / 2;
  }
}

// Collects the summary's text. Pings a client that waits for a stream.
class SummaryText final : public DeltaSink {
 public:
  SummaryText(Outlet& out, bool pings) : out_(out), pings_(pings) {}

  asio::awaitable<base::Status> take(std::vector<Delta> deltas) override {
    for (const Delta& delta : deltas) text_ += delta.text;
    if (!deltas.empty() || !pings_) co_return base::ok();
    base::Status written = co_await out_.start();
    if (written.ok()) written = co_await out_.ping();
    co_return written;
  }

  // The summary without the reasoning of the model. Fails if the model wrote only reasoning.
  Result<std::string> text() const {
    // A template may open the reasoning without saying so. Then the text has reasoning up to this mark.
    constexpr std::string_view kThought = "</think>";
    const std::size_t thought = text_.rfind(kThought);
    std::string text = thought == std::string::npos ? text_ : text_.substr(thought + kThought.size());
    if (text.find_first_not_of(" \t\r\n") != std::string::npos) return text;
    return Error{
        ErrorCode::invalid_argument,
        "the oldest turns do not fit into the context, and the model wrote no summary of them; choose "
        "another \"context_policy\", or send fewer messages",
        {},
        "context_length_exceeded"};
  }

 private:
  Outlet& out_;
  const bool pings_;
  std::string text_;
};

asio::awaitable<Result<std::string>> generate(Service& service, Outlet& out, bool pings, Job job) {
  net::Responder& responder = out.exchange().responder;
  Result<std::unique_ptr<Generation>> generation =
      start(service, part_of(asker_of(service, out.exchange(), meter::UsageRecord::Kind::summary)),
            std::move(job), responder.executor());
  if (!generation.ok()) co_return std::move(generation).error();
  if (!out.resumable()) responder.on_disconnect([&running = **generation] { running.cancel(); });
  SummaryText summary(out, pings);
  RevocableStream revocable(**generation, out.key());
  const base::Status ended = co_await run_into(revocable, summary, service.options.ping_interval);
  responder.on_disconnect({});
  if (!ended.ok()) co_return ended.error();
  co_return summary.text();
}

}  // namespace

SummaryPlan plan_summary(router::ChatTextPtr model, const ChatRequest& chat, std::size_t num_turns) {
  const Turns turns = turns_of(chat.messages);
  const std::size_t begin = turns.begin();
  const auto at = [&](std::size_t i) { return chat.messages.begin() + static_cast<std::ptrdiff_t>(i); };
  SummaryPlan plan;
  plan.messages = json::array(at(begin), at(turns.start_of(num_turns)));
  for (std::size_t i = 0; i < num_turns; ++i) plan.starts.push_back(turns.starts[i] - begin);
  plan.max_tokens = max_summary_tokens(model->context_length);
  plan.model = std::move(model);
  return plan;
}

asio::awaitable<Result<std::string>> summarize(Service& service, Outlet& out, bool pings,
                                               std::shared_ptr<const SummaryPlan> plan) {
  const asio::any_io_executor executor = out.exchange().responder.executor();
  const std::vector<std::string> keys = keys_of(*plan, out.exchange().caller);
  Result<Found> found = co_await find_longest(service, executor, keys);
  if (!found.ok()) co_return std::move(found).error();
  while (found->num_turns < plan->starts.size()) {
    TextTask<Piece>::Work take = [plan, found = *found](const std::stop_token& stop) {
      return next_piece(*plan, found, stop);
    };
    Result<Piece> piece = co_await run_text_work<Piece>(service.tokenizing, out.exchange(), kAlwaysQueued,
                                                        std::move(take), out.when_left());
    if (!piece.ok()) co_return std::move(piece).error();
    Result<std::string> text = co_await generate(service, out, pings, std::move(piece->job));
    if (!text.ok()) co_return std::move(text).error();
    *found = Found{piece->num_turns, std::move(*text)};
    const store::Summary made{.key = keys[found->num_turns - 1], .text = found->text, .created_ms = now_ms()};
    StoreWork<std::monostate> put = [made](store::Store& store) { return store.summaries().put(made); };
    const base::Status kept = co_await run_on_store<std::monostate>(service, executor, std::move(put));
    // A summary that could not be stored is still used. It can be made again later.
    if (!kept.ok()) obs::Log::warn("summary_not_kept", {{"reason", kept.error().message}});
  }
  co_return std::move(found->text);
}

}  // namespace kvasir::api
