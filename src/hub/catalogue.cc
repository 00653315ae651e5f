#include "hub/catalogue.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/edit_distance.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace kvasir::hub {

using base::ErrorCode;

namespace {

constexpr std::size_t kMaxFileBytes = 4 * 1024 * 1024;

// Reads one table of the catalogue. Every error names the table's place.
class Table {
 public:
  Table(const toml::table& table, const std::string& origin) : table_(table), origin_(origin) {}

  base::Error wrong(std::string_view key, std::string_view reason) const {
    const toml::node* node = table_.get(key);
    return base::error(ErrorCode::invalid_argument, "{}:{}: {}: {}", origin_,
                       (node != nullptr ? *node : static_cast<const toml::node&>(table_)).source().begin.line,
                       key, reason);
  }

  base::Status only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table_)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        return wrong(key.str(), "there is no such key");
    return base::ok();
  }

  bool has(std::string_view key) const { return table_.contains(key); }

  base::Result<std::string> text(std::string_view key) const {
    const auto value = table_[key].value_exact<std::string>();
    if (!value || value->empty()) return wrong(key, "must be a text that is not empty");
    return *value;
  }

  // Reads a number. Absent if there is no such key.
  base::Result<std::optional<float>> number(std::string_view key, double min, double max) const {
    if (!has(key)) return std::optional<float>();
    const auto value = table_[key].value<double>();
    if (!value || !(*value >= min && *value <= max))
      return wrong(key, fmt::format("must be a number from {} to {}", min, max));
    return std::optional(static_cast<float>(*value));
  }

  base::Result<const toml::table*> table(std::string_view key) const {
    const toml::table* inner = table_[key].as_table();
    if (inner == nullptr) return wrong(key, "must be a table");
    return inner;
  }

  base::Result<std::vector<const toml::table*>> tables(std::string_view key) const {
    std::vector<const toml::table*> tables;
    const toml::array* array = table_[key].as_array();
    if (array != nullptr)
      for (const toml::node& node : *array) tables.push_back(node.as_table());
    if (tables.empty() || std::count(tables.begin(), tables.end(), nullptr) > 0)
      return wrong(key, fmt::format("must be tables, each begun with [[{}]]", key));
    return tables;
  }

  base::Result<std::vector<std::string>> texts(std::string_view key) const {
    std::vector<std::string> texts;
    if (const toml::array* array = table_[key].as_array())
      for (const toml::node& node : *array) texts.push_back(node.value_exact<std::string>().value_or(""));
    if (texts.empty() || std::count(texts.begin(), texts.end(), "") > 0)
      return wrong(key, "must be a list of texts");
    return texts;
  }

  base::Result<std::uint64_t> size(std::string_view key) const {
    const auto value = table_[key].value_exact<std::int64_t>();
    if (!value || *value <= 0) return wrong(key, "must be a number of bytes");
    return static_cast<std::uint64_t>(*value);
  }

 private:
  const toml::table& table_;
  const std::string& origin_;
};

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::isalnum(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::islower(c) || std::isdigit(c) || c == '.' || c == '-' || c == '_';
         });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

base::Result<ModelFile> parse_file(const Table& table) {
  TRY_OK(table.only({"path", "size", "sha256", "sources"}));
  ModelFile file;
  TRY(file.path, table.text("path"));
  if (!is_inner_path(file.path) || file.path[0] == '.')
    return table.wrong("path", "must be a path inside the model's folder");
  TRY(file.size, table.size("size"));
  TRY(file.sha256, table.text("sha256"));
  if (!is_sha256(file.sha256)) return table.wrong("sha256", "must be 64 lower-case hexadecimal digits");
  TRY(const auto texts, table.texts("sources"));
  for (const std::string& text : texts) {
    auto source = parse_source(text);
    if (!source.ok()) return table.wrong("sources", source.error().message);
    file.sources.push_back(*std::move(source));
  }
  return file;
}

