#include "ops/cuda/device.h"

#include <cuda_runtime_api.h>

#include "ops/cuda/failure.h"

namespace kvasir::ops::cuda {

using base::ErrorCode;

namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) [[unlikely]]
    remember_failure(cudaGetErrorString(status));
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

}  // namespace

// Declared in launch.cuh, for functions that launch kernels.
void check_launch() {
  check(cudaGetLastError());
}

int num_multiprocessors() {
  static const int count = attribute(cudaDevAttrMultiProcessorCount);
  return count;
}

int architecture() {
  static const int number =
      10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
  return number;
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

void Stream::wait() const {
  wait_for(stream_);
}

void wait_for(StreamHandle stream) {
  check(cudaStreamSynchronize(stream));
}

template <Memory kMemory>
base::Result<Buffer<kMemory>> Buffer<kMemory>::allocate(std::size_t bytes) {
  constexpr bool kOnDevice = kMemory == Memory::device;
  Buffer buffer;
  if (bytes == 0) return buffer;
  void* data = nullptr;
  const cudaError_t status = kOnDevice ? cudaMalloc(&data, bytes) : cudaMallocHost(&data, bytes);
  if (status != cudaSuccess) {
    cudaGetLastError();  // clears the error, which the next call would report otherwise
    return base::error(ErrorCode::too_large, "cannot allocate {} bytes of {} memory: {}", bytes,
                       kOnDevice ? "device" : "pinned", cudaGetErrorString(status));
  }
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = bytes;
  return buffer;
}

template <Memory kMemory>
Buffer<kMemory>::~Buffer() {
  if (data_ == nullptr) return;
  if constexpr (kMemory == Memory::device)
    cudaFree(data_);
  else
    cudaFreeHost(data_);
}

template class Buffer<Memory::device>;
template class Buffer<Memory::pinned>;

Graph::~Graph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(graph_, other.graph_);
  return *this;
}

void Graph::begin(StreamHandle stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

Graph Graph::end(StreamHandle stream) {
  cudaGraph_t recorded = nullptr;
  check(cudaStreamEndCapture(stream, &recorded));
  Graph graph;
  if (recorded == nullptr) return graph;
  check(cudaGraphInstantiate(&graph.graph_, recorded, 0));
  check(cudaGraphDestroy(recorded));
  return graph;
}

void Graph::launch(StreamHandle stream) const {
  if (graph_ != nullptr) check(cudaGraphLaunch(graph_, stream));
}

Event::Event() {
  check(cudaEventCreate(&event_));
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(StreamHandle stream) const {
  check(cudaEventRecord(event_, stream));
}

void Event::wait() const {
  check(cudaEventSynchronize(event_));
}

void Event::hold(StreamHandle stream) const {
  check(cudaStreamWaitEvent(stream, event_));
}

double Event::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
  return milliseconds / 1e3;
}

base::Result<DeviceInfo> find_device() {
  cudaDeviceProp properties{};
  DeviceInfo info;
  cudaError_t status = cudaGetDeviceProperties(&properties, 0);
  if (status == cudaSuccess) status = cudaSetDevice(0);
  if (status == cudaSuccess) status = cudaMemGetInfo(&info.free_bytes, &info.total_bytes);
  int clock_khz = 0;
  int bus_bits = 0;
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, 0);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, 0);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return base::error(ErrorCode::unavailable, "no GPU that can be used: {}", cudaGetErrorString(status));
  }
  info.name = properties.name;
  info.num_multiprocessors = properties.multiProcessorCount;
  info.memory_bytes_per_s = 2e3 * clock_khz * bus_bits / 8;  // the memory transfers twice a cycle
  return info;
}

void copy_to_device(StreamHandle stream, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

void copy_to_host(StreamHandle stream, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
}

void copy_on_device(StreamHandle stream, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

void fill_zero(StreamHandle stream, void* to, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(to, 0, bytes, stream));
}

}  // namespace kvasir::ops::cuda
