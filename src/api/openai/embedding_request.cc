#include "api/openai/embedding_request.h"

#include <bit>
#include <boost/beast/core/detail/base64.hpp>
#include <limits>
#include <span>
#include <utility>

#include "api/answer/question/generate_params.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr Field<EmbeddingRequest> kEmbeddingFields[] = {
    {"model",
     [](const json::value& v, EmbeddingRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     kModelSchema, kModelExpected},
    {"input", nullptr,
     R"({"anyOf": [{"type": "string", "minLength": 1},
          {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
          {"type": "array", "minItems": 1, "maxItems": 2048, "items": {"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}]}}],
         "description": "Text or token ids, or several of either."})",
     "a string, an array of strings, or arrays of token ids"},
    {"encoding_format",
     [](const json::value& v, EmbeddingRequest& r) -> Status {
       TRY(const std::string name, read_string(v));
       if (name != "float" && name != "base64")
         return wrong_value(fmt::format("expected float or base64, got \"{}\"", name));
       r.encoding =
           name == "float" ? EmbeddingRequest::Encoding::numbers : EmbeddingRequest::Encoding::base64;
       return base::ok();
     },
     R"({"enum": ["float", "base64"], "default": "float",
         "description": "Numbers, or the bytes of little-endian 32-bit floats."})"},
    {"dimensions",
     [](const json::value& v, EmbeddingRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, std::numeric_limits<int>::max()}));
       r.dimensions = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 2147483647,
         "description": "The first so many numbers of a vector, made to be of length 1 again."})"},
    {"truncate_prompt_tokens", [](const json::value& v, EmbeddingRequest& r) { return read_cut(v, r.cut); },
     kCutSchema},
    {"user",
     [](const json::value& v, EmbeddingRequest&) -> Status {
       TRY_OK(read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Whom the client asks for; it has no effect on the answer."})"},
};

std::string base64(std::span<const float> vector) {
  static_assert(std::endian::native == std::endian::little);
  namespace codec = boost::beast::detail::base64;
  std::string text(codec::encoded_size(vector.size_bytes()), '\0');
  text.resize(codec::encode(text.data(), vector.data(), vector.size_bytes()));
  return text;
}

}  // namespace

Result<EmbeddingRequest> read_embedding_request(json::object body) {
  EmbeddingRequest request;
  static const ObjectSchema known = ObjectSchema().add<EmbeddingRequest>(kEmbeddingFields);
  known.warn_of_others(body, request.warnings);
  TRY_OK(read_fields<EmbeddingRequest>(body, kEmbeddingFields, request));
  TRY(request.inputs, read_texts_or_tokens(body.at("input"), {"input", kMaxEmbeddingInputs}));
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const bool empty = std::visit([](const auto& input) { return input.empty(); }, request.inputs[i]);
    if (!empty) continue;
    const Error error = wrong_value("expected something that is not empty");
    return in_field("input", body.at("input").is_array() && request.inputs.size() > 1
                                 ? in_field(fmt::format("[{}]", i), error)
                                 : error);
  }
  return request;
}

json::object embedding_request_schema() {
  return ObjectSchema().add<EmbeddingRequest>(kEmbeddingFields).take();
}

json::array embedding_data(const std::vector<float>& vectors, int dimensions,
                           EmbeddingRequest::Encoding encoding) {
  const auto size = static_cast<std::size_t>(dimensions);
  json::array data;
  data.reserve(vectors.size() / size);
  for (std::size_t first = 0; first < vectors.size(); first += size) {
    const std::span<const float> vector(&vectors[first], size);
    json::object item{{"object", "embedding"}, {"index", data.size()}};
    if (encoding == EmbeddingRequest::Encoding::base64)
      item["embedding"] = base64(vector);
    else
      item["embedding"] = json::array(vector.begin(), vector.end());
    data.push_back(std::move(item));
  }
  return data;
}

}  // namespace kvasir::api
