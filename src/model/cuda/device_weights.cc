#include "model/cuda/device_weights.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include "base/check.h"
#include "ops/cuda/int4.h"
#include "ops/cuda/mixture.h"
#include "ops/quant/dequantize.h"
#include "tensor/buffer.h"

namespace kvasir::model {

namespace {

using ops::cuda::DeviceBuffer;
using ops::cuda::NormWeights;
using tensor::DType;

constexpr std::int64_t kStageBytes = std::int64_t{64} << 20;

void convert(DType type, std::span<const float> values, std::byte* to) {
  if (type == DType::f32) {
    std::memcpy(to, values.data(), values.size_bytes());
    return;
  }
  for (const float value : values) {
    const std::uint16_t bits = ops::f32_to_bf16(value);
    std::memcpy(to, &bits, sizeof bits);
    to += sizeof bits;
  }
}

// Converts bf16 matrices that are already on the device to e4m3.
base::Status quantize(ops::cuda::StreamHandle stream, const DeviceBuffer& from, DeviceWeights& result,
                      DeviceLinear& linear) {
  TRY(DeviceBuffer numbers, DeviceBuffer::allocate(static_cast<std::size_t>(linear.out * linear.in)));
  TRY(DeviceBuffer scales, DeviceBuffer::allocate(static_cast<std::size_t>(linear.out) * sizeof(float)));
  ops::cuda::quantize_rows(stream, {.rows = linear.out,
                                    .dim = static_cast<int>(linear.in),
                                    .x = from.data(),
                                    .y = numbers.data(),
                                    .y_scales = scales.as<float>()});
  linear.w = numbers.data();
  linear.scales = scales.as<const float>();
  result.buffers.push_back(std::move(numbers));
  result.buffers.push_back(std::move(scales));
  return base::ok();
}

struct Int4Place {
  std::byte* nibbles = nullptr;
  std::byte* groups = nullptr;
};

// Allocates a four-bit matrix and makes it the matrix of `linear`.
base::Result<Int4Place> place_int4(DeviceWeights& result, DeviceLinear& linear) {
  const std::int64_t numbers = linear.out * linear.in;
  TRY(DeviceBuffer nibbles, DeviceBuffer::allocate(static_cast<std::size_t>(ops::cuda::int4_bytes(numbers))));
  TRY(DeviceBuffer groups,
      DeviceBuffer::allocate(static_cast<std::size_t>(ops::cuda::int4_group_bytes(numbers))));
  const Int4Place place{nibbles.data(), groups.data()};
  linear.w = nibbles.data();
  linear.groups = groups.data();
  result.buffers.push_back(std::move(nibbles));
  result.buffers.push_back(std::move(groups));
  return place;
}

// Lists the experts' matrices for the device. Experts have no biases.
base::Status list_experts(ops::cuda::StreamHandle stream, DeviceWeights& result, DeviceLayer& layer) {
  std::vector<const void*> addresses;
  for (const DeviceMlp& expert : layer.experts) addresses.push_back(expert.up.w);
  for (const DeviceMlp& expert : layer.experts) addresses.push_back(expert.down.w);
  const std::size_t bias_bytes = layer.selection_bias.size() * sizeof(float);
  TRY(DeviceBuffer list, DeviceBuffer::allocate(addresses.size() * sizeof(void*) + bias_bytes));
  std::byte* bias = list.data() + addresses.size() * sizeof(void*);
  ops::cuda::copy_to_device(stream, list.data(), addresses.data(), addresses.size() * sizeof(void*));
  ops::cuda::copy_to_device(stream, bias, layer.selection_bias.data(), bias_bytes);
  ops::cuda::wait_for(stream);
  layer.expert_ups = list.as<const void* const>();
  layer.expert_downs = layer.expert_ups + layer.experts.size();
  if (bias_bytes > 0) layer.device_selection_bias = reinterpret_cast<const float*>(bias);
  result.buffers.push_back(std::move(list));
  return base::ok();
}

class Uploader {
 public:
  Uploader(const ModelConfig& config, const DeviceOptions& options, ops::ComputePool& pool,
           DeviceWeights& result)
      : config_(config), options_(options), type_(options.type), pool_(pool), result_(result) {}

