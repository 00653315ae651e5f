#include "model/decoder/device_decoder.h"

// Stands in for the CUDA functions of device_decoder.h in a program that is built without CUDA.
namespace kvasir::model {

namespace {

base::Error absent() {
  return base::error(base::ErrorCode::unsupported,
                     "this program was built without CUDA; see make build-cuda");
}

}  // namespace

base::Result<std::unique_ptr<DeviceDecoder>> load_cuda_decoder(Checkpoint /*checkpoint*/,
                                                               const DeviceOptions& /*options*/,
                                                               ops::ComputePool& /*pool*/) {
  return absent();
}

base::Result<std::int64_t> cuda_free_bytes() {
  return absent();
}

base::Result<double> cuda_memory_speed() {
  return absent();
}

base::Result<std::unique_ptr<DeviceDecoder>> make_random_cuda_decoder(const ModelConfig& /*config*/,
                                                                      const DeviceOptions& /*options*/) {
  return absent();
}

}  // namespace kvasir::model
