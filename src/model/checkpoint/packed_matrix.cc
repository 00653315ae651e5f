#include "model/checkpoint/packed_matrix.h"

#include "model/checkpoint/packed_fp8.h"
#include "model/checkpoint/packed_int4.h"

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

base::Error bad_field(std::string_view field, std::string_view what) {
  return base::error(ErrorCode::unsupported, "quantization_config.{}: {}", field, what);
}

std::string text_or(const json::object& object, std::string_view field, std::string_view otherwise) {
  const json::value* value = object.if_contains(field);
  return std::string(value && value->is_string() ? std::string_view(value->get_string()) : otherwise);
}

base::Result<int> read_group_size(const json::object& quantization) {
  const json::value* bits = quantization.if_contains("bits");
  if (!bits || !bits->is_int64() || bits->get_int64() != 4) return bad_field("bits", "only 4 is supported");
  const json::value* size = quantization.if_contains("group_size");
  if (!size || !size->is_int64()) return bad_field("group_size", "no number");
  const std::int64_t group = size->get_int64();
  if (group != -1 && (group < 32 || group % 32 != 0 || group > 1 << 20))
    return bad_field("group_size", "neither -1 nor a multiple of 32");
  return static_cast<int>(group);
}

}  // namespace

base::Result<PackingConfig> read_packing(const json::object& config) {
  const json::value* entry = config.if_contains("quantization_config");
  if (!entry || entry->is_null()) return PackingConfig{};
  const json::object* quantization = entry->if_object();
  if (!quantization) return base::error(ErrorCode::corrupt, "quantization_config is no object");
  const std::string method = text_or(*quantization, "quant_method", "");
  if (method == "fp8") return PackingConfig{.format = PackedFormat::fp8};
  if (method == "compressed-tensors") {
    if (text_or(*quantization, "format", "") != "float-quantized")
      return bad_field("format", "of compressed-tensors, only float-quantized is supported");
    return PackingConfig{.format = PackedFormat::fp8};
  }
  if (method == "gptq") {
    const std::string format = text_or(*quantization, "checkpoint_format", "gptq");
    if (format != "gptq" && format != "gptq_v2")
      return bad_field("checkpoint_format", "only gptq and gptq_v2 are supported");
    TRY(const int group, read_group_size(*quantization));
    return PackingConfig{PackedFormat::gptq, group, format == "gptq" ? 1 : 0};
  }
  if (method == "awq") {
    if (text_or(*quantization, "version", "gemm") != "gemm")
      return bad_field("version", "only gemm is supported");
    TRY(const int group, read_group_size(*quantization));
    return PackingConfig{PackedFormat::awq, group, 0};
  }
  return bad_field("quant_method", "only gptq, awq, fp8 and compressed-tensors are supported");
}

base::Result<std::optional<UnpackedMatrix>> unpack_matrix(const WeightFile& file,
                                                          const PackingConfig& packing,
                                                          const std::string& name, const tensor::Shape& shape,
                                                          tensor::DType floats) {
  switch (packing.format) {
    case PackedFormat::none:
      return std::optional<UnpackedMatrix>();
    case PackedFormat::gptq:
    case PackedFormat::awq:
      return unpack_int4(file, packing, name, shape);
    case PackedFormat::fp8:
      return unpack_fp8(file, name, shape, floats);
  }
  return std::optional<UnpackedMatrix>();
}

}  // namespace kvasir::model
