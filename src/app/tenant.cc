#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
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

struct TenantFlags : AccountFlags {
  std::string name;
  std::optional<std::string> tier;
  std::optional<std::string> system_prompt;
  bool yes = false;
};

void print_tenant(const store::Tenant& tenant, const AccountFlags& flags) {
  if (flags.json) return fmt::print("{}\n", json::serialize(tenancy::tenant_object(tenant)));
  fmt::print("name           {}\ntier           {}\ncreated        {}\nsystem prompt  {}\n", tenant.id,
             tenant.tier, moment_text(tenant.created_ms),
             tenant.system_prompt.empty() ? "none" : tenant.system_prompt);
}

Status create_tenant(const TenantFlags& flags, const OpenAccounts& open) {
  const store::Tenant tenant{.id = flags.name,
                             .tier = flags.tier.value_or("free"),
                             .system_prompt = flags.system_prompt.value_or(""),
                             .created_ms = unix_ms()};
  if (const Status checked = tenancy::check_tenant(tenant, open.settings.tiers); !checked.ok()) {
    base::Error error = checked.error();
    if (error.field == "name") error.field.clear();  // the name is an argument here, not a flag
    return in_flag(std::move(error));
  }
  TRY_OK(open.accounts().add_tenant(tenant));
  if (flags.json) {
    print_tenant(tenant, flags);
    return base::ok();
  }
  say(stderr,
      "kvasir: the tenant '{}' has the tier '{}'; give it a key with 'kvasir key create --tenant {}'\n",
      tenant.id, tenant.tier, tenant.id);
  return base::ok();
}

Status list_tenants(const TenantFlags& flags, const OpenAccounts& open) {
  TRY(const std::vector<store::Tenant> tenants, list_all<store::Tenant>([&](const store::PageQuery& query) {
        return open.accounts().list_tenants(query);
      }));
  if (flags.json) {
    json::array rows;
    for (const store::Tenant& tenant : tenants) rows.push_back(tenancy::tenant_object(tenant));
    fmt::print("{}\n", json::serialize(rows));
    return base::ok();
  }
  fmt::print("{:<24} {:<12} {}\n", "NAME", "TIER", "CREATED");
  for (const store::Tenant& tenant : tenants)
    fmt::print("{:<24} {:<12} {}\n", tenant.id, tenant.tier, moment_text(tenant.created_ms));
  return base::ok();
}

Status show_tenant(const TenantFlags& flags, const OpenAccounts& open) {
  TRY(const store::Tenant tenant, open.accounts().find_tenant(flags.name));
  print_tenant(tenant, flags);
  return base::ok();
}

Status set_tenant(const TenantFlags& flags, const OpenAccounts& open) {
  if (!flags.tier && !flags.system_prompt)
    return base::error(base::ErrorCode::invalid_argument, "say what to set: --tier or --system-prompt");
  if (flags.tier)
    if (const Status tier = tenancy::check_tier(*flags.tier, open.settings.tiers); !tier.ok())
      return in_flag(tier.error());
  if (flags.system_prompt)
    if (const Status prompt = tenancy::check_system_prompt(*flags.system_prompt); !prompt.ok())
      return in_flag(prompt.error());
  TRY(const store::Tenant tenant,
      open.accounts().change_tenant(flags.name, {.tier = flags.tier, .system_prompt = flags.system_prompt}));
  print_tenant(tenant, flags);
  return base::ok();
}

Status delete_tenant(const TenantFlags& flags, const OpenAccounts& open) {
  if (!flags.yes)
    return base::error(base::ErrorCode::invalid_argument,
                       "this deletes the tenant '{}' with its keys, conversations, files, batches and "
                       "answers; say --yes if that is meant",
                       flags.name);
  TRY_OK(open.accounts().remove_tenant(flags.name));
  if (flags.json)
    fmt::print("{}\n", json::serialize(json::object{{"id", flags.name}, {"deleted", true}}));
  else
    say(stderr, "kvasir: the tenant '{}' is deleted\n", flags.name);
  return base::ok();
}

using RunTenant = Status (*)(const TenantFlags&, const OpenAccounts&);
enum class Takes { nothing, name, name_and_fields };

CLI::App* add(CLI::App& tenants, Outcome& outcome, const char* name, const char* description, Takes takes,
              RunTenant run) {
  CLI::App* command = tenants.add_subcommand(name, description);
  auto flags = std::make_shared<TenantFlags>();
  if (takes != Takes::nothing)
    command->add_option("NAME", flags->name, "The tenant's name")->required()->type_name("");
  if (takes == Takes::name_and_fields) {
    command->add_option("--tier", flags->tier, "Its tier: free, pro, enterprise, or one of the settings file")
        ->type_name("TIER");
    command
        ->add_option("--system-prompt", flags->system_prompt,
                     "Put before the system message of each of its chats; '' takes it away")
        ->type_name("TEXT");
  }
  if (run == delete_tenant) command->add_flag("--yes", flags->yes, "Yes, with everything that it owns");
  run_on_accounts(*command, flags, outcome,
                  [flags, run](const OpenAccounts& open) { return run(*flags, open); });
  return command;
}

}  // namespace

void add_tenant(CLI::App& app, Outcome& outcome) {
  CLI::App* tenants = app.add_subcommand("tenant", "Make, change and list tenants: who uses the server");
  tenants->require_subcommand(1);
  tenants->footer(
      "A tenant owns its conversations, files and batches, and its tier says how much it may use. Tiers\n"
      "beside free, pro and enterprise are [[tiers]] of the file that --config names.\n"
      "\n"
      "Examples:\n"
      "  kvasir tenant create acme --tier pro\n"
      "  kvasir tenant set acme --system-prompt 'Answer in German.'\n"
      "\n"
      "Exit status: 0 success, 1 failure, 2 wrong usage.");
  add(*tenants, outcome, "create", "Make a tenant", Takes::name_and_fields, create_tenant);
  add(*tenants, outcome, "list", "List the tenants", Takes::nothing, list_tenants);
  add(*tenants, outcome, "show", "Show one", Takes::name, show_tenant);
  add(*tenants, outcome, "set", "Change a tenant's tier or system prompt", Takes::name_and_fields,
      set_tenant);
  add(*tenants, outcome, "delete", "Delete a tenant with all that it owns", Takes::name, delete_tenant);
}

}  // namespace kvasir::app
