// SPDX-License-Identifier: Apache-2.0
// The shortest use of a library: linked with it, as docs/abi.md shows.
#include <stdio.h>

#include "tessera/model.h"

int main(void) {
  tessera_model* model = NULL;
  tessera_instance* instance = NULL;
  if (tessera_model_create(NULL, &model) || tessera_instance_create(model, NULL, &instance)) {
    fprintf(stderr, "%s\n", tessera_last_error());
    return 1;
  }
  float x[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  tessera_tensor in = {x, {TESSERA_CPU, 0}, 2, {TESSERA_FLOAT, 32, 1}, shape, NULL, 0};
  tessera_tensor out[2] = {{0}}; /* data == NULL: give me yours */
  if (tessera_instance_run(instance, &in, 1, out, 2)) {
    fprintf(stderr, "%s\n", tessera_last_error());
    return 1;
  }
  printf("%g\n", (double)((const float*)out[0].data)[5]);
  tessera_instance_destroy(instance);
  tessera_model_destroy(model);
  return 0;
}
