#include "api/answer/choice_shape.h"

#include <map>
#include <utility>

namespace kvasir::api {

namespace {

json::object usage_object(const wire::Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.output_tokens},
          {"total_tokens", usage.prompt_tokens + usage.output_tokens},
          {"prompt_tokens_details", json::object{{"cached_tokens", usage.cached_tokens}}}};
}

// The text of an object without its braces.
std::string members(const json::object& object) {
  const std::string text = base::json_text(object);
  return text.substr(1, text.size() - 2);
}

// Ended calls in the order in which the model made them.
json::array ended_calls(const std::vector<Delta>& choices) {
  std::map<int, json::object> by_number;
  for (const Delta& choice : choices)
    for (const ServerCall& call : choice.server_calls) by_number[call.number] = server_call_object(call);
  json::array list;
  for (auto& [number, call] : by_number) list.push_back(std::move(call));
  return list;
}

}  // namespace

json::value finish_value(const std::optional<wire::FinishReason>& finish) {
  if (!finish) return nullptr;
  return *finish == wire::FinishReason::stop ? "stop" : "length";
}

json::object ChoiceShape::object(std::string_view name) const {
  json::object object;
  object["id"] = head_.id;
  object["object"] = name;
  object["created"] = head_.created_s;
  object["model"] = head_.model;
  object["system_fingerprint"] = head_.fingerprint;
  if (!head_.service_tier.empty()) object["service_tier"] = head_.service_tier;
  return object;
}

json::object ChoiceShape::own_fields() const {
  json::object fields;
  if (head_.extra) fields = *head_.extra;
  add_warnings(head_, fields);
  return fields;
}

json::array ChoiceShape::prompt_logprobs(const std::vector<wire::Token>& tokens) const {
  json::array list{nullptr};
  for (const wire::Token& token : tokens) {
    json::object entry;
    const auto add = [&](TokenId id, float logprob, json::value rank) {
      entry[std::to_string(id)] = json::object{{"logprob", finite_logprob(logprob)},
                                               {"rank", std::move(rank)},
                                               {"decoded_token", token_text(*head_.tokenizer, id)}};
    };
    add(token.id, token.logprob->logprob, nullptr);
    for (std::size_t i = 0; i < token.logprob->top.size(); ++i)
      add(token.logprob->top[i].first, token.logprob->top[i].second, i + 1);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string ChoiceShape::chunk(std::string_view choice, std::string_view fields) {
  if (chunk_head_.empty()) {
    chunk_head_ = "data: " + base::json_text(object(chunk_name()));
    chunk_head_.back() = ',';
    chunk_head_ += "\"choices\":[";
  }
  std::string text = chunk_head_;
  text += choice;
  text += ']';
  if (!fields.empty()) text += ',';
  text += fields;
  text += "}\n\n";
  return text;
}

std::string ChoiceShape::event(const json::object& choice) {
  std::string usage;
  if (head_.continuous_usage)
    usage = "\"usage\":" + base::json_text(usage_object(usage_so_far()));
  else if (head_.include_usage)
    usage = "\"usage\":null";
  return chunk(base::json_text(choice), usage);
}

wire::Usage ChoiceShape::usage_so_far() const {
  wire::Usage usage = prompt_usage_;
  for (const auto& [index, num_tokens] : num_tokens_) usage.output_tokens += num_tokens;
  return usage;
}

std::string ChoiceShape::opening(int num_choices, const wire::Usage& usage) {
  prompt_usage_ = usage;
  prompt_usage_.output_tokens = 0;
  std::string events;
  for (int i = 0; i < num_choices; ++i)
    if (std::optional<json::object> choice = opening_choice(i)) events += event(*choice);
  return events;
}

std::string ChoiceShape::chunks(const Delta& delta) {
  std::string events;
  if (head_.continuous_usage) num_tokens_[delta.index] = delta.num_tokens;
  if (!delta.says_nothing()) {
    Delta open = delta;
    open.finish.reset();
    events += event(chunk_choice(open));
  }
  for (const ServerCall& call : delta.server_calls) {
    events += chunk({}, members(json::object{{"server_tool_call", server_call_object(call)}}));
  }
  if (delta.finish) {
    Delta end;
    end.index = delta.index;
    end.finish = delta.finish;
    end.has_calls = delta.has_calls;
    events += event(chunk_choice(end));
  }
  return events;
}

std::string ChoiceShape::closing(const wire::Usage& usage) {
  json::object last = own_fields();
  if (head_.include_usage) last["usage"] = usage_object(usage);
  if (last.empty()) return "data: [DONE]\n\n";
  return chunk({}, members(last)) + "data: [DONE]\n\n";
}

std::string ChoiceShape::failure(const base::Error& error) {
  return error_event(error, ErrorStyle::openai);
}

std::string ChoiceShape::whole(const std::vector<Delta>& choices, const wire::Usage& usage) {
  json::array list;
  for (const Delta& choice : choices) list.push_back(whole_choice(choice));
  json::object answer = object(object_name());
  answer["choices"] = std::move(list);
  answer["usage"] = usage_object(usage);
  if (json::array calls = ended_calls(choices); !calls.empty())
    answer["server_tool_calls"] = std::move(calls);
  for (const auto& [name, value] : own_fields()) answer[name] = value;
  add_to_whole(choices, answer);
  return base::json_text(answer);
}

}  // namespace kvasir::api
