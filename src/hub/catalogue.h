#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hub/source.h"
#include "wire/sampling_advice.h"

namespace kvasir::hub {

// A file of a model: its size, its digest, and its sources in the order in which they are tried.
struct ModelFile {
  std::string path;  // relative to the model's folder
  std::uint64_t size = 0;
  std::string sha256;  // 64 lower-case hexadecimal digits
  std::vector<Source> sources;
};

struct Entry {
  std::string name;
  std::string title;
  std::string description;
  std::string licence;
  std::vector<ModelFile> files;  // never empty
  std::string not_served = {};   // why `kvasir serve` does not accept the model; empty: it does
  wire::SamplingAdvice sampling = {};

  std::uint64_t size() const;
};

// The models that can be fetched by name. A plain value.
class Catalogue {
 public:
  // Parses TOML in the shape of models.toml. An error names `origin`, the line and the key.
  static base::Result<Catalogue> parse(std::string_view text, const std::string& origin);
  // Loads the built-in catalogue and adds the entries of the user's file. An entry of the user replaces a
  // built-in entry of the same name. A file that does not exist adds nothing.
  static base::Result<Catalogue> load(const std::filesystem::path& user_file);

  const Entry* find(std::string_view name) const;
  // Returns the name that was probably meant; empty if none is similar.
  std::string nearest(std::string_view name) const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(Entry entry);

  std::vector<Entry> entries_;
};

// The text of models.toml, compiled in.
const char* built_in_catalogue();

}  // namespace kvasir::hub
