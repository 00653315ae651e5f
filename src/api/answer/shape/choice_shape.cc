#include "api/answer/shape/choice_shape.h"

#include <map>
#include <utility>

#include "base/json_append.h"

namespace kvasir::api {

namespace {

std::string usage_text(const wire::Usage& usage) {
  return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},)"
                     R"("prompt_tokens_details":{{"cached_tokens":{}}}}})",
                     usage.prompt_tokens, usage.output_tokens, usage.prompt_tokens + usage.output_tokens,
                     usage.cached_tokens);
}

// The text of an object without its braces.
std::string members(const json::object& object) {
  const std::string text = base::json_text(object);
  return text.substr(1, text.size() - 2);
}

// Ended calls of this server's tools, in the order in which the model made them.
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

std::string ChoiceShape::object_head(std::string_view name) const {
  std::string text = "{\"id\":";
  base::append_json(text, head_.id);
  text += ",\"object\":";
  base::append_json(text, name);
  text += ",\"created\":";
  base::append_json(text, head_.created_s);
  text += ",\"model\":";
  base::append_json(text, head_.model);
  text += ",\"system_fingerprint\":";
  base::append_json(text, head_.fingerprint);
  if (!head_.service_tier.empty()) {
    text += ",\"service_tier\":";
    base::append_json(text, head_.service_tier);
  }
  return text;
}

std::string ChoiceShape::choice_text(const Delta& delta, std::string_view content,
                                     const json::value& logprobs, const json::value& finish) {
  std::string text = "{\"index\":";
  base::append_json(text, std::int64_t{delta.index});
  text += ',';
  text += content;
  text += ",\"logprobs\":";
  base::append_json(text, logprobs);
  text += ",\"finish_reason\":";
  base::append_json(text, finish);
  text += '}';
  return text;
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
    chunk_head_ = "data: " + object_head(chunk_name());
    chunk_head_ += ",\"choices\":[";
  }
  std::string text;
  text.reserve(chunk_head_.size() + choice.size() + fields.size() + 8);
  text += chunk_head_;
  text += choice;
  text += ']';
  if (!fields.empty()) text += ',';
  text += fields;
  text += "}\n\n";
  return text;
}

std::string ChoiceShape::event(std::string_view choice) {
  if (head_.continuous_usage) return chunk(choice, "\"usage\":" + usage_text(usage_so_far()));
  return chunk(choice, head_.include_usage ? "\"usage\":null" : "");
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
    if (std::optional<json::object> choice = opening_choice(i)) events += event(base::json_text(*choice));
  return events;
}

std::string ChoiceShape::chunks(const Delta& delta) {
  std::string events;
  if (head_.continuous_usage) num_tokens_[delta.index] = delta.num_tokens;
  if (!delta.says_nothing()) {
    Delta open = delta;
    open.finish.reset();
    open.has_calls = false;  // the calls are a reason to finish, which comes last
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
  std::string last = members(own_fields());
  if (head_.include_usage) {
    if (!last.empty()) last += ',';
    last += "\"usage\":" + usage_text(usage);
  }
  if (last.empty()) return "data: [DONE]\n\n";
  return chunk({}, last) + "data: [DONE]\n\n";
}

std::string ChoiceShape::failure(const base::Error& error) {
  return error_event(error, ErrorStyle::openai);
}

std::string ChoiceShape::whole(const std::vector<Delta>& choices, const wire::Usage& usage) {
  json::array list;
  for (const Delta& choice : choices) list.push_back(whole_choice(choice));
  std::string answer = object_head(object_name()) +
                       ",\"choices\":" + base::json_text(json::value(std::move(list))) +
                       ",\"usage\":" + usage_text(usage);
  json::object more;
  if (json::array calls = ended_calls(choices); !calls.empty()) more["server_tool_calls"] = std::move(calls);
  for (const auto& [name, value] : own_fields()) more[name] = value;
  add_to_whole(choices, more);
  if (!more.empty()) answer += ',' + members(more);
  return answer + '}';
}

}  // namespace kvasir::api
