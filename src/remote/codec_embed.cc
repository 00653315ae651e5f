#include <algorithm>
#include <cmath>

#include "remote/codec.h"

namespace kvasir::remote {

using base::ErrorCode;
using base::Result;

void encode(const wire::EmbedRequest& request, proto::EmbedRequest& out) {
  for (const std::vector<TokenId>& sequence : request.sequences)
    out.add_sequences()->mutable_ids()->Add(sequence.begin(), sequence.end());
}

Result<wire::EmbedRequest> decode(const proto::EmbedRequest& in, int vocab_size, int context_length) {
  if (in.sequences_size() == 0) return base::error(ErrorCode::corrupt, "a request for vectors of nothing");
  wire::EmbedRequest request;
  request.sequences.reserve(static_cast<std::size_t>(in.sequences_size()));
  for (const proto::Tokens& sequence : in.sequences()) {
    if (sequence.ids_size() == 0 || sequence.ids_size() > context_length)
      return base::error(ErrorCode::corrupt, "a request for the vector of {} tokens", sequence.ids_size());
    if (!std::ranges::all_of(sequence.ids(), [=](int id) { return id >= 0 && id < vocab_size; }))
      return base::error(ErrorCode::corrupt, "a request for vectors has tokens that the model lacks");
    request.sequences.emplace_back(sequence.ids().begin(), sequence.ids().end());
  }
  return request;
}

void encode(const Result<std::vector<float>>& vectors, proto::EmbedReply& out) {
  if (!vectors.ok()) return encode(vectors.error(), *out.mutable_error());
  out.mutable_vectors()->Add(vectors->begin(), vectors->end());
}

Result<std::vector<float>> decode(const proto::EmbedReply& in, std::size_t num_numbers) {
  if (in.has_error()) return decode(in.error());
  if (static_cast<std::size_t>(in.vectors_size()) != num_numbers)
    return base::error(ErrorCode::corrupt, "a worker's vectors have {} numbers instead of {}",
                       in.vectors_size(), num_numbers);
  if (!std::ranges::all_of(in.vectors(), [](float number) { return std::isfinite(number); }))
    return base::error(ErrorCode::corrupt, "a worker's vectors have numbers that are none");
  return std::vector<float>(in.vectors().begin(), in.vectors().end());
}

}  // namespace kvasir::remote
