#include "ops/embed.h"

#include "base/check.h"
#include "ops/cpu/split.h"
#include "ops/quant/dequantize.h"

namespace kvasir::ops {

void embed(Context& context, const tensor::TensorView& table, std::span<const TokenId> tokens,
           std::span<float> y) {
  const std::int64_t dim = table.cols();
  const std::int64_t vocab = table.rows();
  const std::int64_t row_bytes = tensor::bytes_of(table.type, dim);
  CHECK(y.size() == tokens.size() * static_cast<std::size_t>(dim), "{} tokens of {} into {}", tokens.size(),
        dim, y.size());
  for_ranges(context, static_cast<std::int64_t>(tokens.size()), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const TokenId token = tokens[static_cast<std::size_t>(r)];
      CHECK(token >= 0 && token < vocab, "token {} of {}", token, vocab);
      dequantize(table.type, table.data + token * row_bytes,
                 y.subspan(static_cast<std::size_t>(r * dim), static_cast<std::size_t>(dim)));
    }
  });
}

}  // namespace kvasir::ops
