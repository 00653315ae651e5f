#include "tenancy/accounts.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tenancy/api_key.h"

namespace kvasir::tenancy {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxTenantName = 64;
constexpr std::size_t kMaxKeyName = 200;
constexpr std::size_t kMaxSystemPrompt = std::size_t{64} << 10;
constexpr std::size_t kNumHintCharacters = 4;

Error wrong(std::string field, std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message), std::move(field), "invalid_value"};
}

bool is_tenant_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMaxTenantName && std::ranges::all_of(name, allowed) &&
         name.front() != '.' && name.front() != '-';
}

IssuedKey make_key(const KeyWish& wish, std::int64_t now_ms) {
  IssuedKey issued;
  issued.text = make_key_text();
  issued.key = {.id = make_key_id(),
                .tenant = wish.tenant,
                .name = wish.name,
                .scope = wish.scope,
                .hash = hex_of(hash_key(issued.text)),
                .hint = issued.text.substr(issued.text.size() - kNumHintCharacters),
                .created_ms = now_ms,
                .expires_ms = wish.expires_ms};
  return issued;
}

}  // namespace

Status check_tier(std::string_view name, const std::vector<Tier>& tiers) {
  if (config::find_tier(tiers, name) != nullptr) return base::ok();
  std::string names;
  for (const Tier& tier : tiers) names += (names.empty() ? "" : ", ") + tier.name;
  return wrong("tier", fmt::format("there is no tier '{}'; there are {}", name, names));
}

Status check_system_prompt(std::string_view text) {
  if (text.size() > kMaxSystemPrompt) return wrong("system_prompt", "it has more than 64 KiB");
  if (base::utf8_valid_prefix(text) != text.size()) return wrong("system_prompt", "it is not UTF-8");
  return base::ok();
}

Status check_tenant(const store::Tenant& tenant, const std::vector<Tier>& tiers) {
  if (!is_tenant_name(tenant.id))
    return wrong("name", fmt::format("expected 1 to 64 letters, digits, dots, dashes and underscores, "
                                     "beginning with a letter, a digit or an underscore, and got '{}'",
                                     tenant.id));
  if (tenant.id == anonymous().tenant)
    return wrong("name", "'anonymous' owns what is stored without a key; choose another");
  TRY_OK(check_tier(tenant.tier, tiers));
  return check_system_prompt(tenant.system_prompt);
}

Result<IssuedKey> issue_key(store::Accounts& accounts, const KeyWish& wish, std::int64_t now_ms) {
  if (wish.name.size() > kMaxKeyName || base::utf8_valid_prefix(wish.name) != wish.name.size())
    return wrong("name", "expected at most 200 bytes of UTF-8");
  if (wish.expires_ms != 0 && wish.expires_ms <= now_ms) return wrong("expires", "that time is over");
  IssuedKey issued = make_key(wish, now_ms);
  TRY_OK(accounts.add_key(issued.key));
  return issued;
}

Result<IssuedKey> rotate_key(store::Accounts& accounts, const std::string& id, std::int64_t now_ms) {
  TRY(const store::ApiKey old, accounts.find_key(id));
  KeyWish wish{.tenant = old.tenant, .name = old.name, .scope = old.scope};
  if (old.expires_ms != 0) wish.expires_ms = now_ms + (old.expires_ms - old.created_ms);
  IssuedKey issued = make_key(wish, now_ms);
  TRY_OK(accounts.replace_key(id, issued.key, now_ms));
  return issued;
}

}  // namespace kvasir::tenancy
