#include <algorithm>

#include "kv/block.h"
#include "remote/codec.h"

namespace kvasir::remote {

using base::ErrorCode;
using base::Result;

namespace {

constexpr double kMostPatienceS = 600;

void encode_sampling(const wire::SamplingParams& sampling, proto::Sampling& out) {
  out.set_temperature(sampling.temperature);
  out.set_top_p(sampling.top_p);
  out.set_top_k(sampling.top_k);
  out.set_min_p(sampling.min_p);
  out.set_presence_penalty(sampling.presence_penalty);
  out.set_frequency_penalty(sampling.frequency_penalty);
  out.set_repetition_penalty(sampling.repetition_penalty);
  out.set_seed(sampling.seed);
  for (const auto& [token, bias] : sampling.logit_bias) {
    out.add_bias_tokens(token);
    out.add_biases(bias);
  }
  out.set_logprobs(sampling.logprobs);
  out.set_num_top_logprobs(sampling.num_top_logprobs);
}

wire::SamplingParams decode_sampling(const proto::Sampling& in) {
  wire::SamplingParams sampling{.temperature = in.temperature(),
                                .top_p = in.top_p(),
                                .top_k = in.top_k(),
                                .min_p = in.min_p(),
                                .presence_penalty = in.presence_penalty(),
                                .frequency_penalty = in.frequency_penalty(),
                                .repetition_penalty = in.repetition_penalty(),
                                .seed = in.seed(),
                                .logprobs = in.logprobs(),
                                .num_top_logprobs = in.num_top_logprobs()};
  const int count = std::min(in.bias_tokens_size(), in.biases_size());
  for (int i = 0; i < count; ++i) sampling.logit_bias.emplace_back(in.bias_tokens(i), in.biases(i));
  return sampling;
}

base::Error wrong(std::string_view what) {
  return base::error(ErrorCode::corrupt, "a request from another role has {}", what);
}

// Checks what the engine takes for granted, since the API checks it for local requests.
base::Status check(const proto::Generate& in, int vocab_size) {
  const auto known = [vocab_size](int id) { return id >= 0 && id < vocab_size; };
  const proto::Sampling& sampling = in.sampling();
  if (in.prompt().empty() || !std::ranges::all_of(in.prompt(), known))
    return wrong("no prompt, or tokens that the model lacks");
  if (!std::ranges::all_of(in.resumed(), known)) return wrong("resumed tokens that the model lacks");
  if (!std::ranges::all_of(sampling.bias_tokens(), known) ||
      sampling.bias_tokens_size() != sampling.biases_size())
    return wrong("a bias for tokens that the model lacks");
  if (!std::ranges::all_of(in.stop_tokens(), [](int id) { return id >= 0; }))
    return wrong("negative stop tokens");
  if (in.num_public_tokens() < 0 || in.num_public_tokens() > in.prompt_size())
    return wrong("a wrong number of public tokens");
  if (in.max_tokens() <= 0 || in.min_tokens() < 0) return wrong("a wrong number of tokens to generate");
  if (in.origin().weight() < 1) return wrong("a tenant without weight");
  if (sampling.num_top_logprobs() < 0 || sampling.num_top_logprobs() > vocab_size ||
      in.num_prompt_logprobs() < 0 || in.num_prompt_logprobs() > vocab_size)
    return wrong("a wrong number of logprobs");
  return base::ok();
}

}  // namespace

void encode(const wire::Origin& origin, proto::Origin& out) {
  out.set_request_id(origin.request_id);
  out.set_tenant(origin.tenant);
  out.set_weight(origin.weight);
  out.set_cache_namespace(origin.cache_namespace);
}

wire::Origin decode(const proto::Origin& in) {
  return {.request_id = in.request_id(),
          .tenant = in.tenant(),
          .weight = in.weight(),
          .cache_namespace = in.cache_namespace()};
}

void encode(const wire::GenerateRequest& request, int end_block, proto::PrefillRequest& out) {
  encode(request.origin, *out.mutable_origin());
  out.mutable_prompt()->Add(request.prompt.begin(), request.prompt.begin() + end_block * kv::kBlockTokens);
  out.set_num_public_tokens(std::min(request.num_public_tokens, out.prompt_size()));
  out.set_priority(request.priority);
  out.set_slo_ttft_s(request.slo_ttft_s);
}

Result<wire::GenerateRequest> decode(const proto::PrefillRequest& in, int vocab_size) {
  const auto known = [vocab_size](int id) { return id >= 0 && id < vocab_size; };
  if (in.prompt().empty() || in.prompt_size() % kv::kBlockTokens != 0 ||
      !std::ranges::all_of(in.prompt(), known))
    return wrong("no whole blocks, or tokens that the model lacks");
  if (in.num_public_tokens() < 0 || in.num_public_tokens() > in.prompt_size())
    return wrong("a wrong number of public tokens");
  if (in.first_block() < 0 || in.first_block() >= in.prompt_size() / kv::kBlockTokens)
    return wrong("no blocks that are wanted");
  if (in.origin().weight() < 1) return wrong("a tenant without weight");
  wire::GenerateRequest request;
  request.origin = decode(in.origin());
  request.prompt.assign(in.prompt().begin(), in.prompt().end());
  request.num_public_tokens = in.num_public_tokens();
  request.sampling.temperature = 0;
  request.max_tokens = 1;
  request.ignore_eos = true;
  request.priority = in.priority();
  request.slo_ttft_s = in.slo_ttft_s();
  request.first_block = in.first_block();
  return request;
}

void encode(const wire::GenerateRequest& request, proto::Generate& out) {
  encode(request.origin, *out.mutable_origin());
  out.mutable_prompt()->Add(request.prompt.begin(), request.prompt.end());
  out.mutable_resumed()->Add(request.resumed.begin(), request.resumed.end());
  out.set_num_public_tokens(request.num_public_tokens);
  encode_sampling(request.sampling, *out.mutable_sampling());
  out.set_max_tokens(request.max_tokens);
  out.set_min_tokens(request.min_tokens);
  out.set_ignore_eos(request.ignore_eos);
  out.mutable_stop_tokens()->Add(request.stop_tokens.begin(), request.stop_tokens.end());
  out.set_priority(request.priority);
  out.set_slo_ttft_s(request.slo_ttft_s);
  out.set_slo_tpot_s(request.slo_tpot_s);
  if (request.prefill) {
    out.set_prefill_at(request.prefill->address);
    out.set_prefill_patience_s(request.prefill->patience_s);
  }
  if (request.num_prompt_logprobs) out.set_num_prompt_logprobs(*request.num_prompt_logprobs);
}

Result<wire::GenerateRequest> decode(const proto::Generate& in, int vocab_size) {
  TRY_OK(check(in, vocab_size));
  wire::GenerateRequest request;
  request.origin = decode(in.origin());
  request.prompt.assign(in.prompt().begin(), in.prompt().end());
  request.resumed.assign(in.resumed().begin(), in.resumed().end());
  request.num_public_tokens = in.num_public_tokens();
  request.sampling = decode_sampling(in.sampling());
  request.max_tokens = in.max_tokens();
  request.min_tokens = in.min_tokens();
  request.ignore_eos = in.ignore_eos();
  request.stop_tokens.assign(in.stop_tokens().begin(), in.stop_tokens().end());
  request.priority = in.priority();
  request.slo_ttft_s = in.slo_ttft_s();
  request.slo_tpot_s = in.slo_tpot_s();
  if (!in.prefill_at().empty())
    request.prefill = {in.prefill_at(), std::min(std::max(0.0, in.prefill_patience_s()), kMostPatienceS)};
  if (in.has_num_prompt_logprobs()) request.num_prompt_logprobs = in.num_prompt_logprobs();
  return request;
}

void encode(const grammar::GrammarSource& source, proto::Grammar& out) {
  out.set_kind(static_cast<std::uint32_t>(source.kind));
  out.set_text(source.text);
  out.set_max_whitespace(source.json.max_whitespace);
  out.set_preamble(static_cast<std::uint32_t>(source.preamble));
}

Result<grammar::GrammarSource> decode(const proto::Grammar& in) {
  using Source = grammar::GrammarSource;
  if (in.kind() > static_cast<std::uint32_t>(Source::Kind::tool_calls) ||
      in.preamble() > static_cast<std::uint32_t>(Source::Preamble::open_reasoning))
    return wrong("a kind of grammar that this worker does not know");
  return Source{.kind = static_cast<Source::Kind>(in.kind()),
                .text = in.text(),
                .json = {.max_whitespace = in.max_whitespace()},
                .preamble = static_cast<Source::Preamble>(in.preamble())};
}

}  // namespace kvasir::remote
