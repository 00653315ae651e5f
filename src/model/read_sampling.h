#pragma once

#include "base/json.h"
#include "model/file/metadata.h"
#include "wire/sampling_advice.h"

namespace kvasir::model {

// The advice in a GGUF file's keys `general.sampling.*`. Numbers that no request could have are ignored.
wire::SamplingAdvice read_gguf_sampling(const Metadata& metadata);
// The same in a generation_config.json, unless it says that nothing is to be drawn.
wire::SamplingAdvice read_sampling(const base::json::object& generation_config);

}  // namespace kvasir::model
