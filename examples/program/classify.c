// SPDX-License-Identifier: Apache-2.0
// A model in a program in C: finds an input by its name, lets the model keep its result, and says
// what is wrong.
#include <stdio.h>
#include <tessera/model.h>

enum { kRows = 3, kClasses = 4 };

static int fail(const char* what) {
  fprintf(stderr, "classify: %s: %s\n", what, tessera_last_error());
  return 1;
}

static int classify(tessera_model* model, tessera_instance* instance) {
  int32_t place = 0;  // among the inputs of a run; there is no other here
  if (tessera_model_find_input(model, "scores", &place)) return fail("input");
  float scores[kRows][kClasses] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 2, 3}};
  int64_t shape[] = {kRows, kClasses};
  tessera_tensor input = {.data = scores,
                          .device = {TESSERA_CPU, 0},
                          .ndim = 2,
                          .dtype = {TESSERA_FLOAT, 32, 1},
                          .shape = shape};
  tessera_tensor output = {0};  // no data: the instance's own memory
  if (tessera_instance_run(instance, &input, 1, &output, 1)) return fail("run");
  const float* shares = output.data;
  for (int row = 0; row < kRows; ++row) {
    for (int c = 0; c < kClasses; ++c) printf("%.4f ", shares[row * kClasses + c]);
    printf("\n");
  }
  return 0;
}

int main(void) {
  tessera_model* model = NULL;
  if (tessera_model_create(NULL, &model)) return fail("model");
  tessera_instance* instance = NULL;
  const int status = tessera_instance_create(model, NULL, &instance) ? fail("instance")
                                                                     : classify(model, instance);
  tessera_instance_destroy(instance);
  tessera_model_destroy(model);
  return status;
}
