#include "tenancy/directory.h"

#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "obs/log.h"
#include "tenancy/api_key.h"

namespace kvasir::tenancy {

using base::Result;
using base::Status;

namespace {

// A KeyHash is random, so its first bytes are a good hash for the map.
struct FirstBytes {
  std::size_t operator()(const KeyHash& hash) const {
    std::size_t value = 0;
    std::memcpy(&value, hash.data(), sizeof(value));
    return value;
  }
};

std::optional<KeyHash> parse_hash(std::string_view hex) {
  KeyHash hash;
  if (hex.size() != 2 * hash.size()) return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<unsigned char>(16 * high + low);
  }
  return hash;
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::int64_t system_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

struct Directory::Snapshot {
  struct Entry {
    Holder holder;
    std::int64_t expires_ms = 0;
  };
  static bool is_over(std::int64_t expires_ms, std::int64_t now_ms) {
    return expires_ms != 0 && expires_ms <= now_ms;
  }

  std::int64_t version = 0;
  std::unordered_map<KeyHash, Entry, FirstBytes> keys;  // by hash
  std::map<std::string, std::int64_t> expiries;         // by the key's id
  std::map<std::string, Caller> tenants;
};

Directory::Directory(store::Accounts& accounts, std::vector<Tier> tiers, Options options)
    : accounts_(accounts),
      tiers_(std::move(tiers)),
      options_([&] {
        if (!options.now_ms) options.now_ms = system_ms;
        return std::move(options);
      }()),
      number_(next_number()),
      snapshot_(std::make_shared<const Snapshot>()) {
  CHECK(!tiers_.empty(), "no tiers");
}

Result<std::unique_ptr<Directory>> Directory::open(store::Accounts& accounts, std::vector<Tier> tiers,
                                                   Options options) {
  std::unique_ptr<Directory> directory(new Directory(accounts, std::move(tiers), std::move(options)));
  TRY_OK(directory->refresh());
  directory->thread_ =
      std::jthread([self = directory.get()](const std::stop_token& stop) { self->watch(stop); });
  return directory;
}

Directory::~Directory() {
  stop();
}

void Directory::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

// Each thread keeps the last snapshot that it saw, and takes the lock only after the generation has changed.
// So readers share no lock with each other or with the writer. (std::atomic<std::shared_ptr> of g++ 12 has a
// race that shows on arm64.)
Directory::SnapshotPtr Directory::current() const {
  struct Seen {
    std::uint64_t directory = 0;
    std::uint64_t generation = 0;
    SnapshotPtr snapshot;
  };
  thread_local Seen seen;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  if (seen.directory != number_ || seen.generation != generation) {
    const std::lock_guard lock(mutex_);
    seen = {number_, generation_.load(std::memory_order_relaxed), snapshot_};
  }
  return seen.snapshot;
}

bool Directory::needs_key() const {
  return had_key_.load(std::memory_order_acquire);
}

std::optional<Directory::Holder> Directory::find(std::string_view text) const {
  if (text.size() > kMaxKeyBytes) return std::nullopt;
  const SnapshotPtr snapshot = current();
  const auto found = snapshot->keys.find(hash_key(text));
  if (found == snapshot->keys.end()) return std::nullopt;
  const Snapshot::Entry& entry = found->second;
  if (entry.expires_ms != 0 && Snapshot::is_over(entry.expires_ms, options_.now_ms())) return std::nullopt;
  return entry.holder;
}

Caller Directory::of_tenant(const std::string& tenant) const {
  const SnapshotPtr snapshot = current();
  const auto found = snapshot->tenants.find(tenant);
  if (found != snapshot->tenants.end()) return found->second;
  Caller caller = caller_of_tenant(tenant);
  if (needs_key()) caller.tier = std::make_shared<const Tier>(tiers_[0]);
  return caller;
}

Directory::SnapshotPtr Directory::make_snapshot(const store::AccountsSnapshot& read) const {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = read.version;
  std::map<std::string, std::shared_ptr<const Tier>> tiers;
  for (const Tier& tier : tiers_) tiers[tier.name] = std::make_shared<const Tier>(tier);
  for (const store::Tenant& tenant : read.tenants) {
    Caller caller{.tenant = tenant.id, .flow = tenant.id};
    const auto tier = tiers.find(tenant.tier);
    if (tier == tiers.end())
      obs::Log::warn("unknown_tier",
                     {{"tenant", tenant.id}, {"tier", tenant.tier}, {"used", tiers_[0].name}});
    caller.tier = tier == tiers.end() ? tiers[tiers_[0].name] : tier->second;
    if (!tenant.system_prompt.empty())
      caller.system_prompt = std::make_shared<const std::string>(tenant.system_prompt);
    snapshot->tenants.emplace(tenant.id, std::move(caller));
  }
  for (const store::ApiKey& key : read.keys) {
    const std::optional<KeyHash> hash = parse_hash(key.hash);
    const auto tenant = snapshot->tenants.find(key.tenant);
    if (!hash || tenant == snapshot->tenants.end()) continue;  // this program did not make the key
    Snapshot::Entry entry{{tenant->second, key.scope}, key.expires_ms};
    entry.holder.caller.key = key.id;
    snapshot->expiries.emplace(key.id, key.expires_ms);
    snapshot->keys.emplace(*hash, std::move(entry));
  }
  return snapshot;
}

Status Directory::refresh() {
  const std::lock_guard refreshing(refreshing_);
  const auto look = [&]() -> Status {
    TRY(const std::int64_t version, accounts_.version());
    if (version == current()->version) return base::ok();
    TRY(const store::AccountsSnapshot read, accounts_.snapshot());
    SnapshotPtr next = make_snapshot(read);
    if (!read.keys.empty()) had_key_.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(next);
    generation_.fetch_add(1, std::memory_order_release);
    return base::ok();
  };
  Status looked = look();
  if (!looked.ok() && !store_failed_)
    obs::Log::warn("accounts_not_read", {{"error", looked.error().message}});
  store_failed_ = !looked.ok();
  end_runs();
  return looked;
}

void Directory::end_runs() {
  const SnapshotPtr snapshot = current();
  const std::int64_t now_ms = options_.now_ms();
  runs_.end_where([&](const std::string& key) {
    const auto found = snapshot->expiries.find(key);
    return found == snapshot->expiries.end() || Snapshot::is_over(found->second, now_ms);
  });
}

void Directory::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, options_.poll, [] { return false; });
    if (!stop.stop_requested()) (void)refresh();
  }
}

}  // namespace kvasir::tenancy
