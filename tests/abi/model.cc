// SPDX-License-Identifier: Apache-2.0
// A model by hand, as emit/ would write it: y = 2 * x + w over float32[2,3], and the version of a
// vendor library as int64 (0 without one). The tests make variants of it with macros:
//   WITH_VENDOR       needs libabivendor.so.1
//   WITH_FEATURE="f"  needs a feature of the CPU
//   PROGRAM_ABI=n     claims another ABI version
//   KEEP_WEIGHT       w can be set
//   BUNDLED="hash"    libabivendor.so.1 is beside it, with this hash
//   INSIDE=bytes      no: it is at byte 4096 of the weights
//   PLACES            x and y have places in the pool
#include "runtime/program.h"

#ifndef PROGRAM_ABI
#define PROGRAM_ABI TESSERA_ABI_VERSION
#endif

extern "C" {

namespace {

struct Rows {
  const float* x;
  const float* w;
  float* y;
};

int32_t add_rows(void* closure, int64_t begin, int64_t end, int32_t) {
  const auto& rows = *static_cast<const Rows*>(closure);
  for (int64_t i = begin * 3; i < end * 3; ++i) rows.y[i] = 2 * rows.x[i] + rows.w[i];
  return 0;
}

int32_t scale_add(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  Rows rows = {static_cast<const float*>(buffers[0]), static_cast<const float*>(buffers[1]),
               static_cast<float*>(buffers[2])};
  return tessera_parallel_for(call, dims[0], add_rows, &rows);
}

int32_t entry(const tessera_frame* frame) {
#ifdef KEEP_WEIGHT
  void* w = frame->inputs[1];
#else
  void* w = const_cast<void*>(frame->constants[0]);
#endif
  void* buffers[] = {frame->inputs[0], w, frame->outputs[0]};
  const int64_t dims[] = {2};
  if (int32_t status = scale_add(buffers, dims, frame->call)) return status;
  if (frame->profile) tessera_profile_mark(frame->profile, 0);
  int64_t version = 0;
#ifdef WITH_VENDOR
  using Version = int (*)();
  version = reinterpret_cast<Version>(frame->extern_calls[0].states->library)();
#endif
  *static_cast<int64_t*>(frame->outputs[1]) = version;
  return 0;
}

const int64_t shape[] = {2, 3};
const tessera_program_io inputs[] = {
    {"x", {TESSERA_FLOAT, 32, 1}, 2, shape, nullptr, nullptr, nullptr, 0, 0},
    {"w", {TESSERA_FLOAT, 32, 1}, 2, shape, nullptr, nullptr, nullptr, 0, 0}};
#ifdef KEEP_WEIGHT
const int32_t kept_weights[] = {0};
constexpr int kKept = 1;
#else
const int32_t* const kept_weights = nullptr;
constexpr int kKept = 0;
#endif
const tessera_program_io outputs[] = {
    {"y", {TESSERA_FLOAT, 32, 1}, 2, shape, nullptr, nullptr, nullptr, 0, 0},
    {"version", {TESSERA_INT, 64, 1}, 0, nullptr, nullptr, nullptr, nullptr, 0, 0}};
const tessera_program_pool pools[] = {{"arena", {TESSERA_CPU, 0}, 4096, 64}};
const tessera_program_constant constants[] = {{"w", {TESSERA_FLOAT, 32, 1}, 2, shape, 0, 24}};
const tessera_program_step steps[] = {{"scale_add", "native"}};

#ifdef WITH_VENDOR
int32_t open_vendor(const tessera_state_args* args, void** state) {
  void* library = tessera_vendor_library(args, "libabivendor.so.1");
  if (library == nullptr) return 1;
  *state = tessera_vendor_symbol(args, library, "abi_vendor_version");
  return *state == nullptr ? 1 : 0;
}
int32_t vendor_kernel(const tessera_call*, tessera_tensor**, int32_t) { return 0; }

const char* const libraries[] = {"libabivendor.so.1"};
const tessera_program_backend backends[] = {
    {"abivendor", libraries, 1, open_vendor, nullptr, nullptr, nullptr}};
const tessera_program_extern externs[] = {{"vendor_kernel", 0, vendor_kernel, nullptr, nullptr,
                                           nullptr, nullptr, 0, nullptr, nullptr, 0, -1, 0, 0,
                                           nullptr, nullptr, 1, nullptr}};
constexpr int kExterns = 1;
#else
const tessera_program_backend* const backends = nullptr;
const tessera_program_extern* const externs = nullptr;
constexpr int kExterns = 0;
#endif

#ifndef INSIDE
#define INSIDE 0
#endif
#ifdef BUNDLED
const tessera_program_bundled bundled[] = {{"libabivendor.so.1", BUNDLED, 4096, INSIDE}};
constexpr int kBundled = 1;
#else
const tessera_program_bundled* const bundled = nullptr;
constexpr int kBundled = 0;
#endif

#ifdef PLACES
const tessera_program_place places[] = {{0, 64, 24}, {0, 128, 24}, {0, 0, 0}};
#else
const tessera_program_place* const places = nullptr;
#endif

#ifdef WITH_FEATURE
const char* const features[] = {WITH_FEATURE};
constexpr int kFeatures = 1;
#else
const char* const* const features = nullptr;
constexpr int kFeatures = 0;
#endif

}  // namespace

TESSERA_API const char tessera_metadata[] = "{\"model\": \"abi\"}";

TESSERA_API const tessera_program tessera_model_program = {TESSERA_PROGRAM_VERSION,
                                                           PROGRAM_ABI,
                                                           "by-hand",
                                                           "cpu -mcpu=by-hand",
                                                           "x86-64",
                                                           features,
                                                           kFeatures,
                                                           {TESSERA_CPU, 0},
                                                           tessera_metadata,
                                                           nullptr,
                                                           inputs,
                                                           outputs,
                                                           pools,
                                                           constants,
                                                           backends,
                                                           externs,
                                                           nullptr,
                                                           steps,
                                                           0,
                                                           1,
                                                           2,
                                                           1,
                                                           1,
                                                           kExterns,
                                                           kExterns,
                                                           0,
                                                           1,
                                                           0,
                                                           tessera_weights,
                                                           nullptr,
                                                           nullptr,
                                                           entry,
                                                           nullptr,
                                                           nullptr,
                                                           nullptr,
                                                           0,
                                                           nullptr,
                                                           kept_weights,
                                                           kKept,
                                                           bundled,
                                                           kBundled,
                                                           nullptr,
                                                           nullptr,
                                                           places};

}  // extern "C"
