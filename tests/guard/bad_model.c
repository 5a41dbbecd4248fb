/* SPDX-License-Identifier: Apache-2.0 */
/* A library that copies `x` to `y`, each of n floats, and does wrong what BAD says: what a run
 * between guard pages must notice. */
#include <string.h>

#include "tessera/model.h"

enum {
  FINE,
  READS_BEHIND,
  READS_BEFORE,
  WRITES_BEHIND,
  WRITES_BEFORE,
  WRITES_INPUT,
  SWAPS,
  CLAIMS
};

static const int64_t open_shape[] = {-1}, least[] = {0}, most[] = {-1};

const char* tessera_last_error(void) { return "there is too little room"; }
const char* tessera_metadata_json(void) {
  return "{\"inputs\": [{\"shape\": [\"n\"]}], \"outputs\": [{\"shape\": [\"n\"]}]}";
}
int32_t tessera_model_create(const tessera_model_options* options, tessera_model** model) {
  (void)options;
  *model = NULL;
  return TESSERA_OK;
}
void tessera_model_destroy(tessera_model* model) { (void)model; }
int32_t tessera_model_input(const tessera_model* model, int32_t index, tessera_io* io) {
  (void)model;
  io->ndim = 1;
  io->name = index == 0 ? "x" : "";
  io->shape = open_shape;
  io->min_shape = least;
  io->max_shape = most;
  io->dtype = (tessera_dtype){TESSERA_FLOAT, 32, 1};
  io->align_bytes = 4;
  return TESSERA_OK;
}
int32_t tessera_model_output(const tessera_model* model, int32_t index, tessera_io* io) {
  return tessera_model_input(model, index, io);
}
int32_t tessera_model_output_shapes(const tessera_model* model, const tessera_tensor* inputs,
                                    int32_t input_count, tessera_tensor* outputs,
                                    int32_t output_count) {
  (void)model;
  (void)input_count;
  (void)output_count;
  outputs[0].shape[0] = inputs[0].shape[0];
  return TESSERA_OK;
}
int32_t tessera_instance_create(tessera_model* model, const tessera_instance_options* options,
                                tessera_instance** instance) {
  (void)model;
  (void)options;
  static int one;
  *instance = (tessera_instance*)&one;
  return TESSERA_OK;
}
void tessera_instance_destroy(tessera_instance* instance) { (void)instance; }

/* Where results are the instance's. */
static float own[1 << 20];
static int64_t own_shape[1];

int32_t tessera_instance_run(tessera_instance* instance, const tessera_tensor* inputs,
                             int32_t input_count, tessera_tensor* outputs, int32_t output_count) {
  (void)instance;
  (void)input_count;
  (void)output_count;
  const int64_t n = inputs[0].shape[0];
  volatile float* x = inputs[0].data;
  if (outputs[0].data == NULL) {
    outputs[0].data = own;
    outputs[0].ndim = 1;
    outputs[0].shape = own_shape;
  } else if (outputs[0].shape[0] < n && BAD != CLAIMS) {
    return TESSERA_INVALID_ARGUMENT;
  }
  volatile float* y = outputs[0].data;
  const int64_t room = outputs[0].data == own ? n : outputs[0].shape[0];
  outputs[0].shape[0] = n;
  for (int64_t i = 0; i < (n < room ? n : room); ++i) y[i] = x[i];
  if (n == 0) return TESSERA_OK;
  if (BAD == READS_BEHIND) (void)x[n];
  if (BAD == READS_BEFORE) (void)x[-1];
  if (BAD == WRITES_BEHIND && y != own) y[room] = 1;
  if (BAD == WRITES_BEFORE && y != own) y[-1] = 1;
  if (BAD == WRITES_INPUT) x[0] = 1;
  if (BAD == SWAPS) outputs[0].data = own;
  return TESSERA_OK;
}