  base::Status upload(const DecoderWeights& weights) {
    TRY(stage_, ops::cuda::PinnedBuffer::allocate(kStageBytes));
    const bool own_output = !config_.tied_embeddings;
    TRY(result_.embedding, table(weights.embedding));
    if (weights.positions.data != nullptr) {
      TRY(result_.positions, table(weights.positions));
    }
    for (const LayerWeights& from : weights.layers) {
      DeviceLayer& to = result_.layers.emplace_back();
      TRY_OK(add_attention(from.attention, to));
      TRY_OK(add_feed_forward(from.feed_forward, to));
    }
    TRY(result_.output_norm, norm(weights.output_norm));
    result_.output = {.w = result_.embedding, .out = config_.vocab_size, .in = config_.hidden_size};
    if (own_output) {
      TRY(result_.output.w, matrix(weights.output));
    }
    return base::ok();
  }

 private:
  base::Result<std::byte*> allocate(std::int64_t bytes) {
    TRY(DeviceBuffer buffer, DeviceBuffer::allocate(static_cast<std::size_t>(bytes)));
    return result_.buffers.emplace_back(std::move(buffer)).data();
  }

  std::int64_t size_of(std::int64_t elems) const { return tensor::bytes_of(type_, elems); }

  // Converts `count` rows of `cols` numbers and writes them to `to` on the device. row(i, numbers) fills in
  // row i.
  template <class Row>
  void send(std::int64_t count, std::int64_t cols, std::byte* to, const Row& row) {
    const std::int64_t row_bytes = size_of(cols);
    const std::int64_t at_once = std::max<std::int64_t>(1, kStageBytes / row_bytes);
    CHECK(row_bytes <= kStageBytes, "a row of {} bytes", row_bytes);
    for (std::int64_t first = 0; first < count; first += at_once) {
      const std::int64_t num = std::min(at_once, count - first);
      pool_.run(static_cast<int>(num), [&](int i, int /*thread*/) {
        thread_local std::vector<float> numbers;
        numbers.resize(static_cast<std::size_t>(cols));
        row(first + i, std::span(numbers));
        convert(type_, numbers, stage_.data() + i * row_bytes);
      });
      ops::cuda::copy_to_device(stream_.handle(), to + first * row_bytes, stage_.data(),
                                static_cast<std::size_t>(num * row_bytes));
      stream_.wait();
    }
  }

  base::Result<const void*> table(const tensor::TensorView& view) {
    const std::int64_t cols = view.cols();
    TRY(std::byte * to, allocate(size_of(view.rows() * cols)));
    send(view.rows(), cols, to, [&](std::int64_t r, std::span<float> numbers) {
      ops::dequantize(view.type, view.data + r * tensor::bytes_of(view.type, cols), numbers);
    });
    return static_cast<const void*>(to);
  }

  void send_weight(const ops::Weight& weight, std::span<const std::int32_t> order, std::byte* to) {
    CHECK(weight.borrows(), "a repacked weight");
    send(weight.rows(), weight.cols(), to, [&](std::int64_t r, std::span<float> numbers) {
      ops::dequantize(weight.type(), weight.row(r), numbers);
      if (order.empty()) return;
      thread_local std::vector<float> stored;
      stored.assign(numbers.begin(), numbers.end());
      for (std::size_t c = 0; c < order.size(); ++c) numbers[static_cast<std::size_t>(order[c])] = stored[c];
    });
  }

  base::Result<const void*> matrix(const ops::Weight& weight) {
    TRY(std::byte * to, allocate(size_of(weight.rows() * weight.cols())));
    send_weight(weight, {}, to);
    return static_cast<const void*>(to);
  }

