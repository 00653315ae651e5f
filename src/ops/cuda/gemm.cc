#include "ops/cuda/gemm.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/cuda/failure.h"
#include "ops/cuda/product_ways.h"

namespace kvasir::ops::cuda {

using base::ErrorCode;

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr int kMaxCandidates = 24;
constexpr const char* kLibrary = "libcublasLt.so.13";

// The functions of cuBLASLt that Gemm uses.
struct Library {
  void* handle = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) check_algorithm = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
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
                     find(l.handle, "cublasLtMatmulAlgoCheck", l.check_algorithm) &&
                     find(l.handle, "cublasLtGetVersion", l.version) &&
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

// Identifies everything besides the shape that measurements of products depend on. Increase kKernels when the
// kernels here change.
std::string title_of_ways(const Library& library) {
  constexpr int kKernels = 1;
  int driver = 0;
  cudaDriverGetVersion(&driver);
  const base::Result<DeviceInfo> device = find_device();
  return fmt::format("kvasir products {}, cuBLASLt {}, driver {}, {}", kKernels, library.version(), driver,
                     device.ok() ? device->name : "no GPU");
}

cudaDataType_t cuda_type(tensor::DType type) {
  if (type == tensor::DType::f32) return CUDA_R_32F;
  return type == tensor::DType::f16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

struct Gemm::State {
  // The properties that an algorithm depends on.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, int>;
  struct Shape {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t w = nullptr;
    cublasLtMatrixLayout_t x = nullptr;
    cublasLtMatrixLayout_t y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    std::optional<WideShape> own;  // if set, used instead of the library
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
    if (shape.desc == nullptr) return;
    library.destroy_layout(shape.w);
    library.destroy_layout(shape.x);
    library.destroy_layout(shape.y);
    library.destroy_desc(shape.desc);
  }

  // cuBLAS is column-major, so a row-major [rows, cols] matrix is its [cols, rows]. It therefore computes yᵀ
  // = w xᵀ.
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
    const cublasStatus_t status = library.get_heuristic(handle, shape.desc, shape.w, shape.x, shape.y,
                                                        shape.y, preference, count, found.data(), &num_found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status);
    library.destroy_preference(preference);
    found.resize(static_cast<std::size_t>(num_found));
    return found;
  }

  Shape& shape_of(const GemmArgs& args) {
    const Key key = key_of(args);
    const auto known = shapes.find(key);
    if (known != shapes.end()) return known->second;
    if (choice == Choice::invariant) {
      const Shape own{.own = invariant_shape(args)};
      return shapes.emplace(key, own).first->second;
    }
    Shape shape = make_shape(args);
    const std::vector<cublasLtMatmulHeuristicResult_t> found = candidates(shape, 1);
    if (!found.empty())
      shape.algorithm = found.front().algo;
    else if (wide_product_takes(args))
      shape.own = invariant_shape(args);
    else
      remember_failure("cuBLASLt has no algorithm for a product");
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

  static ProductWays::Key key_in_file(const GemmArgs& args) {
    const auto [rows, out, cols, kinds] = key_of(args);
    return {rows, out, cols, kinds};
  }

  // Uses the way that the file has for the shape, if there is one and it works.
  bool use_known(const GemmArgs& args, Shape& shape) const {
    const ProductWays::Way* way = ways->find(key_in_file(args));
    if (way == nullptr) return false;
    if (way->own) {
      if (!wide_product_takes(args)) return false;
      const auto is_it = [&](const WideShape& one) {
        return one.parts == way->own->parts && one.sharers == way->own->sharers;
      };
      if (std::ranges::none_of(wide_shapes(args), is_it)) return false;
      shape.own = way->own;
      return true;
    }
    const auto algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(way->algorithm);
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status =
        library.check_algorithm(handle, shape.desc, shape.w, shape.x, shape.y, shape.y, &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kWorkspaceBytes) return false;
    shape.algorithm = algorithm;
    return true;
  }

  Library library;
  std::unique_ptr<ProductWays> ways;
  Choice choice = Choice::fastest;
  cublasLtHandle_t handle = nullptr;
  DeviceBuffer workspace;
  std::map<Key, Shape> shapes;
};

Gemm::Gemm(std::unique_ptr<State> state) : state_(std::move(state)) {}

Gemm::~Gemm() = default;

base::Result<std::unique_ptr<Gemm>> Gemm::create(Choice choice, const std::filesystem::path& file) {
  auto state = std::make_unique<State>();
  state->choice = choice;
  TRY(state->library, open_library());
  TRY(state->workspace, DeviceBuffer::allocate(kWorkspaceBytes));
  if (state->library.create(&state->handle) != CUBLAS_STATUS_SUCCESS)
    return base::error(ErrorCode::unavailable, "cuBLASLt cannot be initialised");
  state->ways = std::make_unique<ProductWays>(file, title_of_ways(state->library));
  return std::unique_ptr<Gemm>(new Gemm(std::move(state)));
}

void Gemm::run(StreamHandle stream, const GemmArgs& args) {
  if (has_failed()) return;
  const State::Shape& shape = state_->shape_of(args);
  if (has_failed()) return;
  if (shape.own)
    multiply_wide(stream, {.product = args, .shape = *shape.own});
  else
    check(state_->multiply(stream, args, shape, shape.algorithm));
}

bool Gemm::has_gate(const GemmArgs& args) {
  return !has_failed() && state_->shape_of(args).own.has_value() && args.bias == nullptr;
}

void Gemm::run_gated(StreamHandle stream, const GemmArgs& args, Activation activation) {
  if (has_failed()) return;
  multiply_wide(stream, {.product = args,
                         .shape = state_->shape_of(args).own.value_or(WideShape{}),
                         .gated = true,
                         .activation = activation});
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Seconds that one product takes with weights that are not in the cache; infinite if it is refused.
template <class F>
double measure(StreamHandle stream, std::span<const void* const> weights, int runs, F multiply) {
  Event begin;
  Event end;
  bool works = true;
  for (int i = -1; i < runs && works; ++i) {  // run -1 warms up
    if (i == 0) begin.record(stream);
    works = multiply(weights[static_cast<std::size_t>(i + 1) % weights.size()]);
  }
  end.record(stream);
  end.wait();
  return works ? end.seconds_since(begin) / runs : kNever;
}

// Returns the fastest of `ways` and its time. The most promising ways are measured again, for longer.
template <class Way, class F>
std::pair<double, Way> find_fastest(StreamHandle stream, std::span<const void* const> weights,
                                    const std::vector<Way>& ways, F multiply) {
  constexpr std::size_t kFinalists = 3;
  std::vector<std::pair<double, std::size_t>> order;
  const auto seconds = [&](std::size_t i, int runs) {
    return measure(stream, weights, runs, [&](const void* w) { return multiply(ways[i], w); });
  };
  for (std::size_t i = 0; i < ways.size(); ++i) order.emplace_back(seconds(i, 4), i);
  std::ranges::sort(order);
  order.resize(std::min(order.size(), kFinalists));
  for (auto& [time, i] : order)
    if (time < kNever) time = seconds(i, 16);
  const auto best = std::ranges::min_element(order);
  if (best == order.end()) return {kNever, Way{}};
  return {best->first, ways[best->second]};
}

}  // namespace

Gemm::Tuned Gemm::tune(StreamHandle stream, const GemmArgs& args, std::span<const void* const> weights) {
  if (has_failed() || state_->choice == Choice::invariant) return {kNever, kNever, {}};
  State::Shape& shape = state_->shape_of(args);
  if (state_->use_known(args, shape)) return {kNever, kNever, shape.own.value_or(WideShape{})};
  const auto with = [&](const void* w) {
    GemmArgs one = args;
    one.w = w;
    return one;
  };
  const auto [library_s, library] =
      find_fastest(stream, weights, state_->candidates(shape, kMaxCandidates),
                   [&](const cublasLtMatmulHeuristicResult_t& way, const void* w) {
                     return state_->multiply(stream, with(w), shape, way.algo) == CUBLAS_STATUS_SUCCESS;
                   });
  if (library_s < kNever) shape.algorithm = library.algo;
  const std::vector<WideShape> shapes =
      wide_product_takes(args) ? wide_shapes(args) : std::vector<WideShape>{};
  const auto [own_s, own] = find_fastest(stream, weights, shapes, [&](const WideShape& way, const void* w) {
    multiply_wide(stream, {.product = with(w), .shape = way});
    return true;
  });
  if (own_s < library_s) shape.own = own;
  state_->ways->keep(State::key_in_file(args),
                     {std::bit_cast<std::array<std::uint64_t, 8>>(shape.algorithm), shape.own});
  return {library_s, own_s, own};
}

void Gemm::save() {
  state_->ways->save();
}

}  // namespace kvasir::ops::cuda
