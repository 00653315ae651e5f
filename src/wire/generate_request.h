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
  int top_k = 0;  // 0: all
  float min_p = 0.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  float repetition_penalty = 1.0f;
  std::uint64_t seed = 0;  // always set; the API draws one where the client gave none
  std::vector<std::pair<TokenId, float>> logit_bias;
  bool logprobs = false;
  int num_top_logprobs = 0;
};

// Who sent a request, from the HTTP request to the engine's log.
struct Origin {
  std::string request_id;       // the client's x-request-id, or the one that the client was told
  std::string tenant;           // who asks
  int weight = 1;               // the tenant's share of the server relative to others', at least 1
  std::string cache_namespace;  // prefix blocks are shared only inside one
};

// Another worker computes a prompt's KV for the one that answers.
struct PrefillElsewhere {
  std::string address;    // HOST:PORT of the other worker
  double patience_s = 0;  // after so long the answering worker computes what has not come
};

// One sequence to generate. `n` choices of one client request are n of these.
struct GenerateRequest {
  Origin origin;
  std::vector<TokenId> prompt;  // never empty
  // Output that another worker has produced for this request. The sequence goes on after it with the tokens
  // that it would have had there; events have only new tokens. The counts of `usage` include these.
  std::vector<TokenId> resumed = {};
  int num_public_tokens = 0;  // the prompt's first tokens, whose blocks every cache namespace may share
  SamplingParams sampling;
  int max_tokens = 0;  // > 0; the API has already bounded it by the context window
  int min_tokens = 0;  // no end-of-sequence or stop token before this many
  bool ignore_eos = false;
  std::vector<TokenId> stop_tokens;                   // the model's end tokens are added by the worker
  std::shared_ptr<grammar::CompiledGrammar> grammar;  // describes the output; null: any text
  int priority = 0;                                   // larger goes first
  // Seconds to the first token, and for each further one, that the scheduler aims at; 0: the model's own.
  double slo_ttft_s = 0;
  double slo_tpot_s = 0;
  // If set, the prompt's own logprobs are given too, with so many alternatives each. Such a prompt uses no
  // cached prefix.
  std::optional<int> num_prompt_logprobs = std::nullopt;
  std::optional<PrefillElsewhere> prefill = std::nullopt;
  // Inside of a worker: the prompt's blocks that come from elsewhere, for which the sequence waits.
  std::shared_ptr<kv::ArrivingBlocks> arriving = nullptr;
  // Inside of a worker: who gets the prompt's full blocks from number `first_block` on, as soon as they are
  // computed.
  std::shared_ptr<kv::BlockOutlet> outlet = nullptr;
  int first_block = 0;
};

}  // namespace kvasir::wire
