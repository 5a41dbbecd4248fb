// SPDX-License-Identifier: Apache-2.0
#include "exec/session.h"

#include <chrono>
#include <cstddef>
#include <filesystem>

#include <dlfcn.h>

#include "runtime/threads.h"
#include "support/check.h"

namespace tessera::exec {

// What a model offers once it is created. tessera_model_create itself exists in libraries only.
#define TESSERA_MODEL_FUNCTIONS(X)  \
  X(tessera_last_error)             \
  X(tessera_model_destroy)          \
  X(tessera_model_input_count)      \
  X(tessera_model_output_count)     \
  X(tessera_model_input)            \
  X(tessera_model_output)           \
  X(tessera_instance_create)        \
  X(tessera_instance_destroy)       \
  X(tessera_instance_run)           \
  X(tessera_instance_device_ns)     \
  X(tessera_instance_profile)       \
  X(tessera_instance_profile_count) \
  X(tessera_instance_profile_entry)

// Null in libraries of older compilers, which keep no weights.
#define TESSERA_LATER_FUNCTIONS(X) \
  X(tessera_model_weight_count)    \
  X(tessera_model_weight)          \
  X(tessera_instance_set_weight)   \
  X(tessera_instance_memory)       \
  X(tessera_instance_rates)

struct ModelApi {
#define X(f) decltype(&::f) f = nullptr;
  TESSERA_MODEL_FUNCTIONS(X)
  TESSERA_LATER_FUNCTIONS(X)
#undef X
};

namespace {

ModelApi linked_api() {
  ModelApi api;
#define X(f) api.f = &::f;
  TESSERA_MODEL_FUNCTIONS(X)
  TESSERA_LATER_FUNCTIONS(X)
#undef X
  return api;
}

// The name of a function that the library lacks, or null.
const char* load_api(void* library, ModelApi& api) {
#define X(f)                                                     \
  api.f = reinterpret_cast<decltype(api.f)>(dlsym(library, #f)); \
  if (api.f == nullptr) return #f;
  TESSERA_MODEL_FUNCTIONS(X)
#undef X
#define X(f) api.f = reinterpret_cast<decltype(api.f)>(dlsym(library, #f));
  TESSERA_LATER_FUNCTIONS(X)
#undef X
  return nullptr;
}

DType to_dtype(tessera_dtype t) { return {static_cast<TypeCode>(t.code), t.bits, t.lanes}; }

template <class Count, class Get>
std::vector<PortInfo> read_ports(const tessera_model* model, Count count, Get get) {
  std::vector<PortInfo> ports;
  for (std::int32_t i = 0; i < count(model); ++i) {
    tessera_io io = TESSERA_IO_INIT;
    get(model, i, &io);
    ports.push_back({io.name,
                     to_dtype(io.dtype),
                     {io.shape, io.shape + io.ndim},
                     {io.shares, io.shares + io.share_count}});
  }
  return ports;
}

// Arrays of an .npz lie anywhere in its file.
tessera_tensor as_c_tensor(const Tensor& t) {
  const std::span<const std::byte> bytes = t.blob->aligned_bytes(alignof(std::max_align_t));
  tessera_tensor c = {};
  c.data = const_cast<std::byte*>(bytes.data());  // inputs are not written to
  c.device = {TESSERA_CPU, 0};
  c.ndim = static_cast<std::int32_t>(t.shape.size());
  c.dtype = {static_cast<std::uint8_t>(t.dtype.code), t.dtype.bits, t.dtype.lanes};
  c.shape = const_cast<std::int64_t*>(t.shape.data());
  return c;
}

Tensor copy_of(const tessera_tensor& c) {
  std::vector<std::int64_t> shape(c.shape, c.shape + c.ndim);
  const DType dtype = to_dtype(c.dtype);
  std::int64_t bytes = dtype.size_bytes();
  for (const std::int64_t n : shape) bytes *= n;
  const auto* data = static_cast<const std::byte*>(c.data) + c.byte_offset;
  return Tensor(std::move(shape), dtype, Blob::copy_of({data, static_cast<std::size_t>(bytes)}));
}

std::uint64_t micros_since(std::chrono::steady_clock::time_point begin) {
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
}

}  // namespace

Session::Session() : api_(std::make_unique<ModelApi>()) {}

Session::~Session() {
  if (instance_ != nullptr) api_->tessera_instance_destroy(instance_);
  if (model_ != nullptr) api_->tessera_model_destroy(model_);
}

Result<std::unique_ptr<Session>> Session::open_library(const std::string& path,
                                                       const SessionOptions& options,
                                                       const std::string& create) {
  const auto begin = std::chrono::steady_clock::now();
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(error(Code::kBadLibrary, {}, "`{}` cannot be loaded: {}", path, dlerror())
                    .with_remedy("give the output of `tessera compile` for this machine"));
  }
  std::unique_ptr<Session> session(new Session);
  session->owner_ = std::shared_ptr<void>(library, dlclose);
  if (const char* missing = load_api(library, *session->api_)) {
    return fail(
        error(Code::kBadLibrary, {}, "`{}` is not a tessera library: it lacks {}", path, missing)
            .with_remedy("give the output of `tessera compile`"));
  }
  const auto create_model =
      reinterpret_cast<decltype(&tessera_model_create)>(dlsym(library, create.c_str()));
  if (create_model == nullptr) {
    return fail(error(Code::kBadLibrary, {},
                      "`{}` is not a tessera library: it cannot create a model", path)
                    .with_remedy("give the output of `tessera compile`"));
  }
  TESSERA_TRY_VOID(session->status(create_model(nullptr, &session->model_)));
  if (const auto* json = static_cast<const char*>(dlsym(library, "tessera_metadata"))) {
    session->metadata_ = json;
  }
  TESSERA_TRY_VOID(session->start(options));
  session->load_us_ = micros_since(begin);
  return session;
}

Result<std::unique_ptr<Session>> Session::open_program(const tessera_program& program,
                                                       std::shared_ptr<const void> keep_alive,
                                                       const std::vector<std::string>& folders,
                                                       std::string metadata,
                                                       const SessionOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<Session> session(new Session);
  *session->api_ = linked_api();
  session->owner_ = std::move(keep_alive);
  session->metadata_ = std::move(metadata);
  std::string last;  // as tessera_vendor_folders has them
  for (const std::string& folder : folders) last += folder + '\0';
  last += '\0';
  TESSERA_TRY_VOID(session->status(
      tessera_model_create_from(&program, {nullptr, last.c_str()}, nullptr, &session->model_)));
  TESSERA_TRY_VOID(session->start(options));
  session->load_us_ = micros_since(begin);
  return session;
}

Result<void> Session::start(const SessionOptions& options) {
  inputs_ = read_ports(model_, api_->tessera_model_input_count, api_->tessera_model_input);
  outputs_ = read_ports(model_, api_->tessera_model_output_count, api_->tessera_model_output);
  if (api_->tessera_model_weight_count != nullptr) {
    weights_ = read_ports(model_, api_->tessera_model_weight_count, api_->tessera_model_weight);
  }
  tessera_instance_options c = TESSERA_INSTANCE_OPTIONS_INIT;
  threads_ = options.threads > 0 ? options.threads : runtime::default_threads();
  c.threads = options.threads;
  c.profile = options.profile ? 1 : 0;
  c.no_replay = options.replay ? 0 : 1;
  c.repeats = options.repeats;
  c.weight_copies = options.weight_copies;
  c.same_inputs = options.stay_on_device ? 1 : 0;
  stay_on_device_ = options.stay_on_device;
  return status(api_->tessera_instance_create(model_, &c, &instance_));
}

Result<void> Session::status(int code) const {
  if (code == TESSERA_OK) return {};
  const auto failure = [&](Code known_as, std::string remedy) {
    return fail(
        error(known_as, {}, "{}", api_->tessera_last_error()).with_remedy(std::move(remedy)));
  };
  switch (code) {
    case TESSERA_INVALID_ARGUMENT:
      return failure(Code::kBadInput, "`tessera inspect` lists the inputs that the model takes");
    case TESSERA_LIBRARY_MISSING:
      return failure(Code::kBackendMissing,
                     "install it, or compile with --bundle, which copies it beside the library");
    case TESSERA_OUT_OF_MEMORY:
      return failure(Code::kBadInput,
                     "give smaller sizes with --dim, or use a machine with more memory");
    case TESSERA_INDEX_OUTSIDE:
      return failure(Code::kIndexOutOfRange,
                     "correct the inputs that the indices come from; indices count from 0, or "
                     "backwards from -1");
    case TESSERA_KERNEL_FAILED:
    case TESSERA_BUSY:
      return failure(Code::kBadLibrary,
                     "check the values of the inputs, and what else the device is used for");
    case TESSERA_DAMAGED:
      return failure(Code::kBadLibrary, "copy the library again, or compile the model again");
    default:  // of another version, or for another machine: the sentence says what to do
      return failure(Code::kBadLibrary, "");
  }
}

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs) {
  TESSERA_TRY_VOID(bind(inputs));
  out_tensors_.assign(outputs_.size(), tessera_tensor{});  // no data: the instance's own memory
  TESSERA_TRY_VOID(run_tensors());
  std::vector<Tensor> results;
  for (const tessera_tensor& t : out_tensors_) results.push_back(copy_of(t));
  return results;
}

Result<std::vector<Tensor>> Session::run_in_place(std::span<const Tensor> inputs,
                                                  std::span<const int> input_of_output) {
  TESSERA_TRY_VOID(bind(inputs));
  out_tensors_.assign(outputs_.size(), tessera_tensor{});
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (input_of_output[i] == kOwnMemory) continue;
    const auto input = static_cast<std::size_t>(input_of_output[i]);
    Tensor& t = bound_[input];
    t = Tensor(t.shape, t.dtype, Blob::copy_of(t.blob->bytes()));
    out_tensors_[i] = bound_tensors_[input] = as_c_tensor(t);
  }
  TESSERA_TRY_VOID(run_tensors());
  std::vector<Tensor> results;
  for (const tessera_tensor& t : out_tensors_) results.push_back(copy_of(t));
  return results;
}

