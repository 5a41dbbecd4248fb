// SPDX-License-Identifier: Apache-2.0
// A program in C99 that uses a model's library through its interface only, and knows nothing of the
// model: it asks.
//   client LIBRARY TEST, where TEST is
//     threads N      N threads with an instance each, many runs, equal results
//     steady         runs after the first two allocate nothing; prints the time of a call in ns
//     reload         load, run, unload, three times
//     wrong-inputs   prints one sentence for each mistake
//     wrong-abi      prints the sentence for a caller of another version
//     print          runs once and prints the first element of each output
//     weights        sets a weight, prints the sentence for each mistake, and the first element of
//                    the first output whenever it may have changed
//     places         runs on tensors that lie in the pools, in memory that it gives; prints the
//                    sentence for each wrong memory
//     fork           runs with two threads, there and in a child; prints the first element of both
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tessera/model.h"

enum { MAX_IO = 16, MAX_THREADS = 16 };

// ---- Every allocation of the process comes by here ----------------------------------------------

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);
static long allocations;

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}

// ---- The library --------------------------------------------------------------------------------

#define API(X)                   \
  X(tessera_last_error)          \
  X(tessera_abi_version)         \
  X(tessera_build_id)            \
  X(tessera_target)              \
  X(tessera_metadata_json)       \
  X(tessera_model_create)        \
  X(tessera_model_destroy)       \
  X(tessera_model_input_count)   \
  X(tessera_model_output_count)  \
  X(tessera_model_input)         \
  X(tessera_model_output)        \
  X(tessera_model_pool_count)    \
  X(tessera_model_pool)          \
  X(tessera_model_find_input)    \
  X(tessera_model_weight_count)  \
  X(tessera_model_weight)        \
  X(tessera_instance_set_weight) \
  X(tessera_instance_create)     \
  X(tessera_instance_destroy)    \
  X(tessera_instance_run)

// One pointer a function, of its type in model.h.
#define DECLARE(name) __typeof__(&name) name##_;
static struct { API(DECLARE) } api;

static void* library;