  // Stacks the rows of the parts. A part that the model does not have is empty.
  base::Result<DeviceLinear> linear(std::initializer_list<const Linear*> parts) {
    DeviceLinear result;
    std::vector<float> bias;
    bool biased = false;
    for (const Linear* part : parts) {
      if (part->weight.rows() == 0) continue;
      result.out += part->weight.rows();
      result.in = part->weight.cols();
      biased = biased || !part->bias.empty();
      bias.insert(bias.end(), part->bias.begin(), part->bias.end());
      bias.resize(static_cast<std::size_t>(result.out));
    }
    if (result.out == 0) return result;
    if (result.in % 8 != 0)
      return base::error(base::ErrorCode::unsupported, "a matrix of {} columns, on a GPU", result.in);
    if (can_be_int4(parts)) {
      TRY_OK(send_int4(parts, result));
    } else {
      TRY_OK(send_floats(parts, result));
    }
    if (biased) {
      TRY(std::byte * vector, allocate(size_of(result.out)));
      send(1, result.out, vector, [&](std::int64_t, std::span<float> numbers) {
        std::copy(bias.begin(), bias.end(), numbers.begin());
      });
      result.bias = vector;
    }
    return result;
  }

  using Parts = std::initializer_list<const Linear*>;

  bool can_be_int4(Parts parts) const {
    return options_.weights == WeightNumbers::int4 && std::ranges::all_of(parts, [](const Linear* part) {
             return part->weight.rows() == 0 ||
                    (part->input_order.empty() && part->weight.cols() % ops::cuda::kInt4Block == 0 &&
                     ops::cuda::can_be_int4(part->weight.type()));
           });
  }

  base::Status send_int4(Parts parts, DeviceLinear& result) {
    TRY(Int4Place to, place_int4(result_, result));
    const std::int64_t nibbles = ops::cuda::int4_bytes(result.in);
    const std::int64_t groups = ops::cuda::int4_group_bytes(result.in);
    const std::int64_t at_once = kStageBytes / (nibbles + groups);
    CHECK(at_once > 0, "a row of {} numbers", result.in);
    std::byte* staged_groups = stage_.data() + at_once * nibbles;
    for (const Linear* part : parts) {
      for (std::int64_t first = 0; first < part->weight.rows(); first += at_once) {
        const std::int64_t num = std::min(at_once, part->weight.rows() - first);
        pool_.run(static_cast<int>(num), [&](int i, int /*thread*/) {
          ops::cuda::pack_int4(part->weight.type(), part->weight.row(first + i), result.in,
                               stage_.data() + i * nibbles, staged_groups + i * groups);
        });
        const auto send_part = [&](std::byte*& where, const std::byte* from, std::int64_t bytes) {
          ops::cuda::copy_to_device(stream_.handle(), where, from, static_cast<std::size_t>(bytes));
          where += bytes;
        };
        send_part(to.nibbles, stage_.data(), num * nibbles);
        send_part(to.groups, staged_groups, num * groups);
        stream_.wait();
      }
    }
    return base::ok();
  }

  base::Status send_floats(Parts parts, DeviceLinear& result) {
    TRY(DeviceBuffer whole,
        DeviceBuffer::allocate(static_cast<std::size_t>(size_of(result.out * result.in))));
    std::byte* to = whole.data();
    result.w = to;
    for (const Linear* part : parts) {
      if (part->weight.rows() == 0) continue;
      send_weight(part->weight, part->input_order, to);
      to += size_of(part->weight.rows() * part->weight.cols());
    }
    if (options_.weights == WeightNumbers::fp8) {
      TRY_OK(quantize(stream_.handle(), whole, result_, result));
      stream_.wait();
    } else {
      result_.buffers.push_back(std::move(whole));
    }
    return base::ok();
  }

  base::Result<const float*> floats(std::span<const float> values) {
    if (values.empty()) return static_cast<const float*>(nullptr);
    TRY(std::byte * to, allocate(static_cast<std::int64_t>(values.size_bytes())));
    ops::cuda::copy_to_device(stream_.handle(), to, values.data(), values.size_bytes());
    stream_.wait();
    return reinterpret_cast<const float*>(to);
  }

