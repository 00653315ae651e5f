#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hub/catalogue.h"

namespace kvasir::hub {

enum class ModelState {
  ready,    // whole and verified
  partial,  // a pull was interrupted, or a file is to be verified: `pull` finishes it
  absent,   // can be had
  own,      // the user's: a path, or a file put into the model folder; in no catalogue
};

std::string_view state_name(ModelState state);

struct Model {
  std::string name;
  ModelState state = ModelState::absent;
  std::filesystem::path path;    // what a loader opens; there only when `ready` or `own`
  std::uint64_t size = 0;        // bytes, of the finished model
  const Entry* entry = nullptr;  // of the library's catalogue; none for `own`
};

// Where an entry's model lies once pulled: its only file, or the folder of its files.
std::filesystem::path model_path(const std::filesystem::path& model_dir, const Entry& entry);

// The models of this machine and those that can be had. Reads the disk on each call and holds no state but
// its catalogue. Thread-safe.
class Library {
 public:
  Library(Catalogue catalogue, std::filesystem::path model_dir);

  // A catalogue's name, the name of something in the model folder, or a path to a GGUF file or a checkpoint's
  // folder. `not_found` says what could have been meant.
  base::Result<Model> find(const std::string& name_or_path) const;

  // The catalogue's models in its order, then the user's own in the model folder by name.
  std::vector<Model> list() const;

  const Catalogue& catalogue() const { return catalogue_; }
  const std::filesystem::path& model_dir() const { return model_dir_; }

 private:
  Model describe(const Entry& entry) const;

  Catalogue catalogue_;
  std::filesystem::path model_dir_;
};

}  // namespace kvasir::hub
