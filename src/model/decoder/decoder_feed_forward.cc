#include "model/decoder/decoder_state.h"
#include "ops/elementwise.h"

namespace kvasir::model {

void Decoder::State::feed_forward(int index) {
  const FeedForwardWeights& w = weights.layers[static_cast<std::size_t>(index)].feed_forward;
  const std::span<const float> x = normed_if(w.norm, hidden);
  if (config().layers[static_cast<std::size_t>(index)].sparse) {
    run_mixture(w, x);
  } else {
    run_mlp(w.mlp, config().intermediate_size, x, branch);
  }
  add_branch(w.post_norm);
}

void Decoder::State::run_mlp(const MlpWeights& mlp, int inner, std::span<const float> x, std::span<float> y) {
  const std::span<float> up = buffers.up.take(num_rows, inner);
  apply(mlp.up, x, up);
  if (config().gated_mlp) {
    const std::span<float> gate = buffers.gate.take(num_rows, inner);
    apply(mlp.gate, x, gate);
    ops::activate(context, config().activation, gate, up, up);
  } else {
    ops::activate(context, config().activation, up, {}, up);
  }
  apply(mlp.down, up, y);
}

// All rows of an expert are multiplied in one product. The results of a row's experts are added in the row's
// own order, so that they do not depend on the other rows.
void Decoder::State::run_mixture(const FeedForwardWeights& w, std::span<const float> x) {
  const MixtureConfig& m = config().mixture;
  const std::span<float> logits = buffers.router.take(num_rows, m.num_experts);
  apply(w.router, x, logits);
  ops::route(m.router(w.selection_bias), logits, plan);

  const std::size_t num_slots = plan.slot_rows.size();
  const std::span<float> slots = buffers.slots.take(num_slots, config().hidden_size);
  const std::span<float> gate = buffers.gate.take(num_slots, m.intermediate_size);
  const std::span<float> up = buffers.up.take(num_slots, m.intermediate_size);
  const std::span<float> out = buffers.slot_out.take(num_slots, config().hidden_size);
  ops::gather_rows(context, plan, x, slots);
  const auto for_experts = [&](const auto& f) {
    for (std::size_t e = 0; e < w.experts.size(); ++e) {
      const auto first = static_cast<std::size_t>(plan.first_slots[e]);
      const std::size_t count = static_cast<std::size_t>(plan.first_slots[e + 1]) - first;
      const auto part = [&](std::span<float> all) {
        const std::size_t cols = all.size() / num_slots;
        return all.subspan(first * cols, count * cols);
      };
      if (count > 0) f(w.experts[e], part);
    }
  };
  for_experts([&](const MlpWeights& expert, const auto& part) {
    apply(expert.gate, part(slots), part(gate));
    apply(expert.up, part(slots), part(up));
  });
  ops::activate(context, config().activation, gate, up, up);
  for_experts([&](const MlpWeights& expert, const auto& part) { apply(expert.down, part(up), part(out)); });

  ops::combine_slots(context, plan, out, branch);
  if (m.shared_intermediate_size > 0) {
    const std::span<float> shared = slots.first(branch.size());
    run_mlp(w.mlp, m.shared_intermediate_size, x, shared);
    ops::add(context, shared, branch);
  }
}

}  // namespace kvasir::model
