#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/model_facts.h"
#include "wire/sampling_advice.h"

namespace kvasir::remote {

struct TextFile {
  std::string name;  // without folders
  std::string bytes;
  bool operator==(const TextFile&) const = default;
};

// The data of a model that turns text into tokens, for a gateway without the model's weights.
struct TextAssets {
  std::vector<TextFile> files;  // a GGUF without tensors, or the model folder's files except its weights
  int context_length = 0;
  int vocab_size = 0;  // of the weights, so it may be padded
  std::int64_t num_parameters = 0;
  std::string fingerprint;
  wire::SamplingAdvice sampling;
  wire::ModelFacts facts;
  bool operator==(const TextAssets&) const = default;
};

// The SHA-256, in hex, of what decides the tokens: the files and the vocabulary's size.
std::string digest_of(const TextAssets& assets);

}  // namespace kvasir::remote