static void die(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

// memcpy, because ISO C has no conversion between pointers to objects and to functions.
#define FIND(name)                                    \
  do {                                                \
    void* symbol = dlsym(library, #name);             \
    if (symbol == NULL) die("missing symbol", #name); \
    memcpy(&api.name##_, &symbol, sizeof symbol);     \
  } while (0);

static void load(const char* path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) die("dlopen", dlerror());
  API(FIND)
}

static void check(int32_t status) {
  if (status != TESSERA_OK) die("error", api.tessera_last_error_());
}

static tessera_model* create_model(void) {
  const tessera_model_options options = TESSERA_MODEL_OPTIONS_INIT;
  tessera_model* model = NULL;
  check(api.tessera_model_create_(&options, &model));
  return model;
}

// ---- Inputs -------------------------------------------------------------------------------------

typedef struct {
  int32_t input_count, output_count;
  tessera_tensor inputs[MAX_IO];
  int64_t shapes[MAX_IO][8];
  size_t output_bytes[MAX_IO];
} bindings;

static size_t bytes_of(const tessera_io* io) {
  size_t bytes = io->dtype.bits / 8;
  int32_t d;
  for (d = 0; d < io->ndim; ++d) bytes *= (size_t)io->max_shape[d];
  return bytes;
}

// Small whole numbers, the same in every thread.
static void fill(const tessera_io* io, void* data, size_t bytes) {
  size_t i;
  for (i = 0; i < bytes / (io->dtype.bits / 8); ++i) {
    const int value = (int)(i % 2);
    if (io->dtype.code == TESSERA_FLOAT && io->dtype.bits == 32) ((float*)data)[i] = (float)value;
    if (io->dtype.code != TESSERA_FLOAT && io->dtype.bits == 64) ((int64_t*)data)[i] = value;
    if (io->dtype.code != TESSERA_FLOAT && io->dtype.bits == 32) ((int32_t*)data)[i] = value;
    if (io->dtype.bits == 8) ((int8_t*)data)[i] = (int8_t)value;
  }
}

static void bind(const tessera_model* model, bindings* b) {
  int32_t i;
  memset(b, 0, sizeof *b);
  b->input_count = api.tessera_model_input_count_(model);
  b->output_count = api.tessera_model_output_count_(model);
  if (b->input_count > MAX_IO || b->output_count > MAX_IO) die("client", "too many tensors");
  for (i = 0; i < b->input_count; ++i) {
    tessera_io io = TESSERA_IO_INIT;
    tessera_tensor* t = &b->inputs[i];
    check(api.tessera_model_input_(model, i, &io));
    if (posix_memalign(&t->data, 64, bytes_of(&io) + 64) != 0) die("client", "out of memory");
    memset(t->data, 0, bytes_of(&io) + 64);
    fill(&io, t->data, bytes_of(&io));
    t->device.device_type = TESSERA_CPU;
    t->dtype = io.dtype;
    t->ndim = io.ndim;
    memcpy(b->shapes[i], io.max_shape, sizeof(int64_t) * (size_t)io.ndim);
    t->shape = b->shapes[i];
  }
  for (i = 0; i < b->output_count; ++i) {
    tessera_io io = TESSERA_IO_INIT;
    check(api.tessera_model_output_(model, i, &io));
    b->output_bytes[i] = bytes_of(&io);
  }
}

static void release(bindings* b) {
  int32_t i;
  for (i = 0; i < b->input_count; ++i) free(b->inputs[i].data);
}

static void run(tessera_instance* instance, bindings* b, tessera_tensor* outputs) {
  check(api.tessera_instance_run_(instance, b->inputs, b->input_count, outputs, b->output_count));
}

// ---- Tests --------------------------------------------------------------------------------------

typedef struct {
  tessera_model* model;
  unsigned long sum;  // of all bytes of all outputs
} worker;

static unsigned long sum_bytes(const bindings* b, const tessera_tensor* outputs) {
  unsigned long sum = 5381;
  int32_t i;
  size_t k;
  for (i = 0; i < b->output_count; ++i) {
    const unsigned char* data = (const unsigned char*)outputs[i].data;
    for (k = 0; k < b->output_bytes[i]; ++k) sum = sum * 33 + data[k];
  }
  return sum;
}

static void* work(void* argument) {
  worker* w = (worker*)argument;
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  tessera_instance* instance = NULL;
  tessera_tensor outputs[MAX_IO] = {{0}};
  bindings b;
  int k;
  options.threads = 2;
  check(api.tessera_instance_create_(w->model, &options, &instance));
  bind(w->model, &b);
  for (k = 0; k < 50; ++k) {
    run(instance, &b, outputs);
    if (k > 0 && sum_bytes(&b, outputs) != w->sum) die("threads", "results differ between runs");
    w->sum = sum_bytes(&b, outputs);
  }
  api.tessera_instance_destroy_(instance);
  release(&b);
  return NULL;
}

static void test_threads(int count) {
  pthread_t threads[MAX_THREADS];
  worker workers[MAX_THREADS];
  tessera_model* model = create_model();
  int i;
  for (i = 0; i < count; ++i) {
    workers[i].model = model;
    if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) die("threads", "no thread");
  }
  for (i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  for (i = 1; i < count; ++i) {
    if (workers[i].sum != workers[0].sum) die("threads", "results differ between threads");
  }
  api.tessera_model_destroy_(model);
}

static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void test_steady(void) {
  tessera_model* model = create_model();
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  tessera_instance* instance = NULL;
  tessera_tensor outputs[MAX_IO] = {{0}};
  bindings b;
  long before, begin, best = 1000000000L;
  int k;
  options.threads = 1;
  check(api.tessera_instance_create_(model, &options, &instance));
  bind(model, &b);
  run(instance, &b, outputs);
  run(instance, &b, outputs);
  before = allocations;
  for (k = 0; k < 1000; ++k) {
    begin = now_ns();
    run(instance, &b, outputs);
    if (now_ns() - begin < best) best = now_ns() - begin;
  }
  if (allocations != before) die("steady", "a run allocated memory");
  printf("%ld\n", best);
  release(&b);
  api.tessera_instance_destroy_(instance);
  api.tessera_model_destroy_(model);
}

static void test_reload(const char* path) {
  int k;
  for (k = 0; k < 3; ++k) {
    if (k > 0) load(path);
    test_threads(2);
    dlclose(library);
  }
}

// Runs with the inputs as they are now, which must fail, and prints the sentence.
static void expect_failure(tessera_instance* instance, bindings* b, int32_t input_count) {
  tessera_tensor outputs[MAX_IO] = {{0}};
  const int32_t status =
      api.tessera_instance_run_(instance, b->inputs, input_count, outputs, b->output_count);
  if (status != TESSERA_INVALID_ARGUMENT) die("wrong-inputs", "a wrong input was accepted");
  printf("%s\n", api.tessera_last_error_());
}

static void test_wrong_inputs(void) {
  tessera_model* model = create_model();
  tessera_instance* instance = NULL;
  tessera_tensor outputs[MAX_IO] = {{0}};
  tessera_tensor good;
  bindings b;
  int32_t index;
  check(api.tessera_instance_create_(model, NULL, &instance));
  bind(model, &b);
  good = b.inputs[0];
  expect_failure(instance, &b, b.input_count - 1);
  b.inputs[0].dtype.code = TESSERA_COMPLEX;
  expect_failure(instance, &b, b.input_count);
  b.inputs[0] = good;
  b.inputs[0].ndim += 1;
  expect_failure(instance, &b, b.input_count);
  b.inputs[0] = good;
  b.shapes[0][0] += 1;
  expect_failure(instance, &b, b.input_count);
  b.shapes[0][0] -= 1;
  b.inputs[0].byte_offset = 1;
  expect_failure(instance, &b, b.input_count);
  b.inputs[0] = good;
  b.inputs[0].data = NULL;
  expect_failure(instance, &b, b.input_count);
  b.inputs[0] = good;
  if (api.tessera_model_find_input_(model, "no such name", &index) == TESSERA_OK) {
    die("wrong-inputs", "a name was found that is not there");
  }
  printf("%s\n", api.tessera_last_error_());
  run(instance, &b, outputs);  // and nothing of that has harmed the instance
  release(&b);
  api.tessera_instance_destroy_(instance);
  api.tessera_model_destroy_(model);
}

static void test_wrong_abi(void) {
  tessera_model_options options = TESSERA_MODEL_OPTIONS_INIT;
  tessera_model* model = NULL;
  options.abi_version = 77;
  if (api.tessera_model_create_(&options, &model) != TESSERA_WRONG_ABI) {
    die("wrong-abi", "another version was accepted");
  }
  printf("%s\n", api.tessera_last_error_());
}

static void test_print(void) {
  tessera_model* model = create_model();
  tessera_instance* instance = NULL;
  tessera_tensor outputs[MAX_IO] = {{0}};
  bindings b;
  int32_t i;
  check(api.tessera_instance_create_(model, NULL, &instance));
  bind(model, &b);
  run(instance, &b, outputs);
  for (i = 0; i < b.output_count; ++i) {
    if (outputs[i].dtype.code == TESSERA_FLOAT) {
      printf("%g\n", (double)((const float*)outputs[i].data)[0]);
    } else {
      printf("%ld\n", (long)((const int64_t*)outputs[i].data)[0]);
    }
  }
  release(&b);
  api.tessera_instance_destroy_(instance);
  api.tessera_model_destroy_(model);
}

static void expect_refused(tessera_instance* instance, const char* name,
                           const tessera_tensor* value) {
  if (api.tessera_instance_set_weight_(instance, name, value) != TESSERA_INVALID_ARGUMENT) {
    die("weights", "a wrong weight was accepted");
  }
  printf("%s\n", api.tessera_last_error_());
}

static void print_first(tessera_instance* instance, bindings* b) {
  tessera_tensor outputs[MAX_IO] = {{0}};
  run(instance, b, outputs);
  printf("%g\n", (double)((const float*)outputs[0].data)[0]);
}

static void test_weights(void) {
  tessera_model* model = create_model();
  tessera_instance *instance = NULL, *other = NULL;
  tessera_io io = TESSERA_IO_INIT;
  float values[6] = {100, 0, 0, 0, 0, 0};
  int64_t shape[2] = {2, 3};
  tessera_tensor w = {0};
  bindings b;
  check(api.tessera_instance_create_(model, NULL, &instance));
  check(api.tessera_instance_create_(model, NULL, &other));
  bind(model, &b);
  if (b.input_count != 1) die("weights", "a kept weight is among the inputs");
  if (api.tessera_model_weight_count_(model) != 1) die("weights", "not one kept weight");
  check(api.tessera_model_weight_(model, 0, &io));
  printf("%s %d x %d\n", io.name, (int)io.shape[0], (int)io.shape[1]);
  if (api.tessera_model_weight_(model, 1, &io) == TESSERA_OK) die("weights", "a second one");
  printf("%s\n", api.tessera_last_error_());
  w.data = values;
  w.device.device_type = TESSERA_CPU;
  w.ndim = 2;
  w.dtype = io.dtype;
  w.shape = shape;
  print_first(instance, &b);
  expect_refused(instance, "v", &w);
  expect_refused(instance, NULL, &w);
  w.dtype.bits = 64;
  expect_refused(instance, "w", &w);
  w.dtype = io.dtype;
  shape[0] = 3;
  expect_refused(instance, "w", &w);
  shape[0] = 2;
  w.data = NULL;
  expect_refused(instance, "w", &w);
  w.data = values;
  w.device.device_type = TESSERA_CUDA;
  expect_refused(instance, "w", &w);
  w.device.device_type = TESSERA_CPU;
  expect_refused(NULL, "w", &w);
  print_first(instance, &b);  // as it was
  check(api.tessera_instance_set_weight_(instance, "w", &w));
  values[0] = -1;  // they have been copied
  print_first(instance, &b);
  print_first(other, &b);  // another instance has its own
  check(api.tessera_instance_set_weight_(instance, "w", &w));
  print_first(instance, &b);
  check(api.tessera_instance_set_weight_(instance, "w", NULL));
  print_first(instance, &b);
  release(&b);
  api.tessera_instance_destroy_(instance);
  api.tessera_instance_destroy_(other);
  api.tessera_model_destroy_(model);
}

// Memory for all pools, by what the model tells of them.
static void give_pools(const tessera_model* model, tessera_instance_options* options,
                       tessera_pool_memory* memory) {
  int32_t p;
  options->pool_count = api.tessera_model_pool_count_(model);
  options->pool_memory = memory;
  if (options->pool_count > MAX_IO) die("client", "too many pools");
  for (p = 0; p < options->pool_count; ++p) {
    tessera_pool pool = TESSERA_POOL_INIT;
    check(api.tessera_model_pool_(model, p, &pool));
    memory[p].bytes = pool.bytes;
    memory[p].device = pool.device;
    if (posix_memalign(&memory[p].data, pool.align_bytes, pool.bytes + 1) != 0) {
      die("client", "out of memory");
    }
  }
}

// Moves the inputs that have places there.
static void move_inputs(const tessera_model* model, const tessera_pool_memory* memory,
                        bindings* b) {
  int32_t i, count = 0;
  for (i = 0; i < b->input_count; ++i) {
    tessera_io io = TESSERA_IO_INIT;
    check(api.tessera_model_input_(model, i, &io));
    if (io.pool < 0) continue;
    memcpy((char*)memory[io.pool].data + io.pool_offset, b->inputs[i].data, bytes_of(&io));
    free(b->inputs[i].data);
    b->inputs[i].data = NULL;
    ++count;
  }
  if (count == 0) die("places", "no input has a place");
}

static void check_outputs_in_place(const tessera_model* model, const tessera_pool_memory* memory,
                                   const bindings* b, const tessera_tensor* outputs) {
  int32_t i, count = 0;
  for (i = 0; i < b->output_count; ++i) {
    tessera_io io = TESSERA_IO_INIT;
    check(api.tessera_model_output_(model, i, &io));
    if (io.pool < 0) continue;
    if (outputs[i].data != (char*)memory[io.pool].data + io.pool_offset) {
      die("places", "an output is elsewhere");
    }
    ++count;
  }
  if (count == 0) die("places", "no output has a place");
}

static void expect_wrong_memory(tessera_model* model, const tessera_instance_options* options) {
  tessera_instance* instance = NULL;
  if (api.tessera_instance_create_(model, options, &instance) != TESSERA_INVALID_ARGUMENT) {
    die("places", "wrong memory was accepted");
  }
  printf("%s\n", api.tessera_last_error_());
}

static void test_places(void) {
  tessera_model* model = create_model();
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  tessera_pool_memory memory[MAX_IO];
  tessera_instance *elsewhere = NULL, *instance = NULL;
  tessera_tensor outputs[MAX_IO] = {{0}}, others[MAX_IO] = {{0}};
  bindings b;
  int32_t p;
  give_pools(model, &options, memory);
  check(api.tessera_instance_create_(model, NULL, &elsewhere));
  check(api.tessera_instance_create_(model, &options, &instance));
  bind(model, &b);
  run(elsewhere, &b, others);  // with inputs of the caller's own
  move_inputs(model, memory, &b);
  run(instance, &b, outputs);
  check_outputs_in_place(model, memory, &b, outputs);
  if (sum_bytes(&b, outputs) != sum_bytes(&b, others)) die("places", "results differ");
  api.tessera_instance_destroy_(instance);
  for (p = 0; p < options.pool_count; ++p) {
    memory[p].bytes -= 1;
    expect_wrong_memory(model, &options);
    memory[p].bytes += 1;
    memory[p].device.device_type = TESSERA_CUDA;
    expect_wrong_memory(model, &options);
    memory[p].device.device_type = TESSERA_CPU;
    memory[p].data = (char*)memory[p].data + 1;
    expect_wrong_memory(model, &options);
    memory[p].data = (char*)memory[p].data - 1;
  }
  for (p = 0; p < options.pool_count; ++p) free(memory[p].data);
  api.tessera_instance_destroy_(elsewhere);
  api.tessera_model_destroy_(model);
}

static void test_fork(void) {
  tessera_model* model = create_model();
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  tessera_instance* instance = NULL;
  bindings b;
  pid_t child;
  int status = 1;
  options.threads = 2;
  check(api.tessera_instance_create_(model, &options, &instance));
  bind(model, &b);
  print_first(instance, &b);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    alarm(20);
    print_first(instance, &b);
    fflush(stdout);
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) die("fork", "the child failed");
  release(&b);
  api.tessera_instance_destroy_(instance);
  api.tessera_model_destroy_(model);
}

int main(int argc, char** argv) {
  if (argc < 3) die("usage", "client LIBRARY TEST");
  load(argv[1]);
  if (api.tessera_abi_version_() != TESSERA_ABI_VERSION) die("client", "another ABI version");
  if (strcmp(argv[2], "threads") == 0) {
    test_threads(argc > 3 ? atoi(argv[3]) : 4);
  } else if (strcmp(argv[2], "steady") == 0) {
    test_steady();
  } else if (strcmp(argv[2], "reload") == 0) {
    test_reload(argv[1]);
  } else if (strcmp(argv[2], "wrong-inputs") == 0) {
    test_wrong_inputs();
  } else if (strcmp(argv[2], "wrong-abi") == 0) {
    test_wrong_abi();
  } else if (strcmp(argv[2], "print") == 0) {
    test_print();
  } else if (strcmp(argv[2], "weights") == 0) {
    test_weights();
  } else if (strcmp(argv[2], "places") == 0) {
    test_places();
  } else if (strcmp(argv[2], "fork") == 0) {
    test_fork();
  } else {
    die("usage", "unknown test");
  }
  return 0;
}
