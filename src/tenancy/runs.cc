#include "tenancy/runs.h"

#include <utility>

namespace kvasir::tenancy {

struct Runs::Table {
  mutable std::mutex mutex;
  std::uint64_t next = 1;                                                      // guarded by mutex
  std::map<std::string, std::map<std::uint64_t, std::function<void()>>> runs;  // guarded by mutex

  void leave(const std::string& key, std::uint64_t number) {
    const std::lock_guard lock(mutex);
    const auto of_key = runs.find(key);
    if (of_key == runs.end()) return;  // the run was ended
    of_key->second.erase(number);
    if (of_key->second.empty()) runs.erase(of_key);
  }
};

Runs::Run::Run(Run&& other) noexcept
    : table_(std::exchange(other.table_, nullptr)), key_(std::move(other.key_)), number_(other.number_) {}

Runs::Run& Runs::Run::operator=(Run&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(key_, other.key_);
  std::swap(number_, other.number_);
  return *this;
}

Runs::Run::~Run() {
  if (table_) table_->leave(key_, number_);
}

Runs::Runs() : table_(std::make_shared<Table>()) {}

Runs::Run Runs::enter(std::string key, std::function<void()> end) {
  Run run;
  if (key.empty()) return run;
  const std::lock_guard lock(table_->mutex);
  run.number_ = table_->next++;
  table_->runs[key].emplace(run.number_, std::move(end));
  run.table_ = table_;
  run.key_ = std::move(key);
  return run;
}

void Runs::end_where(const std::function<bool(const std::string& key)>& is_over) {
  const std::lock_guard lock(table_->mutex);
  std::erase_if(table_->runs, [&](const auto& of_key) {
    if (!is_over(of_key.first)) return false;
    for (const auto& [number, end] : of_key.second) end();
    return true;
  });
}

std::size_t Runs::num_keys() const {
  const std::lock_guard lock(table_->mutex);
  return table_->runs.size();
}

}  // namespace kvasir::tenancy
