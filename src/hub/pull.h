#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hub/catalogue.h"

namespace kvasir::hub {

// Receives the progress of a pull, from several threads at once.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // Takes the bytes of the whole model so far. `done` may decrease when a source is given up.
  virtual void bytes(std::string_view model, std::uint64_t done, std::uint64_t total) = 0;
  // Takes one sentence about something that takes time, or that went wrong without ending the pull.
  virtual void note(std::string_view model, std::string_view sentence) = 0;
};

struct PullOptions {
  std::filesystem::path model_dir;
  std::string hf_endpoint;  // server of hf: sources
  std::string hf_token;     // empty: none
  std::string ca_file;      // trusted for hf: sources besides the system's certificates
  bool offline = false;     // use only files on this machine
  int max_parallel = 4;     // packages of one model that are fetched at once
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds read_timeout{30000};
  std::stop_token stop;
};

// Makes sure that every file of the model is in `model_dir` and verified. Returns the path that a loader
// opens: the only file of the model, or the folder if the model has several files. Blocks, so call it on a
// thread of its own. Does nothing if all files are there and have stamps; files without a stamp are hashed,
// not fetched.
// Files appear in the model's folder only when they are complete and verified. The files of an interrupted
// pull stay in model_dir/.partial for the next pull; wrong files are removed. A lock makes a second pull of
// the same model, in any process, wait for the first. Sources are tried in order, and each failure becomes a
// note; the final error names all failures.
base::Result<std::filesystem::path> pull(const Entry& entry, const PullOptions& options, ProgressSink& sink);

}  // namespace kvasir::hub