base::Result<wire::SamplingAdvice> parse_sampling(const Table& table) {
  TRY_OK(table.only({"temperature", "top_p", "top_k", "min_p", "repetition_penalty"}));
  wire::SamplingAdvice advice;
  TRY(advice.temperature, table.number("temperature", 0, 2));
  TRY(advice.top_p, table.number("top_p", 0, 1));
  TRY(advice.min_p, table.number("min_p", 0, 1));
  TRY(advice.repetition_penalty, table.number("repetition_penalty", 0.01, 10));
  TRY(const std::optional<float> top_k, table.number("top_k", 0, 1 << 20));
  if (top_k) advice.top_k = static_cast<int>(*top_k);
  return advice;
}

base::Result<Entry> parse_entry(const Table& table, const std::string& origin) {
  TRY_OK(table.only({"name", "title", "description", "licence", "not_served", "sampling", "file"}));
  Entry entry;
  TRY(entry.name, table.text("name"));
  if (!is_name(entry.name)) return table.wrong("name", "must be lower-case letters, digits, '.', '-', '_'");
  TRY(entry.title, table.text("title"));
  TRY(entry.description, table.text("description"));
  TRY(entry.licence, table.text("licence"));
  if (table.has("not_served")) {
    TRY(entry.not_served, table.text("not_served"));
  }
  if (table.has("sampling")) {
    TRY(const toml::table* sampling, table.table("sampling"));
    TRY(entry.sampling, parse_sampling(Table(*sampling, origin)));
  }
  TRY(const auto files, table.tables("file"));
  std::set<std::string> paths;
  for (const toml::table* file : files) {
    const Table file_table(*file, origin);
    TRY(ModelFile parsed, parse_file(file_table));
    if (!paths.insert(parsed.path).second) return file_table.wrong("path", "stands there twice");
    entry.files.push_back(std::move(parsed));
  }
  return entry;
}

}  // namespace

std::uint64_t Entry::size() const {
  std::uint64_t total = 0;
  for (const ModelFile& file : files) total += file.size;
  return total;
}

base::Result<Catalogue> Catalogue::parse(std::string_view text, const std::string& origin) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return base::error(ErrorCode::invalid_argument, "{}:{}: {}", origin, parsed.error().source().begin.line,
                       parsed.error().description());
  const Table root(parsed.table(), origin);
  TRY_OK(root.only({"model"}));
  Catalogue catalogue;
  if (parsed.table().empty()) return catalogue;
  TRY(const auto models, root.tables("model"));
  for (const toml::table* model : models) {
    const Table table(*model, origin);
    TRY(Entry entry, parse_entry(table, origin));
    if (catalogue.find(entry.name) != nullptr) return table.wrong("name", "stands there twice");
    catalogue.add(std::move(entry));
  }
  return catalogue;
}

base::Result<Catalogue> Catalogue::load(const std::filesystem::path& user_file) {
  TRY(Catalogue catalogue, parse(built_in_catalogue(), "models.toml"));
  std::error_code code;
  if (user_file.empty() || !std::filesystem::exists(user_file, code)) return catalogue;
  std::ifstream stream(user_file, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (!stream && !stream.eof()))
    return base::error(ErrorCode::io, "cannot read {}", user_file.string());
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxFileBytes)
    return base::error(ErrorCode::too_large, "cannot read {}: over {} bytes", user_file.string(),
                       kMaxFileBytes);
  TRY(Catalogue own, parse(text, user_file.string()));
  for (Entry& entry : own.entries_) catalogue.add(std::move(entry));
  return catalogue;
}

const Entry* Catalogue::find(std::string_view name) const {
  const auto at =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

std::string Catalogue::nearest(std::string_view name) const {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, std::min<std::size_t>(name.size(), 200) / 2);
  for (const Entry& entry : entries_) {
    const bool begins = name.size() >= 3 && entry.name.starts_with(name);
    const std::size_t distance = begins ? 0 : base::edit_distance(name.substr(0, 200), entry.name);
    if (distance < least) {
      least = distance;
      best = entry.name;
    }
  }
  return best;
}

void Catalogue::add(Entry entry) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& other) { return other.name == entry.name; });
  if (at == entries_.end())
    entries_.push_back(std::move(entry));
  else
    *at = std::move(entry);
}

}  // namespace kvasir::hub
