#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "store/page.h"

namespace kvasir::api {

// The latest events of one stream, numbered from 1, for readers that come back. When it exceeds `max_bytes`,
// the oldest events are dropped. Thread-safe.
class EventLog {
 public:
  EventLog(std::size_t max_bytes, const base::Clock& clock);

  // Adds whole events. Returns their text, with each event's number in an "id:" line.
  std::string append(std::string_view events);
  // Marks the stream as ended. No events may be added after this.
  void end();
  bool ended() const;
  // Whether no event has been dropped.
  bool has_all() const;
  std::size_t num_bytes() const;

  struct Page {
    std::string events;
    std::uint64_t last = 0;  // number of the last event on the page; `after` if there is none
    bool complete = false;   // no event will follow
  };
  // The events after number `after`, at most about `max_bytes` of them. not_found: some have been dropped.
  base::Result<Page> read(std::uint64_t after, std::size_t max_bytes) const;

  // The stream has a reader while one of these objects lives. `changed` is called, on any thread, when there
  // may be more to read.
  class Reader {
   public:
    Reader(std::shared_ptr<EventLog> log, std::function<void()> changed);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    std::shared_ptr<EventLog> log_;
    std::uint64_t key_;
  };

  // The time since which there has been no reader; absent while there is one.
  std::optional<base::TimePoint> unread_since() const;
  std::optional<base::TimePoint> ended_at() const;

 private:
  struct Event {
    std::uint64_t number;
    std::string text;
  };
  void tell_readers(std::unique_lock<std::mutex>& lock);

  const std::size_t max_bytes_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::deque<Event> events_;                                // guarded by mutex_
  std::size_t num_bytes_ = 0;                               // guarded by mutex_
  std::uint64_t last_ = 0;                                  // guarded by mutex_
  std::optional<base::TimePoint> ended_at_;                 // guarded by mutex_
  std::optional<base::TimePoint> unread_since_;             // guarded by mutex_
  std::uint64_t next_key_ = 0;                              // guarded by mutex_
  std::map<std::uint64_t, std::function<void()>> readers_;  // guarded by mutex_
};

// The logs of all streams that can be resumed, by tenant and the id of the answer. Bounded; thread-safe.
class EventLogs {
 public:
  struct Limits {
    std::size_t max_logs = 128;
    std::size_t max_bytes_per_log = 1 << 20;
    base::Duration keep = std::chrono::seconds(60);  // for ended logs and logs without a reader
  };

  EventLogs(Limits limits, const base::Clock& clock) : limits_(limits), clock_(clock) {}

  // Makes a log. If there is no room, the log that ended first is dropped. exhausted: too many streams run.
  base::Result<std::shared_ptr<EventLog>> open(const store::Key& key);
  base::Result<std::shared_ptr<EventLog>> find(const store::Key& key);
  // Removes the log, so that `find` no longer finds it. Its present readers go on reading.
  void forget(const store::Key& key);
  // Whether the log has had no reader for as long as logs are kept.
  bool abandoned(const EventLog& log) const;
  // The bytes of all events that are kept.
  std::size_t num_bytes() const;

 private:
  void drop_old();  // with mutex_ held

  const Limits limits_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  // The logs by tenant and id; guarded by mutex_.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<EventLog>> logs_;
};

}  // namespace kvasir::api
