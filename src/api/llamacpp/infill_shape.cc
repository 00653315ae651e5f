#include "api/llamacpp/infill_shape.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

namespace kvasir::api {

namespace {

// Finds the field "b" of the object "a" for the path "a/b". Null if there is none.
const json::value* find_inside(const json::object& object, std::string_view path) {
  const std::size_t slash = path.find('/');
  const json::value* value = object.if_contains(path.substr(0, slash));
  if (slash == path.npos || value == nullptr) return value;
  return value->is_object() ? find_inside(value->get_object(), path.substr(slash + 1)) : nullptr;
}

std::string_view stop_type(const Delta& end) {
  if (end.finish == wire::FinishReason::length) return "limit";
  return end.stop_string.empty() ? "eos" : "word";
}

double rate(int number, double milliseconds) {
  return milliseconds > 0 ? number * 1e3 / milliseconds : 0;
}

class InfillShape final : public AnswerShape {
 public:
  InfillShape(AnswerHead head, std::optional<std::vector<std::string>> fields)
      : head_(std::move(head)), fields_(std::move(fields)), began_(std::chrono::steady_clock::now()) {}

  std::string opening(int, const wire::Usage& usage) override {
    num_prompt_tokens_ = usage.prompt_tokens;
    return {};
  }

  // The last object of a choice is written by `closing`, which knows the usage.
  std::string chunks(const Delta& delta) override {
    if (delta.finish) {
      Delta& end = ends_.emplace_back(delta);
      end.text.clear();
    }
    if (delta.text.empty()) return {};
    if (delta.text.find('\n') != std::string::npos) with_new_line_.insert(delta.index);
    return event({{"index", delta.index},
                  {"content", delta.text},
                  {"tokens", json::array()},
                  {"stop", false},
                  {"tokens_predicted", delta.num_tokens},
                  {"tokens_evaluated", num_prompt_tokens_}});
  }

  std::string closing(const wire::Usage& usage) override {
    std::string events;
    for (const Delta& end : ends_) events += event(last_object(end, usage));
    return events;
  }

  std::string failure(const base::Error& error) override { return error_event(error, ErrorStyle::openai); }

  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override {
    if (choices.size() == 1) return base::json_text(last_object(choices.front(), usage));
    json::array list;
    for (const Delta& choice : choices) list.push_back(last_object(choice, usage));
    return base::json_text(list);
  }

 private:
  static std::string event(const json::object& object) { return "data: " + base::json_text(object) + "\n\n"; }

  json::object last_object(const Delta& end, const wire::Usage& usage) const {
    json::object object{
        {"index", end.index},
        {"content", end.text},
        {"tokens", json::array()},
        {"stop", true},
        {"model", head_.model},
        {"tokens_predicted", end.num_tokens},
        {"tokens_evaluated", usage.prompt_tokens},
        {"generation_settings", json::object{{"n_ctx", head_.window},
                                             {"model", head_.model},
                                             {"temperature", head_.temperature},
                                             {"top_p", head_.top_p}}},
        {"has_new_line", end.text.find('\n') != std::string::npos || with_new_line_.contains(end.index)},
        {"truncated", false},
        {"stop_type", stop_type(end)},
        {"stopping_word", end.stop_string},
        {"tokens_cached", usage.cached_tokens},
        {"timings", timings(end, usage)}};
    if (head_.extra)
      for (const auto& [name, value] : *head_.extra) object[name] = value;
    add_warnings(head_, object);
    return fields_ ? only(object) : object;
  }

  json::object timings(const Delta& end, const wire::Usage& usage) const {
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - began_;
    const double prompt_ms = usage.prefill_s * 1e3;
    const double predicted_ms = std::max(0.0, passed.count() - prompt_ms - usage.queued_s * 1e3);
    const int num_computed = usage.prompt_tokens - usage.cached_tokens;
    const auto tidy = [](double number) { return std::round(number * 1e3) / 1e3; };
    return {{"prompt_n", num_computed},
            {"prompt_ms", tidy(prompt_ms)},
            {"prompt_per_second", tidy(rate(num_computed, prompt_ms))},
            {"predicted_n", end.num_tokens},
            {"predicted_ms", tidy(predicted_ms)},
            {"predicted_per_second", tidy(rate(end.num_tokens, predicted_ms))}};
  }

  // A field inside another appears under its own name, without the path.
  json::object only(const json::object& object) const {
    json::object chosen;
    for (const std::string_view field : *fields_)
      if (const json::value* value = find_inside(object, field))
        chosen[field.substr(field.rfind('/') + 1)] = *value;
    return chosen;
  }

  const AnswerHead head_;
  const std::optional<std::vector<std::string>> fields_;
  const std::chrono::steady_clock::time_point began_;
  int num_prompt_tokens_ = 0;
  std::vector<Delta> ends_;      // the ends of choices that are over
  std::set<int> with_new_line_;  // choices whose text had a line break in an earlier event
};

}  // namespace

std::unique_ptr<AnswerShape> infill_shape(AnswerHead head, std::optional<std::vector<std::string>> fields) {
  return std::make_unique<InfillShape>(std::move(head), std::move(fields));
}

}  // namespace kvasir::api
