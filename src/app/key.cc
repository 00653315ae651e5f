#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/account_command.h"
#include "app/command.h"
#include "app/expiry.h"
#include "app/say.h"
#include "tenancy/account_json.h"
#include "tenancy/accounts.h"

namespace kvasir::app {

namespace json = boost::json;
using base::Status;

namespace {

struct KeyFlags : AccountFlags {
  std::string tenant;
  std::string name;
  std::string scope = "tenant";
  std::string expires;
  std::string id;
};

// Only the key's text goes to stdout, so that a script can keep it. Everything for people goes to stderr.
void print_issued(const tenancy::IssuedKey& issued, const AccountFlags& flags) {
  const store::ApiKey& key = issued.key;
  if (flags.json) {
    json::object object = tenancy::key_object(key, unix_ms());
    object["key"] = issued.text;
    fmt::print("{}\n", json::serialize(object));
    return;
  }
  say(stderr, "kvasir: {} of the tenant '{}', scope {}, expires: {}. The key is shown this once:\n", key.id,
      key.tenant, name_of(key.scope), moment_text(key.expires_ms));
  fmt::print("{}\n", issued.text);
}

Status create_key(const KeyFlags& flags, const OpenAccounts& open) {
  const std::int64_t now_ms = unix_ms();
  tenancy::KeyWish wish{.tenant = flags.tenant, .name = flags.name};
  TRY(wish.scope, store::parse_scope(flags.scope));
  if (!flags.expires.empty()) {
    TRY(wish.expires_ms, parse_expiry(flags.expires, now_ms));
  }
  auto issued = tenancy::issue_key(open.accounts(), wish, now_ms);
  if (!issued.ok()) {
    base::Error error = in_flag(std::move(issued).error());
    if (error.code == base::ErrorCode::not_found)
      error.message += fmt::format("; create it with 'kvasir tenant create {} --tier free'", flags.tenant);
    return error;
  }
  print_issued(*issued, flags);
  return base::ok();
}

Status list_keys(const KeyFlags& flags, const OpenAccounts& open) {
  TRY(const std::vector<store::ApiKey> keys, list_all<store::ApiKey>([&](const store::PageQuery& query) {
        return open.accounts().list_keys(flags.tenant, query);
      }));
  const std::int64_t now_ms = unix_ms();
  if (flags.json) {
    json::array rows;
    for (const store::ApiKey& key : keys) rows.push_back(tenancy::key_object(key, now_ms));
    fmt::print("{}\n", json::serialize(rows));
    return base::ok();
  }
  fmt::print("{:<24} {:<16} {:<8} {:<8} {:<9} {:<16} {:<16} {}\n", "ID", "TENANT", "SCOPE", "STATUS", "KEY",
             "CREATED", "EXPIRES", "NAME");
  for (const store::ApiKey& key : keys)
    fmt::print("{:<24} {:<16} {:<8} {:<8} kv-..{:<4} {:<16} {:<16} {}\n", key.id, key.tenant,
               name_of(key.scope), tenancy::status_of(key, now_ms), key.hint, moment_text(key.created_ms),
               moment_text(key.expires_ms), key.name);
  return base::ok();
}

Status revoke_key(const KeyFlags& flags, const OpenAccounts& open) {
  TRY(const store::ApiKey key, open.accounts().revoke_key(flags.id, unix_ms()));
  if (flags.json)
    fmt::print("{}\n", json::serialize(tenancy::key_object(key, unix_ms())));
  else
    say(stderr, "kvasir: {} of the tenant '{}' is revoked; servers end what runs by it within a second\n",
        key.id, key.tenant);
  return base::ok();
}

Status rotate_key(const KeyFlags& flags, const OpenAccounts& open) {
  TRY(const tenancy::IssuedKey issued, tenancy::rotate_key(open.accounts(), flags.id, unix_ms()));
  if (!flags.json) say(stderr, "kvasir: {} is revoked, and another key has its place\n", flags.id);
  print_issued(issued, flags);
  return base::ok();
}

using RunKey = Status (*)(const KeyFlags&, const OpenAccounts&);

void finish(CLI::App& command, const std::shared_ptr<KeyFlags>& flags, Outcome& outcome, RunKey run) {
  run_on_accounts(command, flags, outcome,
                  [flags, run](const OpenAccounts& open) { return run(*flags, open); });
}

void add_create(CLI::App& keys, Outcome& outcome) {
  CLI::App* command = keys.add_subcommand("create", "Make a key, and print it this once");
  auto flags = std::make_shared<KeyFlags>();
  command->add_option("--tenant", flags->tenant, "Whose key it is")->required()->type_name("NAME");
  command->add_option("--name", flags->name, "What it is for, in your words")->type_name("TEXT");
  command
      ->add_option("--scope", flags->scope,
                   "tenant: uses the models; admin: makes tenants and keys; metrics: reads /metrics")
      ->check(CLI::IsMember({"tenant", "admin", "metrics"}))
      ->type_name("tenant|admin|metrics")
      ->capture_default_str();
  command->add_option("--expires", flags->expires, "90d, 12h, 30m or a date (default: never)")
      ->type_name("WHEN");
  command->footer(
      "The key goes to stdout, everything else to stderr. Only its hash is kept.\n"
      "\n"
      "Examples:\n"
      "  kvasir key create --tenant acme\n"
      "  kvasir key create --tenant acme --name 'nightly job' --expires 90d\n"
      "  KEY=$(kvasir key create --tenant ops --scope metrics)");
  finish(*command, flags, outcome, create_key);
}

}  // namespace

void add_key(CLI::App& app, Outcome& outcome) {
  CLI::App* keys = app.add_subcommand("key", "Make, list and revoke API keys");
  keys->require_subcommand(1);
  keys->footer(
      "As soon as there is a key, a server wants one for everything but its health. It need not be\n"
      "started again: a running one sees a new or a revoked key within half a second.\n"
      "\n"
      "Exit status: 0 success, 1 failure, 2 wrong usage.");
  add_create(*keys, outcome);

  CLI::App* list = keys->add_subcommand("list", "List the keys, without their texts");
  auto list_flags = std::make_shared<KeyFlags>();
  list->add_option("--tenant", list_flags->tenant, "Only those of one tenant")->type_name("NAME");
  finish(*list, list_flags, outcome, list_keys);

  CLI::App* revoke = keys->add_subcommand("revoke", "End a key, and what runs by it");
  auto revoke_flags = std::make_shared<KeyFlags>();
  revoke->add_option("ID", revoke_flags->id, "The key's id, as 'kvasir key list' shows it")
      ->required()
      ->type_name("");
  finish(*revoke, revoke_flags, outcome, revoke_key);

  CLI::App* rotate = keys->add_subcommand("rotate", "Revoke a key, and make another in its place");
  auto rotate_flags = std::make_shared<KeyFlags>();
  rotate->add_option("ID", rotate_flags->id, "The key's id, as 'kvasir key list' shows it")
      ->required()
      ->type_name("");
  finish(*rotate, rotate_flags, outcome, rotate_key);
}

}  // namespace kvasir::app
