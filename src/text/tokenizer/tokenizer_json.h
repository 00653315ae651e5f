#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace kvasir::text {

// Return a member of a JSON object. The result is null, empty, false or `otherwise` if the member is absent
// or has another type.
const base::json::object* json_object(const base::json::object& object, std::string_view key);
const base::json::array* json_array(const base::json::object& object, std::string_view key);
std::string json_text(const base::json::object& object, std::string_view key);
bool json_flag(const base::json::object& object, std::string_view key);
bool json_flag_or(const base::json::object& object, std::string_view key, bool otherwise);

// Levels of nested sequences at most. No real file has more.
inline constexpr int kMaxJsonNesting = 8;
// Steps in a sequence at most. Every text goes through all of them.
inline constexpr std::size_t kMaxSteps = 64;

// The functions below read the parts of tokenizer.json. Unknown features are `unsupported`.
base::Result<std::vector<NormalizerStep>> read_normalizer(const base::json::object& file);
struct ReadPreTokenizer {
  PreTokenizer steps;
  bool byte_level = false;  // the model sees bytes in GPT-2's spelling
};
base::Result<ReadPreTokenizer> read_pre_tokenizer(const base::json::object& file);
enum class ByteLevel { no, yes };
// A file without a decoder joins tokens with spaces, unless they are byte-level.
base::Result<Decoder> read_decoder(const base::json::object& file, ByteLevel byte_level);
// Sets the tokens that are put around a text. Requires `parts.table`.
base::Status read_post_processor(const base::json::object& file, TokenizerParts& parts);
struct ModelTables;
// Sets `table`, the added tokens and `model`. Requires that the normalizer and the decoder are set. `file`
// need not contain the model's vocabulary.
base::Status add_model(const base::json::object& file, ByteLevel byte_level, ModelTables tables,
                       TokenizerParts& parts);

}  // namespace kvasir::text
