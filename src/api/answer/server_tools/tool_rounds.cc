#include "api/answer/server_tools/tool_rounds.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "api/answer/admit/start.h"
#include "api/answer/encode/fit_context.h"
#include "api/answer/encode/prompt.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::Result;

namespace {

void add(wire::Usage& sum, const wire::Usage& more) {
  if (sum.prompt_tokens == 0) {  // this is the first round
    sum.queued_s = more.queued_s;
    sum.prefill_s = more.prefill_s;
  }
  sum.charge += more.charge;
  sum.prompt_tokens += more.prompt_tokens;
  sum.cached_tokens += more.cached_tokens;
  sum.output_tokens += more.output_tokens;
  sum.num_preemptions += more.num_preemptions;
  sum.num_moves += more.num_moves;
}

// The arguments of a call, parsed, since templates write them with `tojson`. Arguments that are not an object
// remain text.
json::value arguments_of(const ServerCall& call) {
  auto parsed = base::parse_json(call.arguments);
  return parsed.ok() && parsed->is_object() ? std::move(*parsed) : json::value(call.arguments);
}

json::object assistant_message(const ToolRound& round) {
  json::array calls;
  for (const ServerCall& call : round.calls) {
    json::object written = function_call_object(call);
    written.at("function").get_object()["arguments"] = arguments_of(call);
    calls.push_back(std::move(written));
  }
  json::object message{{"role", "assistant"}, {"content", round.text}, {"tool_calls", std::move(calls)}};
  if (!round.reasoning.empty()) message["reasoning_content"] = round.reasoning;
  return message;
}

json::object tool_message(const ServerCall& call) {
  return {{"role", "tool"}, {"tool_call_id", call.id}, {"name", call.name}, {"content", call.output}};
}

}  // namespace

ToolRounds::ToolRounds(Parts parts, std::unique_ptr<Generation> first)
    : parts_(std::move(parts)),
      generation_(std::move(first)),
      wake_(parts_.executor),
      messages_(without_turns(parts_.chat->messages,
                              static_cast<std::size_t>(parts_.context.summarized_turns),
                              parts_.context.summary)) {}

ToolRounds::~ToolRounds() {
  for (const auto& one : running_) one->rounds = nullptr;
  given_up_.request_stop();
}

void ToolRounds::cancel() {
  cancelled_ = true;
  if (generation_) generation_->cancel();
  if (encoding_) encoding_->give_up();
  given_up_.request_stop();
  wake_.cancel();
}

wire::Usage ToolRounds::usage() const {
  wire::Usage total = used_;
  if (generation_) add(total, generation_->usage());
  return total;
}

asio::awaitable<Result<std::vector<Delta>>> ToolRounds::next(base::Duration wait) {
  const base::Clock& clock = parts_.service.clock;
  const base::TimePoint deadline = clock.now() + wait;
  for (;;) {
    const base::TimePoint now = clock.now();
    std::vector<Delta> deltas = co_await step(std::max(base::Duration::zero(), deadline - now));
    if (failure_ && deltas.empty()) {
      told_failure_ = true;
      co_return *failure_;
    }
    if (!deltas.empty() || over() || clock.now() >= deadline) co_return deltas;
  }
}

asio::awaitable<std::vector<Delta>> ToolRounds::step(base::Duration wait) {
  std::vector<Delta> out;
  if (over() || failure_) co_return out;
  if (stage_ == Stage::generating) {
    Result<std::vector<Delta>> deltas = co_await generation_->next(wait);
    if (!deltas.ok()) {
      fail(std::move(deltas).error());
      co_return out;
    }
    for (Delta& delta : *deltas) take(std::move(delta), out);
    if (generation_->over() && !cancelled_) end_generation(out);
  } else if (stage_ == Stage::calling) {
    tell_ended(out);
    if (!out.empty()) co_return out;
    wake_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(wait));
    boost::system::error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (!cancelled_) tell_ended(out);
  } else {
    const bool encoded = co_await encoding_->wait(wait);
    if (encoded && !cancelled_) start_generation();
  }
  co_return out;
}

