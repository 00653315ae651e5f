#include "api/chat_job.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/fit_context.h"
#include "api/prepare.h"
#include "api/respond.h"
#include "api/server_tools.h"
#include "api/summarize.h"
#include "api/tools.h"
#include "text/tool_syntax.h"

namespace kvasir::api {

using base::Result;
using Preamble = grammar::GrammarSource::Preamble;
using Reasoning = text::AnswerSyntax::Reasoning;

namespace {

// What the model's own way of calling tools and of reasoning makes of the request's format.
base::Status fit_to_model(const router::ServedModel& model, ChatRequest& request) {
  const std::string& source = model.tokenizer->chat_template();
  GenerateParams& params = request.params;
  if (const auto& stops = model.chat_template->stops(); !params.ignore_eos)
    params.stop.insert(params.stop.end(), stops.begin(), stops.end());
  TRY(params.format,
      format_with_tools(request.tools, std::move(params.format), text::tool_syntax_of(source)));
  if (params.format && text::template_has_reasoning(source))
    params.format->source.preamble = Preamble::reasoning;
  return base::ok();
}

// The job of an encoded chat; `request` lends what else it needs.
Result<Job> finish_job(router::Lease lease, const ChatRequest& request, EncodedChat chat) {
  const router::ServedModel& model = lease.model();
  GenerateParams params = request.params;
  Reasoning reasoning = Reasoning::none;
  if (text::template_has_reasoning(model.tokenizer->chat_template()))
    reasoning = chat.opens_reasoning ? Reasoning::open : Reasoning::tagged;
  std::optional<OutputFormat>& format = params.format;
  if (format && reasoning == Reasoning::open) format->source.preamble = Preamble::open_reasoning;
  AnswerReading reading = answer_reading(request.tools, format, model, reasoning);
  TRY(Job job, make_job(std::move(lease), params, {std::move(chat.tokens)}, request.messages_field));
  job.reading = std::move(reading);
  job.context.policy = request.context_policy;
  job.context.asked = request.chose_policy;
  return job;
}

// How the oldest turns are to become a summary; the chat goes on behind it.
std::shared_ptr<const SummaryPlan> plan_summary(const std::shared_ptr<const ChatRequest>& request,
                                                std::size_t num_turns, int context_length) {
  auto plan = std::make_shared<SummaryPlan>();
  const Turns turns = turns_of(request->messages);
  const std::size_t begin = turns.begin();
  const std::size_t end = turns.start_of(num_turns);
  const auto at = [&](std::size_t i) { return request->messages.begin() + static_cast<std::ptrdiff_t>(i); };
  plan->model = request->params.model;
  plan->messages = json::array(at(begin), at(end));
  for (std::size_t i = 0; i < num_turns; ++i) plan->starts.push_back(turns.starts[i] - begin);
  plan->max_tokens = max_summary_tokens(context_length);
  plan->resume = [request, num_turns, num_messages = static_cast<int>(end - begin)](
                     router::Lease lease, const std::string& summary,
                     const std::stop_token& stop) -> Result<Job> {
    ChatRequest shorter = *request;
    shorter.messages = without_turns(request->messages, num_turns, summary);
    TRY(EncodedChat chat, encode_chat(lease.model(), shorter, stop));
    TRY(Job job, finish_job(std::move(lease), shorter, std::move(chat)));
    job.context.summarized_messages = num_messages;
    job.context.summarized_turns = static_cast<int>(num_turns);
    job.context.summary = summary;
    return job;
  };
  return plan;
}

Result<Job> make_chat_job(const std::shared_ptr<router::Lease>& lease,
                          const std::shared_ptr<const ChatRequest>& request, const std::stop_token& stop) {
  TRY(FittedChat fitted, fit_chat(lease->model(), *request, stop));
  if (fitted.num_left_out > 0 && request->context_policy == ContextPolicy::summarize) {
    auto plan = plan_summary(request, fitted.num_left_out, lease->model().context_length);
    return Job{.lease = std::move(*lease), .unsummarized = std::move(plan)};
  }
  const Turns turns = turns_of(request->messages);
  TRY(Job job, finish_job(std::move(*lease), *request, std::move(fitted.encoded)));
  job.context.dropped_turns = static_cast<int>(fitted.num_left_out);
  job.context.dropped_messages = static_cast<int>(turns.start_of(fitted.num_left_out) - turns.begin());
  return job;
}

}  // namespace

Result<ReadRequest> read_chat(Service& service, ChatRequest request, MakeShape make_shape,
                              CompleteChat complete) {
  if (request.tools.server_tools.empty())
    return read_whole_chat(service, std::move(request), std::move(make_shape), std::move(complete));
  TRY_OK(add_server_tools(service.tools, request.tools));
  if (request.params.n != 1)
    return in_field("n", wrong_value("an answer with \"server_tools\" is one; expected 1"));
  auto chat = std::make_shared<ChatRequest>(request);
  if (complete)
    complete = [chat, first = std::move(complete)](ChatRequest& whole) -> base::Status {
      TRY_OK(first(whole));
      chat->messages = whole.messages;  // later rounds go on from them
      return base::ok();
    };
  TRY(ReadRequest read,
      read_whole_chat(service, std::move(request), std::move(make_shape), std::move(complete)));
  read.tool_chat = std::move(chat);
  return read;
}

Result<ReadRequest> read_whole_chat(Service& service, ChatRequest request, MakeShape make_shape,
                                    CompleteChat complete) {
  TRY(router::Lease picked, service.router.pick(request.params.model));
  TRY_OK(fit_to_model(picked.model(), request));
  const bool compiles = has_to_compile(picked.model(), request.params);
  GenerateParams params = request.params;
  auto shared = std::make_shared<ChatRequest>(std::move(request));
  auto lease = std::make_shared<router::Lease>(std::move(picked));
  auto encode = [shared, lease, complete](const std::stop_token& stop) -> Result<Job> {
    if (complete) TRY_OK(complete(*shared));
    return make_chat_job(lease, shared, stop);
  };
  ReadRequest read{std::move(params), std::move(make_shape), std::move(encode)};
  read.takes_long = compiles || complete;
  return read;
}

}  // namespace kvasir::api
