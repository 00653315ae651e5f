#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace kvasir::text {

// Members of a JSON object; null, empty, false or `otherwise` where absent or of another type.
const base::json::object* json_object(const base::json::object& object, std::string_view key);
const base::json::array* json_array(const base::json::object& object, std::string_view key);
std::string json_text(const base::json::object& object, std::string_view key);
bool json_flag(const base::json::object& object, std::string_view key);
bool json_flag_or(const base::json::object& object, std::string_view key, bool otherwise);

// Sequences inside sequences go no deeper than any real file.
inline constexpr int kMaxJsonNesting = 8;
// Nor are more steps in one of them: every text goes through all.
inline constexpr std::size_t kMaxSteps = 64;

// Parts of tokenizer.json. What Kvasir does not know is `unsupported`.
base::Result<std::vector<NormalizerStep>> read_normalizer(const base::json::object& file);
struct ReadPreTokenizer {
  PreTokenizer steps;
  bool byte_level = false;  // the model sees bytes in GPT-2's spelling
};
base::Result<ReadPreTokenizer> read_pre_tokenizer(const base::json::object& file);
enum class ByteLevel { no, yes };
// A file without a decoder joins its tokens with spaces, unless they are byte-level.
base::Result<Decoder> read_decoder(const base::json::object& file, ByteLevel byte_level);
// Fills what goes around a text. `parts.table` is there.
base::Status read_post_processor(const base::json::object& file, TokenizerParts& parts);
struct ModelTables;
// Fills `table`, the added tokens and `model`. The normalizer and the decoder are there; of the model, `file`
// need hold no vocabulary.
base::Status add_model(const base::json::object& file, ByteLevel byte_level, ModelTables tables,
                       TokenizerParts& parts);

}  // namespace kvasir::text
