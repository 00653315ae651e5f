#include <algorithm>
#include <utility>

#include "remote/codec.h"

namespace kvasir::remote {

using base::ErrorCode;
using base::Result;

namespace {

using Logprobs = google::protobuf::RepeatedPtrField<proto::Logprob>;
using Ids = google::protobuf::RepeatedField<std::int32_t>;

void encode_tokens(const std::vector<wire::Token>& tokens, Ids& ids, Logprobs& logprobs) {
  ids.Reserve(static_cast<int>(tokens.size()));
  const bool any =
      std::ranges::any_of(tokens, [](const wire::Token& token) { return token.logprob.has_value(); });
  for (const wire::Token& token : tokens) {
    ids.Add(token.id);
    if (!any) continue;
    proto::Logprob& out = *logprobs.Add();
    if (!token.logprob) continue;
    out.set_logprob(token.logprob->logprob);
    for (const auto& [id, logprob] : token.logprob->top) {
      out.add_top_tokens(id);
      out.add_top_logprobs(logprob);
    }
  }
}

base::Error wrong_event(std::string_view what) {
  return base::error(ErrorCode::corrupt, "an event from a worker has {}", what);
}

Result<std::vector<wire::Token>> decode_tokens(const Ids& ids, const Logprobs& logprobs, int vocab_size) {
  const auto known = [vocab_size](int id) { return id >= 0 && id < vocab_size; };
  if (!std::ranges::all_of(ids, known)) return wrong_event("tokens that the model lacks");
  if (!logprobs.empty() && logprobs.size() != ids.size()) return wrong_event("logprobs of other tokens");
  std::vector<wire::Token> tokens(static_cast<std::size_t>(ids.size()));
  for (int i = 0; i < ids.size(); ++i) {
    wire::Token& token = tokens[static_cast<std::size_t>(i)];
    token.id = ids[i];
    if (logprobs.empty() || !logprobs[i].has_logprob()) continue;
    const proto::Logprob& in = logprobs[i];
    wire::TokenLogprob logprob{.logprob = in.logprob()};
    if (in.top_tokens_size() != in.top_logprobs_size() || !std::ranges::all_of(in.top_tokens(), known))
      return wrong_event("wrong alternatives of a token");
    for (int k = 0; k < in.top_tokens_size(); ++k)
      logprob.top.emplace_back(in.top_tokens(k), in.top_logprobs(k));
    token.logprob = std::move(logprob);
  }
  return tokens;
}

bool same_but_for_output(const wire::Usage& a, const wire::Usage& b) {
  return a.prompt_tokens == b.prompt_tokens && a.cached_tokens == b.cached_tokens &&
         a.num_preemptions == b.num_preemptions && a.queued_s == b.queued_s && a.prefill_s == b.prefill_s;
}

}  // namespace

void encode(const base::Error& error, proto::Error& out) {
  out.set_code(static_cast<std::uint32_t>(error.code));
  out.set_message(error.message);
  out.set_field(error.field);
  out.set_reason(error.reason);
  out.set_retry_after_s(error.retry_after_s);
}

base::Error decode(const proto::Error& in) {
  const bool known = in.code() <= static_cast<std::uint32_t>(ErrorCode::internal);
  return {known ? static_cast<ErrorCode>(in.code()) : ErrorCode::internal, in.message(), in.field(),
          in.reason(), in.retry_after_s()};
}

void encode(const wire::TokenEvent& event, wire::Usage& last, proto::Event& out) {
  encode_tokens(event.tokens, *out.mutable_tokens(), *out.mutable_logprobs());
  encode_tokens(event.prompt, *out.mutable_prompt(), *out.mutable_prompt_logprobs());
  if (event.finish) out.set_finish(*event.finish == wire::FinishReason::stop ? 1 : 2);
  if (event.error) encode(*event.error, *out.mutable_error());
  if (!same_but_for_output(event.usage, last)) {
    proto::Usage& usage = *out.mutable_usage();
    usage.set_prompt_tokens(event.usage.prompt_tokens);
    usage.set_cached_tokens(event.usage.cached_tokens);
    usage.set_num_preemptions(event.usage.num_preemptions);
    usage.set_queued_s(event.usage.queued_s);
    usage.set_prefill_s(event.usage.prefill_s);
  }
  out.set_output_tokens(event.usage.output_tokens);
  out.set_charge(event.usage.charge);
  for (const wire::PrefillChunk& chunk : event.prefill) {
    proto::PrefillChunk& to = *out.add_prefill();
    to.set_step(chunk.step);
    to.set_num_steps(chunk.num_steps);
    to.set_num_tokens(chunk.num_tokens);
    to.set_began_s(chunk.began_s);
    to.set_ended_s(chunk.ended_s);
  }
  last = event.usage;
}

Result<wire::TokenEvent> decode(const proto::Event& in, wire::Usage& last, int vocab_size) {
  wire::TokenEvent event;
  TRY(event.tokens, decode_tokens(in.tokens(), in.logprobs(), vocab_size));
  TRY(event.prompt, decode_tokens(in.prompt(), in.prompt_logprobs(), vocab_size));
  if (in.finish() > 2) return wrong_event("a finish that this gateway does not know");
  if (in.finish() > 0)
    event.finish = in.finish() == 1 ? wire::FinishReason::stop : wire::FinishReason::length;
  if (in.has_error()) event.error = decode(in.error());
  if (in.has_usage())
    last = {.prompt_tokens = in.usage().prompt_tokens(),
            .cached_tokens = in.usage().cached_tokens(),
            .num_preemptions = in.usage().num_preemptions(),
            .queued_s = in.usage().queued_s(),
            .prefill_s = in.usage().prefill_s()};
  last.output_tokens = in.output_tokens();
  last.charge = in.charge();
  event.usage = last;
  for (const proto::PrefillChunk& chunk : in.prefill())
    event.prefill.push_back({.step = chunk.step(),
                             .num_steps = chunk.num_steps(),
                             .num_tokens = chunk.num_tokens(),
                             .began_s = chunk.began_s(),
                             .ended_s = chunk.ended_s()});
  return event;
}

}  // namespace kvasir::remote
