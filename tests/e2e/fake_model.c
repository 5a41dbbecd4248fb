/* SPDX-License-Identifier: Apache-2.0 */
/* A library that creates no instance, and says instead what it was asked for: what a caller's
 * options become on their way through the C interface. */
#include <stdio.h>

#include "tessera/model.h"

TESSERA_API const char tessera_metadata[] = "{}";
static char last_error[256];

const char* tessera_last_error(void) { return last_error; }
const char* tessera_target(void) { return "cuda"; }
const char* tessera_build_id(void) { return "none"; }
const char* tessera_metadata_json(void) { return tessera_metadata; }

int32_t tessera_model_create(const tessera_model_options* options, tessera_model** model) {
  (void)options;
  *model = NULL;
  return TESSERA_OK;
}
void tessera_model_destroy(tessera_model* model) { (void)model; }

static int32_t none_of(const tessera_model* model) {
  (void)model;
  return 0;
}
int32_t tessera_model_input_count(const tessera_model* model) { return none_of(model); }
int32_t tessera_model_output_count(const tessera_model* model) { return none_of(model); }
int32_t tessera_model_input(const tessera_model* model, int32_t index, tessera_io* io) {
  (void)index;
  (void)io;
  return none_of(model);
}
int32_t tessera_model_output(const tessera_model* model, int32_t index, tessera_io* io) {
  (void)index;
  (void)io;
  return none_of(model);
}

int32_t tessera_instance_create(tessera_model* model, const tessera_instance_options* options,
                                tessera_instance** instance) {
  (void)model;
  *instance = NULL;
  int length = snprintf(last_error, sizeof last_error, "asked for %d threads, replay %s",
                        (int)options->threads,
                        options->struct_bytes < sizeof *options ? "unsaid"
                        : options->no_replay                    ? "off"
                                                                : "on");
  if (options->struct_bytes < sizeof *options) return TESSERA_INVALID_ARGUMENT;
  length += snprintf(last_error + length, sizeof last_error - (size_t)length, ", nice %d",
                     (int)options->thread_nice);
  for (int i = 0; i < options->thread_cpu_count; ++i) {
    length += snprintf(last_error + length, sizeof last_error - (size_t)length, ", CPU %d",
                       (int)options->thread_cpus[i]);
  }
  return TESSERA_INVALID_ARGUMENT;
}
void tessera_instance_destroy(tessera_instance* instance) { (void)instance; }

/* There are no instances to call these with. */
int32_t tessera_instance_run(tessera_instance* instance, const tessera_tensor* inputs,
                             int32_t input_count, tessera_tensor* outputs, int32_t output_count) {
  (void)instance;
  (void)inputs;
  (void)outputs;
  return input_count + output_count;
}
int32_t tessera_instance_run_on_stream(tessera_instance* instance, void* stream,
                                       const tessera_tensor* inputs, int32_t input_count,
                                       tessera_tensor* outputs, int32_t output_count) {
  (void)stream;
  return tessera_instance_run(instance, inputs, input_count, outputs, output_count);
}
int32_t tessera_instance_synchronize(tessera_instance* instance) {
  (void)instance;
  return TESSERA_OK;
}
int32_t tessera_model_output_shapes(const tessera_model* model, const tessera_tensor* inputs,
                                    int32_t input_count, tessera_tensor* outputs,
                                    int32_t output_count) {
  (void)inputs;
  (void)outputs;
  return none_of(model) + input_count + output_count;
}
int32_t tessera_instance_device_ns(tessera_instance* instance, uint64_t* ns) {
  (void)instance;
  *ns = 0;
  return TESSERA_OK;
}
int32_t tessera_instance_profile(tessera_instance* instance, int32_t on) {
  (void)instance;
  return on;
}
int32_t tessera_instance_profile_count(const tessera_instance* instance) {
  (void)instance;
  return 0;
}
int32_t tessera_instance_profile_entry(const tessera_instance* instance, int32_t index,
                                       tessera_profile_entry* entry) {
  (void)instance;
  (void)entry;
  return index;
}
