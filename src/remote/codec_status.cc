#include <algorithm>
#include <array>
#include <utility>

#include "remote/codec.h"
#include "remote/protocol.h"

namespace kvasir::remote {

namespace {

// The fields of WorkerCounters in the message's order.
constexpr std::array kCounterFields = {
    &wire::WorkerCounters::steps,         &wire::WorkerCounters::prefill_tokens,
    &wire::WorkerCounters::decode_tokens, &wire::WorkerCounters::cached_tokens,
    &wire::WorkerCounters::output_tokens, &wire::WorkerCounters::preemptions,
    &wire::WorkerCounters::finished,      &wire::WorkerCounters::failed,
    &wire::WorkerCounters::aborted};

void encode_step(const wire::StepRecord& step, proto::Step& out) {
  out.set_number(step.number);
  out.set_started_s(step.started_s);
  out.set_plan_s(step.plan_s);
  out.set_run_s(step.run_s);
  out.set_commit_s(step.commit_s);
  out.set_predicted_s(step.predicted_s);
  out.set_num_preempted(step.num_preempted);
  out.set_num_other_rows(step.num_other_rows);
  for (const wire::StepRecord::Slice& slice : step.slices) {
    proto::Slice& to = *out.add_slices();
    to.set_request_id(slice.request_id);
    to.set_tenant(slice.tenant);
    to.set_num_rows(slice.num_rows);
    to.set_is_prompt(slice.is_prompt);
  }
}

wire::StepRecord decode_step(const proto::Step& in) {
  wire::StepRecord step{.number = in.number(),
                        .started_s = in.started_s(),
                        .plan_s = in.plan_s(),
                        .run_s = in.run_s(),
                        .commit_s = in.commit_s(),
                        .predicted_s = in.predicted_s(),
                        .num_preempted = in.num_preempted(),
                        .num_other_rows = in.num_other_rows()};
  for (const proto::Slice& slice : in.slices())
    step.slices.push_back({slice.request_id(), slice.tenant(), slice.num_rows(), slice.is_prompt()});
  return step;
}

void encode_live(const wire::LiveSequence& live, proto::Live& out) {
  out.set_request_id(live.request_id);
  out.set_tenant(live.tenant);
  out.set_priority(live.priority);
  out.set_runs(live.runs);
  out.set_held(live.held);
  out.set_num_prompt(live.num_prompt);
  out.set_num_cached(live.num_cached);
  out.set_num_computed(live.num_computed);
  out.set_num_output(live.num_output);
  out.set_max_output(live.max_output);
  out.set_num_blocks(live.num_blocks);
  out.set_age_s(live.age_s);
}

wire::LiveSequence decode_live(const proto::Live& in) {
  return {.request_id = in.request_id(),
          .tenant = in.tenant(),
          .priority = in.priority(),
          .runs = in.runs(),
          .held = in.held(),
          .num_prompt = in.num_prompt(),
          .num_cached = in.num_cached(),
          .num_computed = in.num_computed(),
          .num_output = in.num_output(),
          .max_output = in.max_output(),
          .num_blocks = in.num_blocks(),
          .age_s = in.age_s()};
}

void encode_facts(const wire::ModelFacts& facts, proto::Facts& out) {
  out.set_format(facts.format);
  out.set_architecture(facts.architecture);
  out.set_quantization(facts.quantization);
  out.set_digest(facts.digest);
  out.set_licence(facts.licence);
  out.set_num_parameters(facts.num_parameters);
  out.set_num_bytes(facts.num_bytes);
  out.set_embedding_length(facts.embedding_length);
  out.set_num_layers(facts.num_layers);
  out.set_num_heads(facts.num_heads);
  out.set_num_kv_heads(facts.num_kv_heads);
  out.set_on_gpu(facts.on_gpu);
}

wire::ModelFacts decode_facts(const proto::Facts& in) {
  return {.format = in.format(),
          .architecture = in.architecture(),
          .quantization = in.quantization(),
          .digest = in.digest(),
          .licence = in.licence(),
          .num_parameters = in.num_parameters(),
          .num_bytes = in.num_bytes(),
          .embedding_length = in.embedding_length(),
          .num_layers = in.num_layers(),
          .num_heads = in.num_heads(),
          .num_kv_heads = in.num_kv_heads(),
          .on_gpu = in.on_gpu()};
}

void encode_advice(const wire::SamplingAdvice& advice, proto::Advice& out) {
  if (advice.temperature) out.set_temperature(*advice.temperature);
  if (advice.top_p) out.set_top_p(*advice.top_p);
  if (advice.top_k) out.set_top_k(*advice.top_k);
  if (advice.min_p) out.set_min_p(*advice.min_p);
  if (advice.repetition_penalty) out.set_repetition_penalty(*advice.repetition_penalty);
}

wire::SamplingAdvice decode_advice(const proto::Advice& in) {
  wire::SamplingAdvice advice;
  if (in.has_temperature()) advice.temperature = in.temperature();
  if (in.has_top_p()) advice.top_p = in.top_p();
  if (in.has_top_k()) advice.top_k = in.top_k();
  if (in.has_min_p()) advice.min_p = in.min_p();
  if (in.has_repetition_penalty()) advice.repetition_penalty = in.repetition_penalty();
  return advice;
}

}  // namespace

void encode(const wire::Activity& activity, proto::Activity& out) {
  out.set_now_s(activity.now_s);
  for (const auto field : kCounterFields) out.add_counters(activity.counters.*field);
  out.set_run_s(activity.counters.step_s);
  for (const wire::StepRecord& step : activity.steps) encode_step(step, *out.add_steps());
  for (const wire::LiveSequence& live : activity.sequences) encode_live(live, *out.add_sequences());
}

wire::Activity decode(const proto::Activity& in) {
  wire::Activity activity{.now_s = in.now_s()};
  const auto count = std::min(kCounterFields.size(), static_cast<std::size_t>(in.counters_size()));
  for (std::size_t i = 0; i < count; ++i)
    activity.counters.*kCounterFields[i] = in.counters(static_cast<int>(i));
  activity.counters.step_s = in.run_s();
  for (const proto::Step& step : in.steps()) activity.steps.push_back(decode_step(step));
  for (const proto::Live& live : in.sequences()) activity.sequences.push_back(decode_live(live));
  return activity;
}

void encode(const wire::WorkerCard& card, proto::Card& out) {
  set_protocols(out);
  out.set_id(card.id);
  out.set_address(card.address);
  out.set_model(card.model);
  out.set_fingerprint(card.fingerprint);
  out.set_text_digest(card.text_digest);
  out.set_build(card.build);
  out.set_role(card.role);
  out.set_context_length(card.context_length);
  out.set_num_blocks(card.num_blocks);
  out.set_kv_form(card.kv.name);
  out.set_kv_block_bytes(card.kv.num_bytes);
  out.set_dimensions(card.dimensions);
}

wire::WorkerCard decode(const proto::Card& in) {
  return {.id = in.id(),
          .address = in.address(),
          .model = in.model(),
          .fingerprint = in.fingerprint(),
          .text_digest = in.text_digest(),
          .build = in.build(),
          .role = in.role(),
          .context_length = in.context_length(),
          .num_blocks = in.num_blocks(),
          .dimensions = in.dimensions(),
          .kv = {in.kv_form(), in.kv_block_bytes()}};
}

void encode(const TextAssets& assets, proto::TextHead& out) {
  for (const TextFile& file : assets.files) {
    proto::TextFile& to = *out.add_files();
    to.set_name(file.name);
    to.set_size(file.bytes.size());
  }
  out.set_context_length(assets.context_length);
  out.set_vocab_size(assets.vocab_size);
  out.set_num_parameters(assets.num_parameters);
  out.set_fingerprint(assets.fingerprint);
  encode_advice(assets.sampling, *out.mutable_sampling());
  encode_facts(assets.facts, *out.mutable_facts());
}

TextAssets decode(const proto::TextHead& in) {
  TextAssets assets{.context_length = in.context_length(),
                    .vocab_size = in.vocab_size(),
                    .num_parameters = in.num_parameters(),
                    .fingerprint = in.fingerprint(),
                    .sampling = decode_advice(in.sampling()),
                    .facts = decode_facts(in.facts())};
  for (const proto::TextFile& file : in.files()) assets.files.push_back({.name = file.name()});
  return assets;
}

}  // namespace kvasir::remote
