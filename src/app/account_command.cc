#include "app/account_command.h"

#include <utility>

#include "config/setting_table.h"
#include "store/open.h"

namespace kvasir::app {

base::Error in_flag(base::Error error) {
  if (error.code != base::ErrorCode::invalid_argument || error.field.empty()) return error;
  error.message = fmt::format("{}: {}", config::flag_of(error.field), error.message);
  return error;
}

void run_on_accounts(CLI::App& command, std::shared_ptr<AccountFlags> flags, Outcome& outcome,
                     std::function<base::Status(const OpenAccounts&)> run) {
  command.add_flag("--json", flags->json, "Print JSON");
  config::add_flags(command, flags->settings, {"data_dir"});
  command.callback([flags = std::move(flags), run = std::move(run), &outcome] {
    auto settings = config::load(flags->settings);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    auto store = store::open_store(*settings);
    if (!store.ok()) return report(outcome, store.error());
    const base::Status done = run({std::move(*settings), std::move(*store)});
    if (done.ok()) return;
    if (done.error().code == base::ErrorCode::invalid_argument) return report_usage(outcome, done.error());
    report(outcome, done.error());
  });
}

}  // namespace kvasir::app
