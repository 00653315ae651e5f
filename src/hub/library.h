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
  ready,    // complete and verified
  partial,  // a pull was interrupted, or a file is not verified; `pull` completes it
  absent,   // can be fetched
  own,      // the user's own: a path, or a file in the model folder that no catalogue lists
};

std::string_view state_name(ModelState state);

struct Model {
  std::string name;
  ModelState state = ModelState::absent;
  std::filesystem::path path;    // the path that a loader opens; exists only if `ready` or `own`
  std::uint64_t size = 0;        // bytes of the complete model
  const Entry* entry = nullptr;  // in the library's catalogue; null for `own`
};

// Whether all files of the model are on this machine.
inline bool is_here(const Model& model) {
  return model.state == ModelState::ready || model.state == ModelState::own;
}

// Returns the path of an entry's model after a pull: the model's only file, or the folder of its files.
std::filesystem::path model_path(const std::filesystem::path& model_dir, const Entry& entry);

// The models on this machine and those that can be fetched. Each call reads the disk; the only state is the
// catalogue. Thread-safe.
class Library {
 public:
  Library(Catalogue catalogue, std::filesystem::path model_dir);

  // Finds a model by its name in the catalogue, by the name of something in the model folder, or by the path
  // of a GGUF file or of a checkpoint's folder. The error `not_found` suggests the name that was probably
  // meant.
  base::Result<Model> find(const std::string& name_or_path) const;

  // Finds a model as `find` does, but never by a path. Made for names that clients send: they are only
  // compared, and never become a path.
  base::Result<Model> find_named(std::string_view name) const;

  // Returns the error for a name that is neither in the catalogue nor in `own`. It suggests similar names.
  base::Error unknown(std::string_view name, const std::vector<std::string>& own) const;

  // Lists the catalogue's models in its order, then the user's own models in the model folder by name.
  std::vector<Model> list() const;

  const Catalogue& catalogue() const { return catalogue_; }
  const std::filesystem::path& model_dir() const { return model_dir_; }

 private:
  Model describe(const Entry& entry) const;
  std::vector<Model> own() const;

  Catalogue catalogue_;
  std::filesystem::path model_dir_;
};

}  // namespace kvasir::hub