bool ToolRounds::runs_here(const std::string& name) const {
  return std::ranges::any_of(parts_.chat->tools.tools, [&](const ToolSettings::Tool& tool) {
    return tool.on_server && tool.name == name;
  });
}

// Takes the calls of this server's tools out of the delta. The client gets them when they are complete.
void ToolRounds::take(Delta delta, std::vector<Delta>& out) {
  round_.text += delta.text;
  round_.reasoning += delta.reasoning;
  std::vector<CallDelta> pieces = std::exchange(delta.calls, {});
  for (CallDelta& piece : pieces) {
    const bool first = !piece.id.empty();
    if (first && runs_here(piece.name)) {
      server_calls_[piece.index] = round_.calls.size();
      ServerCall& call = round_.calls.emplace_back();
      call.id = piece.id;
      call.name = piece.name;
    } else if (first) {
      const int index = static_cast<int>(client_calls_.size());
      client_calls_[piece.index] = index;
    }
    if (const auto here = server_calls_.find(piece.index); here != server_calls_.end()) {
      round_.calls[here->second].arguments += piece.arguments;
      continue;
    }
    piece.index = client_calls_[piece.index];
    delta.calls.push_back(std::move(piece));
  }
  if (delta.finish) {
    ending_ = {};
    ending_.finish = std::exchange(delta.finish, std::nullopt);
    ending_.has_calls = std::exchange(delta.has_calls, false);
    ending_.stop_string = std::exchange(delta.stop_string, {});
  }
  if (!delta.empty()) out.push_back(std::move(delta));
}

void ToolRounds::end_generation(std::vector<Delta>& out) {
  round_.usage = generation_->usage();
  add(used_, round_.usage);
  generation_.reset();  // others may use its permit and lease while tools run
  if (ending_.has_calls && !round_.calls.empty()) return start_calls(out);
  out.push_back(ending_);
  finished_ = true;
}

void ToolRounds::start_calls(std::vector<Delta>& out) {
  stage_ = Stage::calling;
  ++num_rounds_;
  Delta& told = out.emplace_back();
  for (ServerCall& call : round_.calls) {
    call.number = num_calls_++;
    call.round = num_rounds_;
    told.server_calls.push_back(call);
    const std::shared_ptr<Running> running = begin_call(call);
    running_.push_back(running);
    const auto done = [running, executor = parts_.executor](tool::Outcome outcome) {
      asio::post(executor, [running, outcome = std::move(outcome)]() mutable {
        if (running->rounds != nullptr) running->rounds->end_call(*running, std::move(outcome));
      });
    };
    const json::value arguments = arguments_of(call);
    if (!arguments.is_object()) {
      done(tool::Outcome(true, "The arguments are not a JSON object."));
      continue;
    }
    parts_.service.tools->start({call.name, arguments.get_object(), spans().headers(running->span)},
                                given_up_.get_token(), done);
  }
}

std::shared_ptr<ToolRounds::Running> ToolRounds::begin_call(const ServerCall& call) {
  const obs::Trace::Index span = spans().begin("execute_tool " + call.name);
  spans().set_kind(span, obs::SpanKind::client);
  spans().note(span, "gen_ai.operation.name", "execute_tool");
  spans().note(span, "gen_ai.tool.name", call.name);
  spans().note(span, "gen_ai.tool.call.id", call.id);
  spans().note(span, "kvasir.round", call.round);
  return std::make_shared<Running>(
      Running{.rounds = this, .call = call, .started = parts_.service.clock.now(), .span = span});
}

void ToolRounds::end_call(Running& running, tool::Outcome outcome) {
  running.call.status = outcome.failed ? ServerCall::Status::failed : ServerCall::Status::completed;
  running.call.output = std::move(outcome.text);
  const base::Duration took = parts_.service.clock.now() - running.started;
  running.call.duration_ms = base::seconds(took) * 1000;
  if (outcome.failed) spans().fail(running.span, "tool_failed");
  spans().end(running.span);
  wake_.cancel();
}

void ToolRounds::tell_ended(std::vector<Delta>& out) {
  Delta told;
  for (const auto& one : running_) {
    if (!one->call.ended() || one->told) continue;
    one->told = true;
    told.server_calls.push_back(one->call);
  }
  if (told.server_calls.empty()) return;
  out.push_back(std::move(told));
  if (std::ranges::all_of(running_, [](const auto& one) { return one->told; })) end_calls(out);
}

