#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/loaded_encoder.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::verify {

// How an encoder's vectors compare with a reference's.
struct EmbedCheck {
  struct Text {
    std::string label;
    int num_tokens = 0;
    bool ids_equal = true;
    double distance = 0;  // 1 - cosine
  };
  std::vector<Text> texts;

  static constexpr double kMaxDistance = 1e-3;
  double largest_distance() const;
  bool passed() const;
};

// The golden is a list of `text`, its `ids` and its `embedding`. Texts are cut to the length of the longest
// list of ids, as the reference did.
base::Result<EmbedCheck> check_embeddings(const std::filesystem::path& golden, model::LoadedEncoder& model);

// `directory` holds a checkpoint without a tokenizer, and expected.json: a list of `input_ids` and
// `mean_pooled_normalized`. Runs in exact float32.
base::Result<EmbedCheck> check_encoder(const std::filesystem::path& directory, ops::ComputePool& pool);
// As above, with the checkpoint and the file of expected results given separately.
base::Result<EmbedCheck> check_encoder(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& expected, ops::ComputePool& pool);

}  // namespace kvasir::verify
