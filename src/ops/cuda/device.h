#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "ops/cuda/stream.h"

struct CUgraphExec_st;
struct CUevent_st;

// Functions that launch, copy or wait, here and in the other headers of this folder, return no status: see
// failure.h.
namespace kvasir::ops::cuda {

// An owned stream.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamHandle handle() const { return stream_; }
  void wait() const;  // see wait_for()

 private:
  StreamHandle stream_ = nullptr;
};

enum class Memory : std::uint8_t {
  device,
  pinned,  // host memory that the device reads and writes directly
};

// Waits until everything that was launched on the stream is done.
void wait_for(StreamHandle stream);

// The compute capability of the first GPU: 90 for sm_90.
int architecture();

// Owned memory. Move-only.
template <Memory kMemory>
class Buffer {
 public:
  Buffer() = default;
  // Fails with `too_large` if there is not enough memory. The memory is not initialised.
  static base::Result<Buffer> allocate(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

using DeviceBuffer = Buffer<Memory::device>;
using PinnedBuffer = Buffer<Memory::pinned>;

// A recorded sequence of launches that is launched again as a whole. Empty if the recording failed.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept;

  // Between begin() and end(), launches on the stream are recorded instead of run.
  static void begin(StreamHandle stream);
  static Graph end(StreamHandle stream);
  void launch(StreamHandle stream) const;

 private:
  CUgraphExec_st* graph_ = nullptr;
};

// A point in a stream, for measuring the time between two of them.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(StreamHandle stream) const;
  void wait() const;
  void hold(StreamHandle stream) const;              // later launches on `stream` wait for the point
  double seconds_since(const Event& earlier) const;  // both points must have been reached

 private:
  CUevent_st* event_ = nullptr;
};

struct DeviceInfo {
  std::string name;
  int num_multiprocessors = 0;
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;
  double memory_bytes_per_s = 0;  // at the memory's highest clock
};

// Describes the first GPU; `unavailable` if there is none that this program can use.
base::Result<DeviceInfo> find_device();

// Both functions wait for the copy if the host memory is not pinned.
void copy_to_device(StreamHandle stream, void* to, const void* from, std::size_t bytes);
void copy_to_host(StreamHandle stream, void* to, const void* from, std::size_t bytes);
void copy_on_device(StreamHandle stream, void* to, const void* from, std::size_t bytes);
void fill_zero(StreamHandle stream, void* to, std::size_t bytes);

}  // namespace kvasir::ops::cuda
