#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "grammar/compiled_grammar.h"
#include "kv/arriving_blocks.h"
#include "kv/block_image.h"

namespace kvasir::wire {

// How the next token is drawn. The defaults are OpenAI's; `temperature == 0` is greedy.
struct SamplingParams {
  float temperature = 1.0f;
  float top_p = 1.0f;
  int top_k = 0;  // 0: all tokens
  float min_p = 0.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  float repetition_penalty = 1.0f;
  std::uint64_t seed = 0;  // always set; the API draws one if the client gives none
  std::vector<std::pair<TokenId, float>> logit_bias;
  bool logprobs = false;
  int num_top_logprobs = 0;
};

// Who sent a request, from the HTTP request to the engine's log.
struct Origin {
  std::string request_id;       // the client's x-request-id, or the id that the server gave it
  std::string tenant;           // the tenant of the caller
  int weight = 1;               // the tenant's share of the server, relative to other tenants; at least 1
  std::string cache_namespace;  // prefix blocks are shared only within one namespace
};

// Another worker that computes a prompt's KV for the answering worker.
struct PrefillElsewhere {
  std::string address;    // HOST:PORT of the other worker
  double patience_s = 0;  // after this time, the answering worker computes the missing KV itself
};

// One sequence to generate. A client request with `n` choices makes n of them.
struct GenerateRequest {
  Origin origin;
  std::vector<TokenId> prompt;  // never empty
  // Output that another worker has already produced for this request. The sequence continues after it with
  // the same tokens as on that worker; events have only the new tokens. The counts of `usage` include all of
  // them.
  std::vector<TokenId> resumed = {};
  int num_public_tokens = 0;  // number of first prompt tokens whose blocks all cache namespaces may share
  SamplingParams sampling;
  int max_tokens = 0;  // > 0; the API has already bounded it by the context window
  int min_tokens = 0;  // no end-of-sequence or stop token may come before this many
  bool ignore_eos = false;
  std::vector<TokenId> stop_tokens;                   // in addition to the model's end tokens
  std::shared_ptr<grammar::CompiledGrammar> grammar;  // grammar of the output; null: any text
  int priority = 0;                                   // a larger one goes first
  // The scheduler's targets in seconds for the first token and for each further one; 0: the model's own.
  double slo_ttft_s = 0;
  double slo_tpot_s = 0;
  // If set, the prompt's own logprobs are also returned, with this many alternatives each. Such a prompt uses
  // no cached prefix.
  std::optional<int> num_prompt_logprobs = std::nullopt;
  std::optional<PrefillElsewhere> prefill = std::nullopt;
  // Only inside a worker: the prompt's blocks that come from elsewhere. The sequence waits for them.
  std::shared_ptr<kv::ArrivingBlocks> arriving = nullptr;
  // Only inside a worker: receives the prompt's full blocks, from number `first_block` on, as soon as they
  // are computed.
  std::shared_ptr<kv::BlockOutlet> outlet = nullptr;
  int first_block = 0;
};

}  // namespace kvasir::wire