  base::Result<NormWeights> norm(const Norm& from) {
    NormWeights result;
    TRY(result.weight, floats(from.weight));
    TRY(result.bias, floats(from.bias));
    return result;
  }

  base::Status add_attention(const AttentionWeights& from, DeviceLayer& to) {
    TRY(to.attention_norm, norm(from.norm));
    TRY(to.attention_post_norm, norm(from.post_norm));
    TRY(to.q_norm, norm(from.q_norm));
    TRY(to.k_norm, norm(from.k_norm));
    TRY(to.qkv, linear({&from.q, &from.k, &from.v}));
    TRY(to.out, linear({&from.out}));
    TRY(to.q_down, linear({&from.latent.q_down}));
    TRY(to.kv_down, linear({&from.latent.kv_down}));
    TRY(to.q_down_norm, norm(from.latent.q_down_norm));
    TRY(to.kv_down_norm, norm(from.latent.kv_down_norm));
    if (config_.is_latent()) {
      TRY(to.k_up, table(from.latent.k_up));
      TRY(to.v_up, table(from.latent.v_up));
    }
    return base::ok();
  }

  base::Result<DeviceMlp> mlp(const MlpWeights& from) {
    DeviceMlp result;
    TRY(result.up, linear({&from.gate, &from.up}));
    TRY(result.down, linear({&from.down}));
    return result;
  }

  base::Status add_feed_forward(const FeedForwardWeights& from, DeviceLayer& to) {
    TRY(to.mlp_norm, norm(from.norm));
    TRY(to.mlp_post_norm, norm(from.post_norm));
    TRY(to.mlp, mlp(from.mlp));
    TRY(to.router, linear({&from.router}));
    to.selection_bias = from.selection_bias;
    for (const MlpWeights& expert : from.experts) {
      TRY(to.experts.emplace_back(), mlp(expert));
    }
    if (!to.experts.empty() && routes_on_device(config_, options_)) {
      TRY_OK(list_experts(stream_.handle(), result_, to));
    }
    return base::ok();
  }

  const ModelConfig& config_;
  const DeviceOptions& options_;
  const DType type_;
  ops::ComputePool& pool_;
  DeviceWeights& result_;
  ops::cuda::PinnedBuffer stage_;
  ops::cuda::Stream stream_;
};

// Makes random weights for a model.
class Inventor {
 public:
  Inventor(const DeviceOptions& options, DeviceWeights& result) : options_(options), result_(result) {}

  base::Status invent(const ModelConfig& config) {
    const std::int64_t hidden = config.hidden_size;
    TRY(const DeviceLinear embedding, plain(config.vocab_size, hidden));
    result_.embedding = embedding.w;
    for (int i = 0; i < config.num_layers; ++i) {
      DeviceLayer& layer = result_.layers.emplace_back();
      TRY(layer.attention_norm.weight, norm(hidden));
      TRY(layer.mlp_norm.weight, norm(hidden));
      TRY(layer.qkv, linear(config.q_size() + 2 * config.kv_size(), hidden));
      if (config.qkv_bias) {
        TRY(const DeviceLinear bias, plain(layer.qkv.out, 1, 1));
        layer.qkv.bias = bias.w;
      }
      TRY(layer.out, linear(hidden, config.q_size()));
      if (config.qk_norm != QkNorm::none) {
        const bool whole = config.qk_norm == QkNorm::whole;
        TRY(layer.q_norm.weight, norm(whole ? config.q_size() : config.head_dim));
        TRY(layer.k_norm.weight, norm(whole ? config.kv_size() : config.head_dim));
      }
      if (config.layers[static_cast<std::size_t>(i)].sparse) {
        TRY_OK(add_experts(config, layer));
      } else {
        TRY(layer.mlp, mlp(config.intermediate_size, hidden));
      }
    }
    TRY(result_.output_norm.weight, norm(hidden));
    result_.output = embedding;
    if (!config.tied_embeddings) {
      TRY(result_.output, plain(config.vocab_size, hidden));
    }
    stream_.wait();
    return base::ok();
  }

