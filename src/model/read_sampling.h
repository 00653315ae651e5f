#pragma once

#include "base/json.h"
#include "model/file/metadata.h"
#include "wire/sampling_advice.h"

namespace kvasir::model {

// Reads the advice in a GGUF file's keys `general.sampling.*`. Numbers out of range for a request are
// ignored.
wire::SamplingAdvice read_gguf_sampling(const Metadata& metadata);
// Reads the same advice from a generation_config.json. The advice is empty if that file turns sampling off.
wire::SamplingAdvice read_sampling(const base::json::object& generation_config);

}  // namespace kvasir::model
