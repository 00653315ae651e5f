#include "text/tokenizer/tokenizer_image.h"

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer_source.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
namespace json = base::json;

namespace {

// Increase this when a table's layout, a hash, or the content of the tables for a file changes.
constexpr std::uint32_t kVersion = 1;
constexpr std::array<char, 8> kMagic = {'K', 'V', 'T', 'O', 'K', 'I', 'M', 'G'};
constexpr std::size_t kAlignment = 64;

enum SectionName : std::size_t {
  kRest,  // JSON: the file without vocabulary and merges
  kSpellings,
  kSpellingEnds,
  kBytes,
  kByteEnds,
  kTypes,
  kPieces,
  kAdded,
  kMerges,
  kScores,
  kEdges,
  kTokenAt,
  kNumSections
};

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // bytes
};

// Numbers are in the machine's byte order. On a machine with the other byte order, the version does not
// match.
struct alignas(kAlignment) Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::int32_t unk = -1;  // -1: none
  ImageKey key{};
  std::array<std::uint64_t, 2> checksum{};  // checksum of all bytes, with this field zero
  std::uint64_t size = 0;
  double unk_score = 0;
  std::uint64_t keeps_space_marks_first = 0;
  std::uint64_t unused = 0;
  std::array<Section, kNumSections> sections{};
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) % kAlignment == 0);

std::array<std::uint64_t, 2> hashed(XXH128_hash_t hash) {
  return {hash.low64, hash.high64};
}

std::array<std::uint64_t, 2> checksum_of(const Header& of, std::span<const std::byte> image) {
  Header header = of;
  header.checksum = {};
  const auto behind = image.subspan(sizeof(Header));
  const XXH128_hash_t head = XXH3_128bits(&header, sizeof(header));
  const XXH128_hash_t rest = XXH3_128bits(behind.data(), behind.size());
  return {head.low64 ^ rest.low64, head.high64 ^ rest.high64};
}

class ImageWriter {
 public:
  template <class T>
  void add(SectionName name, std::span<const T> values) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_same_v<T, double>);
    sections_[name] = std::as_bytes(values);
  }
  void add(SectionName name, std::string_view text) { add(name, std::span<const char>(text)); }

  std::string write(const Header& without_sections) {
    Header header = without_sections;
    std::size_t size = sizeof(Header);
    for (std::size_t i = 0; i < kNumSections; ++i) {
      header.sections[i] = {.offset = size, .size = sections_[i].size()};
      size += (sections_[i].size() + kAlignment - 1) / kAlignment * kAlignment;
    }
    header.size = size;
    std::string image(size, '\0');
    for (std::size_t i = 0; i < kNumSections; ++i) {
      if (!sections_[i].empty())
        std::memcpy(image.data() + header.sections[i].offset, sections_[i].data(), sections_[i].size());
    }
    std::memcpy(image.data(), &header, sizeof(header));
    seal_image(std::as_writable_bytes(std::span(image)));
    return image;
  }

 private:
  std::array<std::span<const std::byte>, kNumSections> sections_;
};

std::string make_image(const ImageKey& key, const json::object& rest, const ModelTables& tables) {
  ImageWriter writer;
  const std::string rest_json = json::serialize(rest);
  writer.add(kRest, rest_json);
  const TokenTable::Columns& columns = tables.table->columns();
  writer.add(kSpellings, columns.spellings);
  writer.add(kSpellingEnds, columns.spelling_ends);
  writer.add(kBytes, columns.bytes);
  writer.add(kByteEnds, columns.byte_ends);
  writer.add(kTypes, columns.types);
  writer.add(kPieces, columns.pieces);
  writer.add(kAdded, columns.added);
  Header header{.unk = tables.unk.value_or(-1), .key = key, .unk_score = tables.unk_score};
  if (tables.merges) {
    writer.add(kMerges, tables.merges->slots());
    header.keeps_space_marks_first = tables.merges->keeps_space_marks_first() ? 1 : 0;
  }
  if (tables.trie) {
    writer.add(kScores, tables.trie->columns().scores);
    writer.add(kEdges, tables.trie->columns().edges);
    writer.add(kTokenAt, tables.trie->columns().token_at);
  }
  return writer.write(header);
}