Result<void> Session::bind(std::span<const Tensor> inputs) {
  bound_.assign(inputs.begin(), inputs.end());
  bound_tensors_.clear();
  for (const Tensor& t : bound_) bound_tensors_.push_back(as_c_tensor(t));
  return {};
}

Result<void> Session::set_weight(const std::string& name, const Tensor& value) {
  TESSERA_CHECK(api_->tessera_instance_set_weight != nullptr, "weights of a library without any");
  const tessera_tensor c = as_c_tensor(value);
  return status(api_->tessera_instance_set_weight(instance_, name.c_str(), &c));
}

Result<void> Session::run_bound() {
  tessera_tensor own = {};
  if (stay_on_device_) own.device = {TESSERA_CUDA, 0};
  out_tensors_.assign(outputs_.size(), own);
  return run_tensors();
}

Result<void> Session::run_tensors() {
  return status(api_->tessera_instance_run(
      instance_, bound_tensors_.data(), static_cast<std::int32_t>(bound_tensors_.size()),
      out_tensors_.data(), static_cast<std::int32_t>(out_tensors_.size())));
}

Result<std::uint64_t> Session::device_ns() {
  std::uint64_t ns = 0;
  TESSERA_TRY_VOID(status(api_->tessera_instance_device_ns(instance_, &ns)));
  return ns;
}