void ToolRounds::end_calls(std::vector<Delta>& out) {
  for (std::size_t i = 0; i < running_.size(); ++i) round_.calls[i] = running_[i]->call;
  running_.clear();
  out.emplace_back().round = std::make_shared<const ToolRound>(round_);
  const auto& max_tokens = parts_.chat->params.max_tokens;
  const bool spent = max_tokens && used_.output_tokens >= *max_tokens;
  if (!client_calls_.empty() || spent) {
    if (client_calls_.empty()) ending_.finish = wire::FinishReason::length;
    ending_.has_calls = !client_calls_.empty();
    out.push_back(ending_);
    finished_ = true;
    return;
  }
  add_messages();
  begin_encoding();
}

void ToolRounds::add_messages() {
  if (num_rounds_ == 1) round_.text.insert(0, parts_.chat->prefill);
  messages_.push_back(assistant_message(round_));
  for (const ServerCall& call : round_.calls) messages_.push_back(tool_message(call));
  shortened_ = false;
}

// Replaces the results of the round, which are the last messages.
void ToolRounds::say_results_are_too_long() {
  shortened_ = true;
  std::size_t at = messages_.size() - round_.calls.size();
  for (const ServerCall& call : round_.calls)
    messages_[at++].get_object()["content"] =
        fmt::format("The result of {} bytes is too long for the model's context.", call.output.size());
}

void ToolRounds::begin_encoding() {
  stage_ = Stage::encoding;
  ChatRequest request = *parts_.chat;
  request.messages = messages_;
  request.prefill.clear();
  request.params.min_tokens = 0;
  request.params.num_prompt_logprobs.reset();  // the client already has the logprobs of its own prompt
  if (request.params.max_tokens) *request.params.max_tokens -= used_.output_tokens;
  // The required call has been made, so the model may choose in later rounds.
  request.tools.named.clear();
  request.tools.choice = num_rounds_ < parts_.service.options.max_tool_rounds
                             ? ToolSettings::Choice::automatic
                             : ToolSettings::Choice::none;
  if (request.context_policy == ContextPolicy::summarize)
    request.context_policy = ContextPolicy::sliding_window;
  base::Status begun = encode_next(std::move(request));
  if (!begun.ok()) fail(std::move(begun).error());
}

base::Status ToolRounds::encode_next(ChatRequest request) {
  Service& service = parts_.service;
  TRY(router::ChatTextPtr model,
      service.router.chat_text(request.params.model, reach_of(parts_.asker.caller)));
  encoding_span_ = spans().begin("tokenize");
  auto text = std::make_shared<const QuestionText>(std::move(request));
  TRY(GenerateParams params, fit_params(*model, *text));
  TextQueue& queue = has_to_compile(*model, params) ? service.compiling : service.tokenizing;
  TextTask<Encoded>::Work work = [model, text, params](const std::stop_token& stop) {
    return encode(model, *text, params, stop);
  };
  encoding_ = std::make_unique<TextTask<Encoded>>(queue, turn_of(parts_.asker.caller, kSmallBody),
                                                  parts_.executor, std::move(work));
  return base::ok();
}

void ToolRounds::start_generation() {
  Result<Encoded> encoded = encoding_->take();
  encoding_.reset();
  spans().end(encoding_span_);
  if (!encoded.ok()) {
    const bool too_long = encoded.error().reason == "context_length_exceeded";
    if (!too_long || shortened_) return fail(std::move(encoded).error());
    say_results_are_too_long();
    return begin_encoding();
  }
  Job job = std::get<Job>(std::move(*encoded));  // the policy is never `summarize` here
  Result<std::unique_ptr<Generation>> generation =
      start(parts_.service, parts_.asker, std::move(job), parts_.executor);
  if (!generation.ok()) return fail(std::move(generation).error());
  generation_ = std::move(*generation);
  round_ = {};
  ending_ = {};
  server_calls_.clear();
  client_calls_.clear();
  stage_ = Stage::generating;
}

}  // namespace kvasir::api
