// SPDX-License-Identifier: Apache-2.0
//
// Uses the compiled model: reads rows of 128 token ids, as many of the mask, as many of the token
// types (int64) from standard input, writes one embedding of 384 floats a row to standard output.
//
//   cc embed.c -I include build/demo/minilm.so -o embed
#include <stdio.h>
#include <tessera/model.h>

enum { kSequence = 128, kHidden = 384 };

int main(void) {
  tessera_model* model = NULL;
  tessera_instance* instance = NULL;
  if (tessera_model_create(NULL, &model) || tessera_instance_create(model, NULL, &instance)) {
    fprintf(stderr, "embed: %s\n", tessera_last_error());
    return 1;
  }

  _Alignas(64) static int64_t row[3][kSequence];  // ids, mask, token types
  int64_t shape[] = {1, kSequence};
  tessera_tensor inputs[3];
  for (int i = 0; i < 3; ++i) {
    inputs[i] = (tessera_tensor){.data = row[i],
                                 .device = {TESSERA_CPU, 0},
                                 .ndim = 2,
                                 .dtype = {TESSERA_INT, 64, 1},
                                 .shape = shape};
  }
  int status = 0;
  while (status == 0 && fread(row, sizeof(row), 1, stdin) == 1) {
    tessera_tensor output = {0};  // no data: the instance's own memory
    status = tessera_instance_run(instance, inputs, 3, &output, 1);
    if (status == 0) {
      fwrite(output.data, sizeof(float), kHidden, stdout);
    } else {
      fprintf(stderr, "embed: %s\n", tessera_last_error());
    }
  }
  tessera_instance_destroy(instance);
  tessera_model_destroy(model);
  return status != 0;
}