std::optional<DeviceMemory> Session::device_memory() const {
  tessera_memory m = TESSERA_MEMORY_INIT;
  if (api_->tessera_instance_memory == nullptr ||
      api_->tessera_instance_memory(instance_, &m) != TESSERA_OK || m.pinned_bytes == 0) {
    return std::nullopt;
  }
  return DeviceMemory{m.constant_bytes, m.pool_bytes, m.other_bytes, m.pinned_bytes};
}

Result<std::optional<DeviceRates>> Session::device_rates() {
  tessera_rates r = TESSERA_RATES_INIT;
  if (api_->tessera_instance_rates == nullptr) return std::nullopt;
  TESSERA_TRY_VOID(status(api_->tessera_instance_rates(instance_, &r)));
  if (r.bytes_per_second == 0) return std::nullopt;
  return DeviceRates{r.bytes_per_second, r.float32_flops_per_second, r.float16_flops_per_second};
}

Result<void> Session::profile(bool on) {
  return status(api_->tessera_instance_profile(instance_, on ? 1 : 0));
}

std::vector<KernelTime> Session::kernel_times() const {
  std::vector<KernelTime> times;
  for (std::int32_t i = 0; i < api_->tessera_instance_profile_count(instance_); ++i) {
    tessera_profile_entry e = TESSERA_PROFILE_ENTRY_INIT;
    api_->tessera_instance_profile_entry(instance_, i, &e);
    times.push_back({e.kernel, e.backend, e.calls, e.total_ns, e.min_ns, e.last_start_ns, e.last_ns,
                     e.note == nullptr ? "" : e.note});
  }
  return times;
}

}  // namespace tessera::exec
