#include "store/open.h"

#include <utility>

#include "config/load.h"
#include "store/sqlite_store.h"

namespace kvasir::store {

base::Result<std::unique_ptr<Store>> open_store(const config::Settings& settings) {
  auto store = SqliteStore::open(config::data_dir(settings) / "kvasir.db");
  if (!store.ok()) {
    base::Error error = std::move(store).error();
    error.message += "; --data-dir names another folder";
    return error;
  }
  return std::unique_ptr<Store>(std::move(*store));
}

}  // namespace kvasir::store
