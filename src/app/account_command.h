#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/command.h"
#include "config/load.h"
#include "store/store.h"

namespace kvasir::app {

// What the commands that change tenants and keys share. They work on the data folder, whether or not a
// server runs on it; one that does sees the change within half a second.
struct AccountFlags {
  config::FlagValues settings;
  bool json = false;
};

struct OpenAccounts {
  config::Settings settings;
  std::unique_ptr<store::Store> store;

  store::Accounts& accounts() const { return store->accounts(); }
};

// Adds --json, --config and --data-dir, and has `run` called with the store. Its error is reported: as wrong
// usage where it is about a flag.
void run_on_accounts(CLI::App& command, std::shared_ptr<AccountFlags> flags, Outcome& outcome,
                     std::function<base::Status(const OpenAccounts&)> run);

// An error about `field` as one about the flag of that name.
base::Error in_flag(base::Error error);

// The pages of a list as one.
template <class T, class List>
base::Result<std::vector<T>> list_all(List list) {
  std::vector<T> all;
  store::PageQuery query{.limit = 1000, .order = store::Order::ascending};
  while (true) {
    TRY(store::Page<T> page, list(query));
    for (T& item : page.items) all.push_back(std::move(item));
    if (!page.has_more || all.empty()) return all;
    query.after = all.back().id;
  }
}

}  // namespace kvasir::app
