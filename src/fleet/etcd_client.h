#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "net/http_client.h"

namespace kvasir::fleet {

struct EtcdOptions {
  std::vector<net::Url> endpoints;  // never empty; they are tried one after the other
  std::string user;                 // empty: no login
  std::string password;
  std::string ca_file;                      // trusted in addition to the system's
  std::string prefix = "/kvasir/workers/";  // of the keys
  std::chrono::seconds lease{5};            // a worker that is silent for this long is gone
};

// etcd's key-value API, by the JSON gateway of version 3.4 and later. Blocks the calling thread. Thread-safe.
class EtcdClient {
 public:
  struct Entry {
    std::string key;
    std::string value;
  };
  struct Range {
    std::int64_t revision = 0;
    std::vector<Entry> entries;
  };
  struct Event {
    std::string key;
    std::optional<std::string> value;  // absent: the key is gone
  };

  explicit EtcdClient(EtcdOptions options) : options_(std::move(options)) {}

  const EtcdOptions& options() const { return options_; }

  base::Result<std::int64_t> grant_lease(std::stop_token stop);
  // False: the lease does not exist any more.
  base::Result<bool> keep_alive(std::int64_t lease, std::stop_token stop);
  base::Status revoke(std::int64_t lease, std::stop_token stop);
  base::Status put(std::string_view key, std::string_view value, std::int64_t lease, std::stop_token stop);
  // All keys with the prefix.
  base::Result<Range> range(std::stop_token stop);
  // Calls `on_events` with the changes of those keys from this revision on, until the connection ends or
  // nothing has come for `silence`. Afterwards read the present state by `range`.
  base::Status watch(std::int64_t from_revision, std::chrono::milliseconds silence,
                     const std::function<void(const std::vector<Event>&)>& on_events, std::stop_token stop);

 private:
  base::Result<base::json::object> call(std::string_view path, const base::json::object& body,
                                        std::stop_token stop);
  base::Result<base::json::object> call_once(std::string_view path, const base::json::object& body,
                                             std::stop_token stop);
  base::Result<net::HttpCall> make_call(std::string_view path, const base::json::object& body,
                                        std::stop_token stop);
  base::Result<std::string> log_in(std::stop_token stop);
  net::HttpClient client(std::chrono::milliseconds read_timeout) const;
  net::Url url_of(std::string_view path);
  void try_next_endpoint();

  const EtcdOptions options_;
  std::mutex mutex_;
  std::size_t endpoint_ = 0;  // guarded by mutex_
  std::string token_;         // guarded by mutex_; empty: not logged in
};

}  // namespace kvasir::fleet
