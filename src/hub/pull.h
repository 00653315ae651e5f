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

// Hears how a pull goes on, from several threads at once.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // Bytes of the whole model so far. May fall back when a source is given up.
  virtual void bytes(std::string_view model, std::uint64_t done, std::uint64_t total) = 0;
  // One sentence about something that takes time or went wrong without ending the pull.
  virtual void note(std::string_view model, std::string_view sentence) = 0;
};

struct PullOptions {
  std::filesystem::path model_dir;
  std::string hf_endpoint;  // where hf: sources lie
  std::string hf_token;     // empty: none
  std::string ca_file;      // trusted for hf: besides the system's certificates
  bool offline = false;     // only what is on this machine
  int max_parallel = 4;     // packages of one model fetched at once
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds read_timeout{30000};
  std::stop_token stop;
};

// Makes sure that every file of the model lies in `model_dir`, verified, and returns what a loader opens:
// the file of a model that has one, the folder of one that has several. Blocks; call it on a thread of its
// own. Does nothing when the files are there and stamped; files without a stamp are hashed and not fetched.
//
// Files appear in the model's folder only whole and verified. What an interrupted pull fetched stays under
// model_dir/.partial and is used by the next one; what turns out wrong is removed. A lock makes a second
// pull of the same model, in any process, wait for the first. Sources are tried in order, each failure a
// note; the error at the end names them all.
base::Result<std::filesystem::path> pull(const Entry& entry, const PullOptions& options, ProgressSink& sink);

}  // namespace kvasir::hub
