#include "model/cuda/cuda_state.h"
#include "ops/cuda/experts.h"
#include "ops/cuda/mixture.h"
#include "ops/cuda/rows.h"

namespace kvasir::model {

using ops::cuda::ActivateArgs;

void CudaDecoder::feed_forward(int index) {
  const DeviceLayer& w = weights_.layers[static_cast<std::size_t>(index)];
  if (config_.layers[static_cast<std::size_t>(index)].sparse) return run_mixture(index);
  if (few_rows())
    multiply_few(w.mlp.up, scratch_.hidden.data(), w.mlp_norm, ops::cuda::GemvArgs::Then::gate,
                 scratch_.inner.data());
  else
    run_mlp_inner(w.mlp.up, config_.intermediate_size, normed_or_hidden(w.mlp_norm), rows());
  end_half(w.mlp.down, scratch_.inner.data(), w.mlp_post_norm);
}

void CudaDecoder::run_mlp_inner(const DeviceLinear& up, int inner, const void* x, int num_rows) {
  if (config_.gated_mlp && up.bias == nullptr && is_skinny(up, num_rows)) {
    multiply_skinny(up, x, num_rows, ops::cuda::GemvArgs::Then::gate, scratch_.inner.data());
    return;
  }
  if (config_.gated_mlp && up.bias == nullptr && up.groups == nullptr) {
    ops::cuda::GemmArgs args = product(up, x, num_rows, scratch_.gate_up.data());
    if (gemm_->has_gate(args)) return run_gated(args);
  }
  apply(up, x, num_rows, scratch_.gate_up.data());
  ops::cuda::activate(stream(),
                      {.type = options_.type,
                       .activation = config_.activation,
                       .form = config_.gated_mlp ? ActivateArgs::Form::gated : ActivateArgs::Form::plain,
                       .rows = num_rows,
                       .inner = inner,
                       .x = scratch_.gate_up.data(),
                       .y = scratch_.inner.data(),
                       .y_scales = quantizes() ? scratch_.x_scales.as<float>() : nullptr});
}

void CudaDecoder::run_gated(ops::cuda::GemmArgs up) {
  if (!quantizes()) up.y = scratch_.inner.data();
  gemm_->run_gated(stream(), up, config_.activation);
  if (quantizes())
    ops::cuda::quantize_rows(stream(), {.rows = static_cast<int>(up.rows),
                                        .dim = static_cast<int>(up.out / 2),
                                        .x = scratch_.gate_up.data(),
                                        .y = scratch_.inner.data(),
                                        .y_scales = scratch_.x_scales.as<float>()});
}

void CudaDecoder::run_mixture(int index) {
  const DeviceLayer& w = weights_.layers[static_cast<std::size_t>(index)];
  if (few_rows()) return run_few_experts(w);
  const MixtureConfig& m = config_.mixture;
  const void* x = normed_or_hidden(w.mlp_norm);
  ops::cuda::GemmArgs router = product(w.router, x, rows(), scratch_.router.data());
  router.out_type = tensor::DType::f32;
  gemm_->run(stream(), router);
  if (w.expert_ups != nullptr)
    run_experts(w, x);
  else
    run_experts_by_host(w, x);
  const bool shared = m.shared_intermediate_size > 0;
  if (shared) {
    run_mlp_inner(w.mlp.up, m.shared_intermediate_size, x, rows());
    apply(w.mlp.down, scratch_.inner.data(), rows(), scratch_.branch.data());
  }
  ops::cuda::combine_slots(stream(), {.type = options_.type,
                                      .rows = rows(),
                                      .num_used = m.num_used,
                                      .dim = config_.hidden_size,
                                      .slots_of_row = scratch_.row_slots.as<const std::int32_t>(),
                                      .weights = scratch_.row_weights.as<const float>(),
                                      .slots = scratch_.slot_out.data(),
                                      .shared = shared ? scratch_.branch.data() : nullptr,
                                      .y = scratch_.branch.data()});
  branch_pending_ = true;
}

void CudaDecoder::route(const DeviceLayer& w) {
  using Weights = ops::cuda::RouteRowsArgs::Weights;
  const MixtureConfig& m = config_.mixture;
  ops::cuda::route_rows(stream(), {.score = m.score,
                                   .rows = rows(),
                                   .num_experts = m.num_experts,
                                   .num_used = m.num_used,
                                   .scale = m.scale,
                                   .weights_are = m.renormalize ? Weights::renormalized : Weights::as_scored,
                                   .logits = scratch_.router.as<const float>(),
                                   .selection_bias = w.device_selection_bias,
                                   .experts = scratch_.row_experts.as<std::int32_t>(),
                                   .weights = scratch_.row_weights.as<float>()});
}

void CudaDecoder::run_experts(const DeviceLayer& w, const void* x) {
  using Form = ops::cuda::ExpertProductArgs::Form;
  const MixtureConfig& m = config_.mixture;
  const int num_slots = rows() * m.num_used;
  route(w);
  ops::cuda::assign_slots(stream(), {.num_slots = num_slots,
                                     .num_used = m.num_used,
                                     .num_experts = m.num_experts,
                                     .experts = scratch_.row_experts.as<const std::int32_t>(),
                                     .slots = scratch_.row_slots.as<std::int32_t>(),
                                     .slot_rows = scratch_.slot_rows.as<std::int32_t>(),
                                     .first_slots = scratch_.first_slots.as<std::int32_t>()});
  ops::cuda::ExpertProductArgs args{.form = Form::gated,
                                    .activation = config_.activation,
                                    .num_slots = num_slots,
                                    .num_experts = m.num_experts,
                                    .cols = config_.hidden_size,
                                    .out = m.intermediate_size,
                                    .first_slots = scratch_.first_slots.as<const std::int32_t>(),
                                    .x_rows = scratch_.slot_rows.as<const std::int32_t>(),
                                    .x = x,
                                    .w = w.expert_ups,
                                    .y = scratch_.slot_inner.data()};
  ops::cuda::multiply_experts(stream(), args);
  args.form = Form::plain;
  args.cols = m.intermediate_size;
  args.out = config_.hidden_size;
  args.x_rows = nullptr;
  args.x = scratch_.slot_inner.data();
  args.w = w.expert_downs;
  args.y = scratch_.slot_out.data();
  ops::cuda::multiply_experts(stream(), args);
}

// All rows of an expert are multiplied in one product. The host assigns rows to experts as the CPU decoder
// does.
void CudaDecoder::run_experts_by_host(const DeviceLayer& w, const void* x) {
  const MixtureConfig& m = config_.mixture;
  const auto num_logits = static_cast<std::size_t>(rows()) * static_cast<std::size_t>(m.num_experts);
  router_logits_.resize(num_logits);
  ops::cuda::copy_to_host(stream(), router_logits_.data(), scratch_.router.data(),
                          num_logits * sizeof(float));
  stream_.wait();
  ops::route(m.router(w.selection_bias), router_logits_, plan_);
  const auto send = [&](const auto& values, const ops::cuda::DeviceBuffer& to) {
    ops::cuda::copy_to_device(stream(), to.data(), values.data(), values.size() * sizeof(values[0]));
  };
  send(plan_.slot_rows, scratch_.slot_rows);
  send(plan_.slots, scratch_.row_slots);
  send(plan_.weights, scratch_.row_weights);
  ops::cuda::gather_rows(stream(), {.type = options_.type,
                                    .num_slots = static_cast<int>(plan_.slot_rows.size()),
                                    .dim = config_.hidden_size,
                                    .slot_rows = scratch_.slot_rows.as<const std::int32_t>(),
                                    .rows = x,
                                    .slots = scratch_.slots.data()});
  for (std::size_t e = 0; e < w.experts.size(); ++e) {
    const std::int32_t first = plan_.first_slots[e];
    const std::int32_t count = plan_.first_slots[e + 1] - first;
    if (count == 0) continue;
    const std::int64_t offset = tensor::bytes_of(options_.type, std::int64_t{first} * config_.hidden_size);
    run_mlp_inner(w.experts[e].up, m.intermediate_size, scratch_.slots.data() + offset, count);
    apply(w.experts[e].down, scratch_.inner.data(), count, scratch_.slot_out.data() + offset);
  }
}

}  // namespace kvasir::model