 private:
  base::Result<DeviceMlp> mlp(std::int64_t inner, std::int64_t hidden) {
    DeviceMlp result;
    TRY(result.up, linear(2 * inner, hidden));
    TRY(result.down, linear(hidden, inner));
    return result;
  }

  base::Status add_experts(const ModelConfig& config, DeviceLayer& layer) {
    const MixtureConfig& m = config.mixture;
    TRY(layer.router, plain(m.num_experts, config.hidden_size));
    for (int e = 0; e < m.num_experts; ++e) {
      TRY(layer.experts.emplace_back(), mlp(m.intermediate_size, config.hidden_size));
    }
    if (m.shared_intermediate_size > 0) {
      TRY(layer.mlp, mlp(m.shared_intermediate_size, config.hidden_size));
    }
    if (!routes_on_device(config, options_)) return base::ok();
    return list_experts(stream_.handle(), result_, layer);
  }

  static constexpr float kBound = 0.02f * 1.732f;  // a standard deviation of 0.02, as in trained matrices

  base::Result<DeviceLinear> plain(std::int64_t out, std::int64_t in, float bound = kBound) {
    const auto bytes = static_cast<std::size_t>(tensor::bytes_of(options_.type, out * in));
    TRY(DeviceBuffer buffer, DeviceBuffer::allocate(bytes));
    ops::cuda::fill_random(stream_.handle(), options_.type, buffer.data(), out * in, bound, ++seed_);
    const DeviceLinear result{.w = buffer.data(), .out = out, .in = in};
    result_.buffers.push_back(std::move(buffer));
    return result;
  }

  base::Result<DeviceLinear> linear(std::int64_t out, std::int64_t in) {
    TRY(DeviceLinear result, plain(out, in));
    const bool rounds = options_.weights == WeightNumbers::int4 && in % ops::cuda::kInt4Block == 0;
    if (options_.weights != WeightNumbers::fp8 && !rounds) return result;
    const DeviceBuffer whole = std::move(result_.buffers.back());
    result_.buffers.pop_back();
    if (rounds) {
      TRY(const Int4Place to, place_int4(result_, result));
      ops::cuda::round_to_int4(stream_.handle(), {out * in, whole.data(), to.nibbles, to.groups});
    } else {
      TRY_OK(quantize(stream_.handle(), whole, result_, result));
    }
    stream_.wait();
    return result;
  }

  // Makes the weights of a norm, between 0.5 and 1.5.
  base::Result<const float*> norm(std::int64_t size) {
    std::mt19937 random(++seed_);
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = 0.5f + static_cast<float>(random() % 1024) / 1024;
    TRY(DeviceBuffer buffer, DeviceBuffer::allocate(values.size() * sizeof(float)));
    ops::cuda::copy_to_device(stream_.handle(), buffer.data(), values.data(), buffer.size());
    stream_.wait();
    const auto* data = buffer.as<const float>();
    result_.buffers.push_back(std::move(buffer));
    return data;
  }

  const DeviceOptions& options_;
  DeviceWeights& result_;
  ops::cuda::Stream stream_;
  std::uint32_t seed_ = 0;
};

}  // namespace

bool routes_on_device(const ModelConfig& config, const DeviceOptions& options) {
  const MixtureConfig& m = config.mixture;
  return options.type == DType::bf16 && m.num_experts > 0 && m.used_groups == m.num_groups &&
         m.num_experts <= ops::cuda::kMaxRoutedExperts && m.num_used <= ops::cuda::kMaxUsedExperts &&
         config.gated_mlp && !config.mlp_bias;
}

base::Result<DeviceWeights> upload_weights(const DecoderWeights& weights, const ModelConfig& config,
                                           const DeviceOptions& options, ops::ComputePool& pool) {
  DeviceWeights result;
  TRY_OK(Uploader(config, options, pool, result).upload(weights));
  return result;
}

base::Result<DeviceWeights> random_weights(const ModelConfig& config, const DeviceOptions& options) {
  DeviceWeights result;
  TRY_OK(Inventor(options, result).invent(config));
  return result;
}

}  // namespace kvasir::model
