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

// Shared by the commands that change tenants and keys. They work on the data folder, whether or not a server
// runs on it; a running server sees the change within half a second.
struct AccountFlags {
  config::FlagValues settings;
  bool json = false;
};

struct OpenAccounts {
  config::Settings settings;
  std::unique_ptr<store::Store> store;

  store::Accounts& accounts() const { return store->accounts(); }
};

// Adds --json, --config and --data-dir, and lets the command call `run` with the store. An error of `run` is
// reported: as wrong usage if it is about a flag.
void run_on_accounts(CLI::App& command, std::shared_ptr<AccountFlags> flags, Outcome& outcome,
                     std::function<base::Status(const OpenAccounts&)> run);

// Turns an error about `field` into one about the flag of that name.
base::Error in_flag(base::Error error);

// Reads all pages of a list into one vector.
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
