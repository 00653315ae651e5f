#include "hub/library.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/edit_distance.h"
#include "hub/stamp.h"

namespace kvasir::hub {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxOwn = 10'000;
constexpr std::size_t kMaxName = 200;  // bytes of a model's name in comparisons and errors

std::uint64_t bytes_of(const fs::path& path) {
  std::error_code code;
  if (const std::uint64_t size = fs::file_size(path, code); !code) return size;
  std::uint64_t total = 0;
  code.clear();
  for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
    std::error_code gone;
    if (at->is_regular_file(gone)) total += at->file_size(gone);
  }
  return total;
}

// Finds the user's own model at this path: a GGUF file, the folder of a checkpoint, or a folder with one GGUF
// file. Absent if there is none.
std::optional<Model> own_model(const fs::path& path, const std::string& name) {
  std::error_code code;
  if (fs::is_regular_file(path, code)) return Model{name, ModelState::own, path, bytes_of(path), nullptr};
  if (!fs::is_directory(path, code)) return std::nullopt;
  if (fs::exists(path / "config.json", code))
    return Model{name, ModelState::own, path, bytes_of(path), nullptr};
  std::optional<fs::path> only;
  for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
    if (at->path().extension() != ".gguf") continue;
    if (only) return std::nullopt;
    only = at->path();
  }
  if (!only) return std::nullopt;
  return Model{name, ModelState::own, *only, bytes_of(*only), nullptr};
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".gguf") || text.ends_with(".safetensors");
}

}  // namespace

std::string_view state_name(ModelState state) {
  switch (state) {
    case ModelState::ready:
      return "ready";
    case ModelState::partial:
      return "partial";
    case ModelState::absent:
      return "absent";
    case ModelState::own:
      return "own";
  }
  CHECK(false, "no such state");
}

fs::path model_path(const fs::path& model_dir, const Entry& entry) {
  const fs::path folder = model_dir / entry.name;
  return entry.files.size() == 1 ? folder / entry.files[0].path : folder;
}

Library::Library(Catalogue catalogue, fs::path model_dir)
    : catalogue_(std::move(catalogue)), model_dir_(std::move(model_dir)) {}

Model Library::describe(const Entry& entry) const {
  Model model{entry.name, ModelState::absent, model_path(model_dir_, entry), entry.size(), &entry};
  const fs::path folder = model_dir_ / entry.name;
  std::error_code code;
  if (all_verified(folder, entry))
    model.state = ModelState::ready;
  else if (fs::exists(folder, code) || fs::exists(model_dir_ / ".partial" / entry.name, code))
    model.state = ModelState::partial;
  return model;
}

base::Result<Model> Library::find(const std::string& name_or_path) const {
  if (name_or_path.empty()) return base::error(ErrorCode::invalid_argument, "the name of a model is empty");
  if (const Entry* entry = catalogue_.find(name_or_path)) return describe(*entry);
  if (looks_like_path(name_or_path)) {
    std::error_code code;
    if (!fs::exists(name_or_path, code))
      return base::error(ErrorCode::not_found, "cannot read {}: {}", name_or_path,
                         code ? code.message() : "no such file or folder");
    fs::path path = name_or_path;
    const std::string name =
        path.has_filename() ? path.stem().string() : path.parent_path().filename().string();
    if (auto model = own_model(path, name)) return *std::move(model);
    return base::error(ErrorCode::not_found,
                       "{} holds no model: neither config.json nor one .gguf file is in it", name_or_path);
  }
  for (const fs::path& path : {model_dir_ / name_or_path, model_dir_ / (name_or_path + ".gguf")})
    if (name_or_path[0] != '.')
      if (auto model = own_model(path, name_or_path)) return *std::move(model);
  std::error_code code;
  if (fs::exists(name_or_path, code))
    return base::error(ErrorCode::not_found, "there is no model '{}'; for the path of that name write ./{}",
                       name_or_path, name_or_path);
  const std::string meant = catalogue_.nearest(name_or_path);
  return base::error(ErrorCode::not_found, "there is no model '{}'{}; 'kvasir models' lists what can be had",
                     name_or_path, meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant));
}

base::Result<Model> Library::find_named(std::string_view name) const {
  if (const Entry* entry = catalogue_.find(name)) return describe(*entry);
  const std::vector<Model> models = own();
  if (const auto found = std::ranges::find(models, name, &Model::name); found != models.end()) return *found;
  std::vector<std::string> names;
  for (const Model& model : models) names.push_back(model.name);
  return unknown(name, names);
}

base::Error Library::unknown(std::string_view name, const std::vector<std::string>& own) const {
  std::string near;
  std::size_t least = std::max<std::size_t>(2, std::min(name.size(), kMaxName) / 3);
  const auto compare = [&](const std::string& other) {
    const bool begins = name.size() >= 3 && other.starts_with(name);
    const std::size_t distance = begins ? 0 : base::edit_distance(name.substr(0, kMaxName), other);
    if (distance > least) return;
    if (distance < std::exchange(least, distance)) near.clear();
    near += fmt::format("{}'{}'", near.empty() ? "" : " or ", other);
  };
  for (const Entry& entry : catalogue_.entries()) compare(entry.name);
  for (const std::string& other : own) compare(other);
  return base::Error{.code = ErrorCode::not_found,
                     .message = fmt::format("there is no model '{}'{}", name.substr(0, kMaxName),
                                            near.empty() ? "" : fmt::format(" (did you mean {}?)", near)),
                     .field = "model",
                     .reason = "model_not_found"};
}

std::vector<Model> Library::list() const {
  std::vector<Model> models;
  for (const Entry& entry : catalogue_.entries()) models.push_back(describe(entry));
  std::vector<Model> others = own();
  models.insert(models.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  return models;
}

std::vector<Model> Library::own() const {
  std::vector<Model> own;
  std::error_code code;
  for (fs::directory_iterator at(model_dir_, code), end; !code && at != end; at.increment(code)) {
    const std::string file = at->path().filename().string();
    const bool gguf = file.ends_with(".gguf");
    const std::string name = gguf ? file.substr(0, file.size() - 5) : file;
    std::error_code gone;
    if (file[0] == '.' || catalogue_.find(name) != nullptr || own.size() == kMaxOwn) continue;
    if (!gguf && !at->is_directory(gone)) continue;
    if (auto model = own_model(at->path(), name)) own.push_back(*std::move(model));
  }
  std::sort(own.begin(), own.end(), [](const Model& a, const Model& b) { return a.name < b.name; });
  return own;
}

}  // namespace kvasir::hub