class ImageReader {
 public:
  static Result<ImageReader> open(const ImageBytes& image, const ImageKey& key) {
    const auto no = [](std::string_view why) {
      return base::error(ErrorCode::corrupt, "the image of the tokenizer {}", why);
    };
    if (image.bytes.size() < sizeof(Header)) return no("is cut off");
    if (reinterpret_cast<std::uintptr_t>(image.bytes.data()) % kAlignment != 0) return no("lies askew");
    Header header;
    std::memcpy(&header, image.bytes.data(), sizeof(header));
    if (header.magic != kMagic || header.version != kVersion) return no("is of another version");
    if (header.key != key) return no("is of another file");
    if (header.size != image.bytes.size()) return no("is cut off");
    if (header.checksum != checksum_of(header, image.bytes)) return no("is damaged");
    for (const Section& section : header.sections) {
      if (section.offset % kAlignment != 0 || section.offset > header.size ||
          section.size > header.size - section.offset)
        return no("has sections outside of it");
    }
    return ImageReader(header, image);
  }

  std::string_view text(SectionName name) const {
    const auto chars = values<char>(name);
    return {chars.data(), chars.size()};
  }
  // Returns the values of a section. Empty if it does not consist of complete values.
  template <class T>
  std::span<const T> values(SectionName name) const {
    const Section& section = header_.sections[name];
    if (section.size % sizeof(T) != 0) return {};
    return {reinterpret_cast<const T*>(image_.bytes.data() + section.offset), section.size / sizeof(T)};
  }

  Result<ModelTables> tables() const {
    ModelTables tables;
    TRY(tables.table, TokenTable::from_columns({.spellings = text(kSpellings),
                                                .spelling_ends = values<std::uint32_t>(kSpellingEnds),
                                                .bytes = text(kBytes),
                                                .byte_ends = values<std::uint32_t>(kByteEnds),
                                                .types = values<TokenType>(kTypes),
                                                .pieces = values<StringIndex::Slot>(kPieces),
                                                .added = values<StringIndex::Slot>(kAdded)},
                                               image_.owner));
    const int size = tables.table->size();
    if (header_.unk < -1 || header_.unk >= size)
      return base::error(ErrorCode::corrupt, "the image's unknown token is none");
    if (header_.unk >= 0) tables.unk = header_.unk;
    tables.unk_score = header_.unk_score;
    if (const auto slots = values<MergeTable::Slot>(kMerges); !slots.empty()) {
      TRY(tables.merges,
          MergeTable::from_slots({.slots = slots,
                                  .keeps_space_marks_first = header_.keeps_space_marks_first == 1,
                                  .owner = image_.owner},
                                 size));
    }
    if (const auto edges = values<ScoredTrie::Edge>(kEdges); !edges.empty()) {
      TRY(tables.trie,
          ScoredTrie::from_columns(
              {.scores = values<double>(kScores), .edges = edges, .token_at = values<TokenId>(kTokenAt)},
              image_.owner, size));
    }
    return tables;
  }

 private:
  ImageReader(const Header& header, ImageBytes image) : header_(header), image_(std::move(image)) {}

  Header header_;
  ImageBytes image_;
};

}  // namespace

ImageKey image_key(std::string_view tokenizer_json) {
  return hashed(XXH3_128bits(tokenizer_json.data(), tokenizer_json.size()));
}

Result<ImagedTokenizer> load_with_image(std::string_view tokenizer_json, const TokenizerTexts& texts) {
  TRY(const TokenizerSource source, read_source(tokenizer_json));
  ImagedTokenizer loaded;
  const auto tables_of = [&](ByteLevel byte_level, const Decoder& decoder) -> Result<ModelTables> {
    TRY(ModelTables tables, make_tables(source, byte_level, decoder));
    loaded.image = make_image(image_key(tokenizer_json), source.rest, tables);
    return tables;
  };
  TRY(loaded.tokenizer, assemble(source.rest, tables_of, texts));
  return loaded;
}

Result<std::shared_ptr<const Tokenizer>> load_image(const ImageBytes& image, const ImageKey& key,
                                                    const TokenizerTexts& texts) {
  TRY(const ImageReader reader, ImageReader::open(image, key));
  TRY(const json::value rest, base::parse_json(reader.text(kRest)));
  if (!rest.is_object()) return base::error(ErrorCode::corrupt, "the image's JSON is not an object");
  return assemble(rest.get_object(), [&](ByteLevel, const Decoder&) { return reader.tables(); }, texts);
}

void seal_image(std::span<std::byte> image) {
  if (image.size() < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, image.data(), sizeof(header));
  header.checksum = checksum_of(header, image);
  std::memcpy(image.data(), &header, sizeof(header));
}

}  // namespace kvasir::text
