#include "host/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace kvasir::host {

namespace {

// Reads pieces of a file at even distances; files with different weights differ in them.
std::string sample_of(const std::filesystem::path& path) {
  constexpr std::uint64_t kPieces = 64;
  std::string pieces;
  std::error_code ignored;
  const std::uint64_t size = std::filesystem::file_size(path, ignored);
  std::ifstream in(path, std::ios::binary);
  std::array<char, 1024> piece{};
  for (std::uint64_t i = 0; in && i < kPieces; ++i) {
    in.seekg(static_cast<std::streamoff>(size / kPieces * i));
    in.read(piece.data(), piece.size());
    pieces.append(piece.data(), static_cast<std::size_t>(in.gcount()));
  }
  return pieces;
}

// The files that hold a model's weights.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string fingerprint_of(const hub::Model& model) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](std::string_view bytes) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  };
  mix(KVASIR_VERSION);
  mix(model.name);
  mix(fmt::format("{}", model.size));
  if (model.entry != nullptr) {
    for (const hub::ModelFile& file : model.entry->files) mix(file.sha256);
  } else {
    for (const std::filesystem::path& file : weight_files(model.path)) mix(sample_of(file));
  }
  return fmt::format("fp_{:010x}", hash & 0xff'ffff'ffffu);
}

}  // namespace kvasir::host
