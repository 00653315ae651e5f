#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

// Thread blocks that run at the same time pass numbers to each other. Each number is in one word with a tag,
// which says whether the number is there yet. So no thread block waits at a barrier, and no write waits for
// earlier writes.
namespace kvasir::ops::cuda {

// Counts one more published part. The part itself may arrive later.
__device__ inline void count_given(std::uint32_t* num_given) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(num_given) : "memory");
}

// Publishes a bf16 number in the upper half of a word, with its tag in the lower half.
__device__ inline void publish(std::uint32_t* to, float value, std::uint32_t tag) {
  const std::uint32_t bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(bits << 16 | (tag & 0xffff)) : "memory");
}
// A float and its tag.
struct TaggedFloat {
  std::uint64_t word = 0;  // read and written in one access, so that both arrive together

  __device__ float value() const { return __uint_as_float(static_cast<std::uint32_t>(word)); }
  __device__ std::uint32_t tag() const { return static_cast<std::uint32_t>(word >> 32); }
};
__device__ inline void publish(TaggedFloat* to, float value, std::uint32_t tag) {
  const std::uint64_t word = static_cast<std::uint64_t>(tag) << 32 | __float_as_uint(value);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

__device__ inline std::uint32_t peek(const std::uint32_t* from) {
  std::uint32_t word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
  return word;
}
__device__ inline uint4 peek(const uint4* from) {
  uint4 words;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from)
               : "memory");
  return words;
}
// Two tagged floats, at a multiple of 16 bytes.
struct TaggedPair {
  TaggedFloat first, second;

  __device__ bool has_tag(std::uint32_t tag) const { return first.tag() == tag && second.tag() == tag; }
};
__device__ inline TaggedPair peek_pair(const TaggedFloat* from) {
  TaggedPair pair;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.first.word), "=l"(pair.second.word)
               : "l"(from)
               : "memory");
  return pair;
}

__device__ inline bool has_tag(std::uint32_t word, std::uint32_t tag) {
  return ((word ^ tag) & 0xffff) == 0;
}
__device__ inline bool has_tag(const uint4& words, std::uint32_t tag) {
  return has_tag(words.x, tag) && has_tag(words.y, tag) && has_tag(words.z, tag) && has_tag(words.w, tag);
}
// The bf16 numbers of four words.
__device__ inline uint2 values_of(const uint4& words) {
  return make_uint2(__byte_perm(words.x, words.y, 0x7632), __byte_perm(words.z, words.w, 0x7632));
}

}  // namespace kvasir::ops::cuda
