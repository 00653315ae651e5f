#include "config/upstream_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace kvasir::config {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

struct TextKey {
  std::string_view name;
  std::string UpstreamConfig::* field;
};
constexpr std::array kTextKeys = {TextKey{"name", &UpstreamConfig::name},
                                  TextKey{"label", &UpstreamConfig::label},
                                  TextKey{"url", &UpstreamConfig::url},
                                  TextKey{"model", &UpstreamConfig::model},
                                  TextKey{"api_key_env", &UpstreamConfig::api_key_env},
                                  TextKey{"api_key_file", &UpstreamConfig::api_key_file},
                                  TextKey{"ca_file", &UpstreamConfig::ca_file},
                                  TextKey{"health_path", &UpstreamConfig::health_path},
                                  TextKey{"max_tokens_field", &UpstreamConfig::max_tokens_field}};

struct NumberKey {
  std::string_view name;
  double UpstreamConfig::* field;
  double least;
  double most;
};
constexpr std::array kNumberKeys = {
    NumberKey{"connect_timeout_s", &UpstreamConfig::connect_timeout_s, 0.01, 60},
    NumberKey{"first_token_timeout_s", &UpstreamConfig::first_token_timeout_s, 0.01, 3600},
    NumberKey{"read_timeout_s", &UpstreamConfig::read_timeout_s, 0.01, 3600},
    NumberKey{"check_interval_s", &UpstreamConfig::check_interval_s, 0.05, 3600},
    NumberKey{"weight", &UpstreamConfig::weight, 0.01, 1000}};

struct CountKey {
  std::string_view name;
  int UpstreamConfig::* field;
  int least;
  int most;
};
constexpr std::array kCountKeys = {CountKey{"max_in_flight", &UpstreamConfig::max_in_flight, 1, 100'000},
                                   CountKey{"context_length", &UpstreamConfig::context_length, 0, 1 << 30}};

base::Error wrong_upstream(std::string_view key, std::string_view expected) {
  return base::error(ErrorCode::invalid_argument, "{}: expected {}", key, expected);
}

template <class Keys>
bool is_among(const Keys& keys, std::string_view name) {
  return std::ranges::any_of(keys, [&](const auto& key) { return key.name == name; });
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Status check_keys(const toml::table& table) {
  std::string names;
  const auto add = [&names](const auto& keys) {
    for (const auto& key : keys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  };
  add(kTextKeys);
  add(kNumberKeys);
  add(kCountKeys);
  for (const auto& [key, value] : table)
    if (!is_among(kTextKeys, key.str()) && !is_among(kNumberKeys, key.str()) &&
        !is_among(kCountKeys, key.str()))
      return base::error(ErrorCode::invalid_argument, "'{}' is not a key of an upstream; expected one of {}",
                         key.str(), names);
  return base::ok();
}

Status check_upstream(const UpstreamConfig& upstream) {
  if (upstream.name.empty()) return wrong_upstream("name", "the name of the model that it answers for");
  if (!upstream.url.starts_with("http://") && !upstream.url.starts_with("https://"))
    return wrong_upstream("url", "an address that begins with http:// or https://");
  if (upstream.url.find_first_of("?#@") != std::string::npos)
    return wrong_upstream("url", "an address without a query, a fragment or a user");
  if (!upstream.api_key_env.empty() && !upstream.api_key_file.empty())
    return wrong_upstream("api_key_file", "either this or \"api_key_env\"");
  if (!upstream.health_path.empty() && !upstream.health_path.starts_with('/'))
    return wrong_upstream("health_path", "a path that begins with '/'");
  if (upstream.max_tokens_field != "max_tokens" && upstream.max_tokens_field != "max_completion_tokens")
    return wrong_upstream("max_tokens_field", "\"max_tokens\" or \"max_completion_tokens\"");
  return base::ok();
}

Result<UpstreamConfig> read_upstream(const toml::table& table) {
  TRY_OK(check_keys(table));
  UpstreamConfig upstream;
  for (const TextKey& key : kTextKeys) {
    const toml::node* node = table.get(key.name);
    if (node == nullptr) continue;
    const auto* text = node->as_string();
    if (text == nullptr || text->get().empty() || !is_one_line(text->get()))
      return wrong_upstream(key.name, "a line of text");
    upstream.*key.field = text->get();
  }
  for (const NumberKey& key : kNumberKeys) {
    const toml::node* node = table.get(key.name);
    if (node == nullptr) continue;
    const auto number = node->value<double>();
    if (!node->is_number() || !number || !(*number >= key.least && *number <= key.most))
      return wrong_upstream(key.name, fmt::format("a number from {} to {}", key.least, key.most));
    upstream.*key.field = *number;
  }
  for (const CountKey& key : kCountKeys) {
    const toml::node* node = table.get(key.name);
    if (node == nullptr) continue;
    const auto* number = node->as_integer();
    if (number == nullptr || number->get() < key.least || number->get() > key.most)
      return wrong_upstream(key.name, fmt::format("a whole number from {} to {}", key.least, key.most));
    upstream.*key.field = static_cast<int>(number->get());
  }
  TRY_OK(check_upstream(upstream));
  if (upstream.model.empty()) upstream.model = upstream.name;
  return upstream;
}

}  // namespace

Result<std::vector<UpstreamConfig>> read_upstream_table(const toml::node& node, const std::string& path) {
  const auto at = [&](const toml::node& place, std::string_view what) {
    return base::error(ErrorCode::invalid_argument, "{}:{}: upstream: {}", path, place.source().begin.line,
                       what);
  };
  const toml::array* rows = node.as_array();
  if (rows == nullptr) return at(node, "expected [[upstream]] tables");
  std::vector<UpstreamConfig> upstreams;
  for (const toml::node& row : *rows) {
    const toml::table* table = row.as_table();
    if (table == nullptr) return at(row, "expected [[upstream]] tables");
    auto upstream = read_upstream(*table);
    if (!upstream.ok()) return at(row, upstream.error().message);
    if (upstream->label.empty()) {
      const auto number = 1 + std::ranges::count(upstreams, upstream->name, &UpstreamConfig::name);
      upstream->label = fmt::format("{}-{}", upstream->name, number);
    }
    if (std::ranges::find(upstreams, upstream->label, &UpstreamConfig::label) != upstreams.end())
      return at(row, fmt::format("two are labelled '{}'", upstream->label));
    upstreams.push_back(std::move(*upstream));
  }
  return upstreams;
}

}  // namespace kvasir::config
