#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/upstream_config.h"
#include "net/client_connection.h"
#include "net/url.h"
#include "upstream/failure.h"
#include "upstream/standing.h"

namespace kvasir::upstream {

// One server of a pool: its address, its standing, and the connections to it that are kept open. Thread-safe;
// shared by its pool, its checks and the calls to it.
class Member {
 public:
  // Reads the key. An error names the upstream.
  static base::Result<std::shared_ptr<Member>> open(const config::UpstreamConfig& config,
                                                    const base::Clock& clock);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  const config::UpstreamConfig& config() const { return config_; }
  const std::string& label() const { return config_.label; }
  std::uint64_t id() const { return id_; }
  // The URL of a path below the address in the settings, such as "/chat/completions".
  net::Url url_of(std::string_view path) const;
  // The URL of a path below that address without its "/v1", such as "/metrics".
  net::Url root_url_of(std::string_view path) const;
  // The headers of every request to the member. They hold the key.
  const std::vector<net::HttpHeader>& headers() const { return headers_; }
  // Cleans a text for the log or for clients: replaces the key wherever the text contains it or ends in its
  // beginning.
  std::string without_key(std::string words) const;
  net::HttpClientOptions client_options() const;

  // What the pool needs for a choice.
  struct View {
    bool admits = false;  // may get a request now
    bool full = false;    // has as many requests as it may have
    int in_flight = 0;
    int load = 0;  // in flight, or more if it reports requests of other clients
  };
  View view() const;
  bool is_up() const;
  bool is_ejected() const;
  int context_length() const;  // 0: not known
  // Ended requests, by how they ended.
  struct Counts {
    std::uint64_t good = 0;
    std::uint64_t failed = 0;
    std::uint64_t busy = 0;
    std::uint64_t other = 0;  // the client left, or the request was wrong
  };
  Counts counts() const;

  // Takes a place for a request. The member must admit one and not be full.
  void enter();
  // How the request ended.
  enum class Ending : std::uint8_t { good, nothing };
  void leave(Ending ending);
  void leave(const Failure& failure);

  // Takes a connection for one exchange, to be used on the executor. Null: the address is not known yet.
  std::unique_ptr<net::ClientConnection> take_connection(const boost::asio::any_io_executor& executor);
  // Gives back a connection that may be used again.
  void keep(std::unique_ptr<net::ClientConnection> connection, const boost::asio::any_io_executor& executor);
  // Call it when the executors have stopped.
  void close_connections();

  // Results of the checks.
  void set_origin(std::shared_ptr<const net::Origin> origin);
  bool has_origin() const;
  // True if the member went up or down.
  bool note_check(bool good);
  void note_load(std::optional<int> load);
  void note_context_length(int tokens);

 private:
  Member(const config::UpstreamConfig& config, net::Url url, const base::Clock& clock);

  struct Kept {
    boost::asio::any_io_executor executor;
    std::unique_ptr<net::ClientConnection> connection;
    base::TimePoint since;
  };

  const config::UpstreamConfig config_;
  const net::Url url_;
  const std::uint64_t id_;
  const base::Clock& clock_;
  std::string key_;                       // set by open(); may be empty
  std::vector<net::HttpHeader> headers_;  // set by open()
  mutable std::mutex mutex_;
  Standing standing_;                          // guarded by mutex_
  int in_flight_ = 0;                          // guarded by mutex_
  Counts counts_;                              // guarded by mutex_
  std::optional<int> reported_load_;           // guarded by mutex_
  int in_flight_at_report_ = 0;                // guarded by mutex_
  int context_length_ = 0;                     // guarded by mutex_
  std::shared_ptr<const net::Origin> origin_;  // guarded by mutex_; null: not looked up yet
  std::vector<Kept> kept_;                     // guarded by mutex_; the latest one is last
};

// A request's place at a member, which its destructor gives back. A move-only value.
class Slot {
 public:
  explicit Slot(std::shared_ptr<Member> member) : member_(std::move(member)) { member_->enter(); }
  Slot(Slot&&) noexcept = default;
  Slot& operator=(Slot&& other) noexcept;
  ~Slot() { end(); }

  const std::shared_ptr<Member>& member() const { return member_; }
  // Notes how the request ended at the member. Only the first call counts.
  void note_good();
  void note(const Failure& failure);
  void end();  // ends the request without blaming or praising the member

 private:
  std::shared_ptr<Member> member_;  // null once moved from or ended
};

}  // namespace kvasir::upstream
