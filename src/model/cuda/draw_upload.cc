#include "model/cuda/draw_upload.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kvasir::model {

base::Status DrawUpload::reserve(ops::cuda::StreamHandle stream) {
  const auto after = [](std::size_t at, std::size_t bytes) { return (at + bytes + 15) / 16 * 16; };
  layout_.counted = after(layout_.draws, packed_.draws.size() * sizeof(ops::RowDraw));
  layout_.biases = after(layout_.counted, packed_.counted.size() * sizeof(std::int32_t));
  layout_.masks = after(layout_.biases, packed_.biases.size() * sizeof(ops::TokenBias));
  layout_.end = after(layout_.masks, packed_.masks.size() * static_cast<std::size_t>(packed_.mask_words) *
                                         sizeof(std::uint32_t));
  if (memory_.host.size() >= layout_.end) return base::ok();
  const std::size_t size = std::max(2 * layout_.end, std::size_t{1} << 20);
  ops::cuda::wait_for(stream);
  for (Memory* memory : {&memory_, &other_memory_}) {
    TRY(memory->host, ops::cuda::PinnedBuffer::allocate(size));
    TRY(memory->device, ops::cuda::DeviceBuffer::allocate(size));
  }
  return base::ok();
}

base::Status DrawUpload::send(std::span<const RowDraw> draws, int vocab_size, int num_histories,
                              ops::cuda::StreamHandle stream) {
  std::swap(memory_, other_memory_);
  packed_.pack(draws, vocab_size, num_histories);
  TRY_OK(reserve(stream));
  std::byte* host = memory_.host.data();
  const auto put = [host](std::size_t at, const auto& values) {
    if (!values.empty()) std::memcpy(host + at, values.data(), values.size() * sizeof(values[0]));
  };
  put(layout_.draws, packed_.draws);
  put(layout_.counted, packed_.counted);
  put(layout_.biases, packed_.biases);
  const auto mask_words = static_cast<std::size_t>(packed_.mask_words);
  auto* masks = reinterpret_cast<std::uint32_t*>(host + layout_.masks);
  for (std::size_t i = 0; i < packed_.masks.size(); ++i)
    packed_.write_mask(i, {masks + i * mask_words, mask_words});
  ops::cuda::copy_to_device(copies_.handle(), memory_.device.data(), host, layout_.end);
  sent_.record(copies_.handle());
  sent_.hold(stream);
  return base::ok();
}

void DrawUpload::place(ops::DrawArgs& args) const {
  const std::byte* at = memory_.device.data();
  args.draws = reinterpret_cast<const ops::RowDraw*>(at + layout_.draws);
  args.lists = {.counted = reinterpret_cast<const std::int32_t*>(at + layout_.counted),
                .biases = reinterpret_cast<const ops::TokenBias*>(at + layout_.biases),
                .masks = reinterpret_cast<const std::uint32_t*>(at + layout_.masks),
                .mask_words = packed_.mask_words};
}

}  // namespace kvasir::model
