#include "ops/cuda/gemm.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/cuda/failure.h"

namespace kvasir::ops::cuda {

using base::ErrorCode;

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr int kMaxCandidates = 24;
constexpr const char* kLibrary = "libcublasLt.so.13";

// The functions of cuBLASLt that are used.
struct Library {
  void* handle = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_desc = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
};

template <class F>
bool find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  return function != nullptr;
}

base::Result<Library> open_library() {
  Library l;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    if (l.handle == nullptr)
      l.handle = dlopen((std::string(folder) + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (l.handle == nullptr) return base::error(ErrorCode::unavailable, "no {} on this machine", kLibrary);
  const bool whole = find(l.handle, "cublasLtCreate", l.create) &&
                     find(l.handle, "cublasLtDestroy", l.destroy) &&
                     find(l.handle, "cublasLtMatmul", l.matmul) &&
                     find(l.handle, "cublasLtMatmulAlgoGetHeuristic", l.get_heuristic) &&
                     find(l.handle, "cublasLtMatmulDescCreate", l.create_desc) &&
                     find(l.handle, "cublasLtMatmulDescDestroy", l.destroy_desc) &&
                     find(l.handle, "cublasLtMatmulDescSetAttribute", l.set_desc) &&
                     find(l.handle, "cublasLtMatrixLayoutCreate", l.create_layout) &&
                     find(l.handle, "cublasLtMatrixLayoutDestroy", l.destroy_layout) &&
                     find(l.handle, "cublasLtMatmulPreferenceCreate", l.create_preference) &&
                     find(l.handle, "cublasLtMatmulPreferenceDestroy", l.destroy_preference) &&
                     find(l.handle, "cublasLtMatmulPreferenceSetAttribute", l.set_preference);
  if (!whole) return base::error(ErrorCode::unavailable, "{} lacks a function", kLibrary);
  return l;
}

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    remember_failure(fmt::format("cuBLASLt's status {}", static_cast<int>(status)));
}

cudaDataType_t cuda_type(tensor::DType type) {
  if (type == tensor::DType::f32) return CUDA_R_32F;
  return type == tensor::DType::f16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

struct Gemm::State {
  // What an algorithm depends on.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, int>;
  struct Shape {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t w = nullptr;
    cublasLtMatrixLayout_t x = nullptr;
    cublasLtMatrixLayout_t y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };

  ~State() {
    for (auto& [key, shape] : shapes) destroy(shape);
    if (handle != nullptr) library.destroy(handle);
  }

  static Key key_of(const GemmArgs& args) {
    const int kinds = static_cast<int>(args.type) | static_cast<int>(args.out_type) << 4 |
                      (args.bias != nullptr ? 1 << 8 : 0) | (args.into == GemmArgs::Into::add ? 1 << 9 : 0) |
                      (args.w_scales != nullptr ? 1 << 10 : 0);
    return {args.rows, args.out, args.cols, kinds};
  }

  void destroy(const Shape& shape) const {
    library.destroy_layout(shape.w);
    library.destroy_layout(shape.x);
    library.destroy_layout(shape.y);
    library.destroy_desc(shape.desc);
  }

  // cuBLAS counts columns first: row-major [rows, cols] is its [cols, rows], so yᵀ = w xᵀ.
  Shape make_shape(const GemmArgs& args) const {
    Shape shape;
    check(library.create_desc(&shape.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t turned = CUBLAS_OP_T;
    check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned));
    if (args.bias != nullptr) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      const cudaDataType_t type = cuda_type(args.type);
      check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
      check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type));
    }
    if (args.w_scales != nullptr) {
      const std::int32_t by_vectors = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
      const std::int8_t fast = 1;
      check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &by_vectors, sizeof by_vectors));
      check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &by_vectors, sizeof by_vectors));
      check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
      set_scales(shape, args);
    }
    const cudaDataType_t read = args.w_scales != nullptr ? CUDA_R_8F_E4M3 : cuda_type(args.type);
    const auto cols = static_cast<std::uint64_t>(args.cols);
    const auto out = static_cast<std::uint64_t>(args.out);
    const auto rows = static_cast<std::uint64_t>(args.rows);
    check(library.create_layout(&shape.w, read, cols, out, args.cols));
    check(library.create_layout(&shape.x, read, cols, rows, args.cols));
    check(library.create_layout(&shape.y, cuda_type(args.out_type), out, rows, args.out));
    return shape;
  }

  void set_scales(const Shape& shape, const GemmArgs& args) const {
    check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &args.w_scales,
                           sizeof args.w_scales));
    check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &args.x_scales,
                           sizeof args.x_scales));
  }

  std::vector<cublasLtMatmulHeuristicResult_t> candidates(const Shape& shape, int count) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check(library.create_preference(&preference));
    check(library.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                 sizeof kWorkspaceBytes));
    std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(count));
    int num_found = 0;
    check(library.get_heuristic(handle, shape.desc, shape.w, shape.x, shape.y, shape.y, preference, count,
                                found.data(), &num_found));
    library.destroy_preference(preference);
    if (num_found == 0) remember_failure("cuBLASLt has no algorithm for a product");
    found.resize(static_cast<std::size_t>(num_found));
    return found;
  }

  Shape& shape_of(const GemmArgs& args) {
    const Key key = key_of(args);
    const auto known = shapes.find(key);
    if (known != shapes.end()) return known->second;
    Shape shape = make_shape(args);
    const std::vector<cublasLtMatmulHeuristicResult_t> found = candidates(shape, 1);
    if (!found.empty()) shape.algorithm = found.front().algo;
    return shapes.emplace(key, shape).first->second;
  }

  cublasStatus_t multiply(StreamHandle stream, const GemmArgs& args, const Shape& shape,
                          const cublasLtMatmulAlgo_t& algorithm) const {
    if (args.bias != nullptr)
      check(library.set_desc(shape.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &args.bias, sizeof args.bias));
    if (args.w_scales != nullptr) set_scales(shape, args);
    const float beta = args.into == GemmArgs::Into::add ? 1.0f : 0.0f;
    return library.matmul(handle, shape.desc, &args.scale, args.w, shape.w, args.x, shape.x, &beta, args.y,
                          shape.y, args.y, shape.y, &algorithm, workspace.data(), workspace.size(), stream);
  }

  Library library;
  cublasLtHandle_t handle = nullptr;
  DeviceBuffer workspace;
  std::map<Key, Shape> shapes;
};

