// SPDX-License-Identifier: Apache-2.0
// A model by hand, as emit/ would write it: y[i] = w[i] * x[i] over float32[4], and the sum of all
// bytes of a second constant.
#include "runtime/program.h"

extern "C" {

static int32_t scale(void* const* buffers, const int64_t* dims, const tessera_call*) {
  const float* __restrict w = static_cast<const float*>(buffers[0]);
  const float* __restrict x = static_cast<const float*>(buffers[1]);
  float* __restrict y = static_cast<float*>(buffers[2]);
  for (int64_t i = 0; i < dims[0]; ++i) y[i] = w[i] * x[i];
  return 0;
}

static int32_t entry(const tessera_frame* frame) {
  void* buffers[] = {const_cast<void*>(frame->constants[0]), frame->inputs[0], frame->outputs[0]};
  const int64_t dims[] = {4};
  if (int32_t status = scale(buffers, dims, frame->call)) return status;
  const auto* bytes = static_cast<const unsigned char*>(frame->constants[1]);
  int64_t last = bytes[frame->input_tensors[1].shape[0] - 1];
  *static_cast<int64_t*>(frame->outputs[1]) = last;
  return 0;
}

static const int64_t shape[] = {4};
static const int64_t bytes_shape[] = {-1};
static const int64_t one[] = {1};
static const int64_t unbounded[] = {-1};
static const tessera_program_io inputs[] = {
    {"x", {TESSERA_FLOAT, 32, 1}, 1, shape, nullptr, nullptr, nullptr, 0, 0},
    {"n", {TESSERA_UINT, 8, 1}, 1, bytes_shape, one, unbounded, nullptr, 0, 0}};
static const tessera_program_io outputs[] = {
    {"y", {TESSERA_FLOAT, 32, 1}, 1, shape, nullptr, nullptr, nullptr, 0, 0},
    {"last", {TESSERA_INT, 64, 1}, 0, nullptr, nullptr, nullptr, nullptr, 0, 0}};
static const tessera_program_constant constants[] = {
    {"w", {TESSERA_FLOAT, 32, 1}, 1, shape, 0, 16},
    {"table", {TESSERA_UINT, 8, 1}, 1, bytes_shape, 64, 1}};

TESSERA_API const char tessera_metadata[] = "{\"model\": \"scale\"}";

TESSERA_API const tessera_program tessera_model_program = {TESSERA_PROGRAM_VERSION,
                                                           TESSERA_ABI_VERSION,
                                                           "by-hand",
                                                           "cpu",
                                                           "x86-64",
                                                           nullptr,
                                                           0,
                                                           {TESSERA_CPU, 0},
                                                           tessera_metadata,
                                                           nullptr,
                                                           inputs,
                                                           outputs,
                                                           nullptr,
                                                           constants,
                                                           nullptr,
                                                           nullptr,
                                                           nullptr,
                                                           nullptr,
                                                           0,
                                                           2,
                                                           2,
                                                           0,
                                                           2,
                                                           0,
                                                           0,
                                                           0,
                                                           0,
                                                           0,
                                                           tessera_weights,
                                                           nullptr,
                                                           nullptr,
                                                           entry,
                                                           nullptr};

}  // extern "C"
