#include "model/checkpoint/checkpoint_facts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "model/checkpoint/packed_matrix.h"
#include "model/file/gguf_file.h"
#include "model/file/safetensors_file.h"
#include "model/file/text_file.h"

namespace kvasir::model {

namespace {

// Returns the name of a file type (GGUF's general.file_type) that mixes several types of tensors, otherwise
// an empty name. A file of one type is named after its tensors.
std::string_view mixture_name(std::int64_t file_type) {
  switch (file_type) {
    case 10:
      return "Q2_K";
    case 11:
      return "Q3_K_S";
    case 12:
      return "Q3_K_M";
    case 13:
      return "Q3_K_L";
    case 14:
      return "Q4_K_S";
    case 15:
      return "Q4_K_M";
    case 16:
      return "Q5_K_S";
    case 17:
      return "Q5_K_M";
    default:
      return {};
  }
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

// Counts the numbers in all tensors, and finds the type that most numbers have.
base::Status count_numbers(const WeightFile& file, CheckpointFacts& facts) {
  std::map<std::string, std::int64_t> by_type;
  for (const std::string_view name : file.names()) {
    TRY(const RawTensor tensor, file.find_raw(name));
    const std::int64_t number = tensor::num_elems(tensor.shape);
    facts.num_parameters += number;
    by_type[upper(tensor.type)] += number;
  }
  const auto most = std::ranges::max_element(
      by_type, {}, [](const auto& type_and_number) { return type_and_number.second; });
  if (most != by_type.end()) facts.quantization = most->first;
  return base::ok();
}

std::string_view packing_name(PackedFormat format) {
  switch (format) {
    case PackedFormat::gptq:
      return "GPTQ";
    case PackedFormat::awq:
      return "AWQ";
    case PackedFormat::fp8:
      return "FP8";
    case PackedFormat::none:
      break;
  }
  return {};
}

}  // namespace

base::Result<CheckpointFacts> read_facts(const std::filesystem::path& path) {
  CheckpointFacts facts;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    facts.format = "gguf";
    TRY(const auto file, GgufFile::open(path));
    TRY_OK(count_numbers(*file, facts));
    const std::string_view mixture = mixture_name(file->metadata().integer("general.file_type").value_or(-1));
    if (!mixture.empty()) facts.quantization = mixture;
    return facts;
  }
  facts.format = "safetensors";
  TRY(const base::json::object config, read_json_file(path / "config.json"));
  TRY(const auto file, SafetensorsFile::open_directory(path));
  TRY_OK(count_numbers(*file, facts));
  TRY(const PackingConfig packing, read_packing(config));
  if (packing.format == PackedFormat::none) return facts;
  facts.quantization = packing_name(packing.format);
  facts.num_parameters = 0;
  return facts;
}

}  // namespace kvasir::model