Gemm::Gemm(std::unique_ptr<State> state) : state_(std::move(state)) {}

Gemm::~Gemm() = default;

base::Result<std::unique_ptr<Gemm>> Gemm::create() {
  auto state = std::make_unique<State>();
  TRY(state->library, open_library());
  TRY(state->workspace, DeviceBuffer::allocate(kWorkspaceBytes));
  if (state->library.create(&state->handle) != CUBLAS_STATUS_SUCCESS)
    return base::error(ErrorCode::unavailable, "cuBLASLt cannot be initialised");
  return std::unique_ptr<Gemm>(new Gemm(std::move(state)));
}

void Gemm::run(StreamHandle stream, const GemmArgs& args) {
  if (has_failed()) return;
  const State::Shape& shape = state_->shape_of(args);
  if (!has_failed()) check(state_->multiply(stream, args, shape, shape.algorithm));
}

void Gemm::tune(StreamHandle stream, const GemmArgs& args, std::span<const void* const> weights) {
  constexpr int kRuns = 5;
  if (has_failed()) return;
  State::Shape& shape = state_->shape_of(args);
  Event begin;
  Event end;
  double best_s = std::numeric_limits<double>::infinity();
  for (const cublasLtMatmulHeuristicResult_t& candidate : state_->candidates(shape, kMaxCandidates)) {
    GemmArgs one = args;
    bool works = true;
    for (int i = -1; i < kRuns && works; ++i) {  // the first warms up
      if (i == 0) begin.record(stream);
      one.w = weights[static_cast<std::size_t>(i + 1) % weights.size()];
      works = state_->multiply(stream, one, shape, candidate.algo) == CUBLAS_STATUS_SUCCESS;
    }
    end.record(stream);
    end.wait();
    const double seconds = works ? end.seconds_since(begin) : best_s;
    if (seconds < best_s) {
      best_s = seconds;
      shape.algorithm = candidate.algo;
    }
  }
}

}  // namespace kvasir::ops::cuda
