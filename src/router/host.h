#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "hub/library.h"
#include "router/router.h"

namespace kvasir::router {

// Where hosts report on their models, from any thread.
class HostReports {
 public:
  virtual ~HostReports() = default;
  // A step on the way to ready.
  virtual void tell_state(const std::string& name, ModelState state) = 0;
  virtual void tell_fetched(const std::string& name, std::int64_t bytes) = 0;
  // `note` is for the operator; empty: none.
  virtual void tell_ready(const std::string& name, ServedModel model, ModelMemory memory,
                          std::string note) = 0;
  virtual void tell_failed(const std::string& name, base::Error error) = 0;
  // The engine of a ready model failed.
  virtual void tell_engine_failed(const std::string& name, const base::Error& error) = 0;
};

// One model on its way into memory, and in it. Its methods are called by one thread at a time.
class Host {
 public:
  // Stops, and frees the memory. No request may use the model by now.
  virtual ~Host() = default;
  // Begins to download the files; the end is reported.
  virtual void fetch() = 0;
  // Begins to load; the end is reported. The files must be on this machine.
  virtual void load() = 0;
  // Gives up loading, and ends the engine's requests with an error. Nothing is reported after it returns.
  virtual void stop() = 0;
};

// Makes hosts. Thread-safe.
class Loader {
 public:
  virtual ~Loader() = default;
  // The reports outlive the host.
  virtual std::unique_ptr<Host> make_host(const hub::Model& model, HostReports& reports) = 0;
  // Estimates the bytes that the model will take in memory. May read the disk.
  virtual std::int64_t estimate(const hub::Model& model) const = 0;
};

}  // namespace kvasir::router
