// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/gomp.h"
#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

TEST_F(ModelTest, RunsIntoItsOwnOutputs) {
  create_all();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(out_[0].ndim, 2);
  EXPECT_EQ(out_[0].shape[1], 3);
  EXPECT_EQ(static_cast<float*>(out_[0].data)[5], 126);
  EXPECT_EQ(*static_cast<std::int64_t*>(out_[1].data), 1);
  void* first = out_[0].data;
  ASSERT_EQ(run(), TESSERA_OK);  // handing the same tensors in again is allowed
  EXPECT_EQ(out_[0].data, first);
  EXPECT_EQ(*static_cast<std::int64_t*>(out_[1].data), 2);
}

TEST_F(ModelTest, StatesComeAndGoInOrder) {
  create_all();
  tessera_instance* second = nullptr;
  ASSERT_EQ(tessera_instance_create(model_, nullptr, &second), TESSERA_OK);
  tessera_model_destroy(model_);  // instances keep it
  tessera_instance_destroy(second);
  tessera_instance_destroy(instance_);
  model_ = nullptr;
  instance_ = nullptr;
  const std::string site = "call site k with k_const_0, payload {}";
  const std::vector<std::string> expected = {"create library of vendor",
                                             "create instance of vendor",
                                             "create " + site,
                                             "create instance of vendor",
                                             "create " + site,
                                             "destroy " + site,
                                             "destroy instance of vendor",
                                             "destroy " + site,
                                             "destroy instance of vendor",
                                             "destroy library of vendor"};
  EXPECT_EQ(state_log(), expected);
}

TEST_F(ModelTest, AStateThatFailsUndoesTheRest) {
  symbol.create_call_site_state = refuse_state;
  ASSERT_EQ(create(), TESSERA_OK);
  EXPECT_EQ(tessera_instance_create(model_, nullptr, &instance_), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "back end `vendor` could not be set up for `k`: no engine");
  EXPECT_EQ(instance_, nullptr);
  const std::vector<std::string> expected = {
      "create library of vendor", "create instance of vendor", "destroy instance of vendor"};
  EXPECT_EQ(state_log(), expected);
}

TEST_F(ModelTest, EveryWrongInputHasItsSentence) {
  create_all();
  EXPECT_EQ(tessera_instance_run(instance_, &in_, 2, out_, 2), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "2 inputs given, the model has 1");
  EXPECT_EQ(tessera_instance_run(instance_, nullptr, 1, out_, 2), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "`inputs` is a null pointer");
  EXPECT_EQ(tessera_instance_run(instance_, &in_, 1, out_, 1), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "1 output given, the model has 2");
  const tessera_tensor good = in_;
  in_.dtype = {TESSERA_FLOAT, 64, 1};
  EXPECT_EQ(error_of_run(), "input `x` has dtype float64, the model takes float32");
  in_ = good;
  in_.ndim = 1;
  EXPECT_EQ(error_of_run(), "input `x` has 1 dimension, the model takes 2: (2, 3)");
  in_.ndim = 1 << 30;
  EXPECT_EQ(error_of_run(), "input `x` has 1073741824 dimensions, the model takes 2: (2, 3)");
  in_.ndim = -1;
  EXPECT_EQ(error_of_run(), "input `x` has -1 dimensions, the model takes 2: (2, 3)");
  in_ = good;
  in_shape_[1] = 4;
  EXPECT_EQ(error_of_run(), "input `x` has shape (2, 4), the model takes (2, 3)");
  in_shape_[1] = -3;
  EXPECT_EQ(error_of_run(), "input `x` has shape (2, ?), the model takes (2, 3)");
  in_shape_[1] = 3;
  in_.data = nullptr;
  EXPECT_EQ(error_of_run(), "the data of input `x` is a null pointer");
  in_ = good;
  in_.shape = nullptr;
  EXPECT_EQ(error_of_run(), "the shape of input `x` is a null pointer");
  in_ = good;
  in_.byte_offset = 4;
  EXPECT_EQ(error_of_run().substr(0, 38), "the data of input `x` is not aligned: ");
  in_ = good;
  std::int64_t strides[2] = {1, 2};
  in_.strides = strides;
  EXPECT_EQ(error_of_run(),
            "input `x` is strided, the model takes compact row-major tensors: copy it first");
  in_ = good;
  in_.device.device_type = TESSERA_CUDA;
  EXPECT_EQ(error_of_run(), "input `x` is on CUDA device 0, the instance on the CPU");
  in_.device = {7, 1};
  EXPECT_EQ(error_of_run(), "input `x` is on device 7:1, the instance on the CPU");
  in_ = good;
  float y[6];
  out_[0] = {y, {TESSERA_CPU, 0}, 2, kInt64, in_shape_, nullptr, 0};
  EXPECT_EQ(error_of_run(), "output `y` has dtype int64, the model takes float32");
  std::int64_t negative[2] = {2, -3};
  out_[0] = {y, {TESSERA_CPU, 0}, 2, kFloat32, negative, nullptr, 0};
  EXPECT_EQ(error_of_run(), "output `y` has a negative size in its shape");
}

TEST_F(ModelTest, OptionsOfAnInstanceAreChecked) {
  ASSERT_EQ(create(), TESSERA_OK);
  const auto error_of = [&](const tessera_instance_options& options) -> std::string {
    EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_INVALID_ARGUMENT);
    EXPECT_EQ(instance_, nullptr);
    return tessera_last_error();
  };
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.threads = -1;
  EXPECT_EQ(error_of(options), "-1 threads asked for; 0 means all CPUs");
  options.threads = 100'000;
  EXPECT_EQ(error_of(options), "100000 threads asked for; an instance has at most 1024");
  options.threads = TESSERA_MAX_THREADS + 1;
  EXPECT_EQ(error_of(options), "1025 threads asked for; an instance has at most 1024");
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  const tessera_thread_pool no_pool = {};
  options.thread_pool = &no_pool;
  EXPECT_EQ(error_of(options), "the thread pool's function `run` is a null pointer");
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.thread_cpu_count = 2;
  EXPECT_EQ(error_of(options), "thread_cpu_count is 2, and `thread_cpus` is a null pointer");
  const std::int32_t cpus[] = {0, 5000};
  options.thread_cpus = cpus;
  EXPECT_EQ(error_of(options), "thread_cpus[1] is 5000; CPUs have numbers from 0 to 1023");
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  const Gomp* gomp = open_gomp();
  ASSERT_NE(gomp, nullptr);
  const int threads = gomp->max_threads();
  gomp->set_num_threads(5000);
  EXPECT_EQ(error_of(options),
            "5000 threads asked for by OMP_NUM_THREADS; an instance has at most 1024");
  gomp->set_num_threads(threads);
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  tessera_allocator allocator = {};
  options.allocator = &allocator;
  EXPECT_EQ(error_of(options), "the allocator's function `allocate` is a null pointer");
  allocator.allocate = [](void*, std::uint64_t, std::uint64_t, tessera_device) -> void* {
    return nullptr;
  };
  EXPECT_EQ(error_of(options), "the allocator's function `release` is a null pointer");
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.struct_bytes = 8;
  EXPECT_EQ(error_of(options),
            "struct_bytes of tessera_instance_options is 8, not at least 40: start from "
            "TESSERA_INSTANCE_OPTIONS_INIT");
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.device = {0, 3};
  EXPECT_EQ(error_of(options),
            "a device of number 3 was asked for, and not of which kind: set device_type");
  options.device = {TESSERA_CPU, 7};
  EXPECT_EQ(error_of(options), "an instance on CPU 7 was asked for; there is only 0");
  options.device = {TESSERA_CUDA, 1};
  EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(),
               "an instance on CUDA device 1 was asked for, the model was compiled for the CPU");
  options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.pool_count = 1;
  EXPECT_EQ(error_of(options), "pool_count is 1, but `pools` is a null pointer");
  void* pools[2] = {};
  options.pools = pools;
  options.pool_count = 2;
  EXPECT_EQ(error_of(options), "2 pools given, the model has 1");
}

TEST_F(ModelTest, NullHandlesAreErrors) {
  EXPECT_EQ(tessera_instance_run(nullptr, &in_, 1, out_, 2), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "`instance` is a null pointer");
  EXPECT_EQ(tessera_model_create_from(&program, {}, nullptr, nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_instance_create(nullptr, nullptr, &instance_), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "`model` is a null pointer");
  tessera_instance_destroy(nullptr);
  tessera_model_destroy(nullptr);
}

TEST_F(ModelTest, NamesAreFound) {
  create_all();
  std::int32_t index = -1;
  EXPECT_EQ(tessera_model_find_output(model_, "run", &index), TESSERA_OK);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(tessera_model_find_output(model_, "z", &index), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "the model has no output `z`; it has `y`, `run`");
}

TEST_F(ModelTest, DescribesItself) {
  create_all();
  tessera_io io = TESSERA_IO_INIT;
  ASSERT_EQ(tessera_model_input(model_, 0, &io), TESSERA_OK);
  EXPECT_STREQ(io.name, "x");
  EXPECT_EQ(io.max_bytes, 24u);
  EXPECT_EQ(io.align_bytes, 16u);
  EXPECT_EQ(tessera_model_input(model_, 1, &io), TESSERA_INVALID_ARGUMENT);
  io.struct_bytes = offsetof(tessera_io, dtype);  // an older caller
  io.max_bytes = 77;
  ASSERT_EQ(tessera_model_input(model_, 0, &io), TESSERA_OK);
  EXPECT_EQ(io.max_bytes, 77u);
  tessera_pool pool = TESSERA_POOL_INIT;
  ASSERT_EQ(tessera_model_pool(model_, 0, &pool), TESSERA_OK);
  EXPECT_EQ(pool.bytes, 1000u);
}

TEST_F(ModelTest, AKernelsReasonReachesTheCaller) {
  create_all();
  x_[0] = -1;
  EXPECT_EQ(run(), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "the run failed: minus one is not allowed");
  x_[0] = 1;
  EXPECT_EQ(run(), TESSERA_OK);
}

TEST_F(ModelTest, ErrorsBelongToTheThread) {
  create_all();
  tessera_instance_run(nullptr, nullptr, 0, nullptr, 0);
  std::thread([] { EXPECT_STREQ(tessera_last_error(), ""); }).join();
  EXPECT_STREQ(tessera_last_error(), "`instance` is a null pointer");
}

TEST_F(ModelTest, OtherVersionsAreRefused) {
  tessera_model_options options = TESSERA_MODEL_OPTIONS_INIT;
  options.abi_version = 99;
  EXPECT_EQ(create(&options), TESSERA_WRONG_ABI);
  EXPECT_STREQ(tessera_last_error(),
               "the program was built for ABI version 99, the model's library has ABI version 2: "
               "compile the model with the "
               "tessera whose headers the program uses");
  program.abi_version = 98;
  EXPECT_EQ(create(), TESSERA_WRONG_ABI);
}

TEST_F(ModelTest, AnotherCpuIsRefused) {
  const char* features[] = {"sse2", "sse4.2", "avx2", "no-such-feature"};
  program.cpu_features = features;
  program.cpu_feature_count = 3;
  program.target = "cpu -mcpu=haswell";
  setenv("TESSERA_DISABLE_CPU_FEATURES", "sse4.2,avx2", 1);
  EXPECT_EQ(create(), TESSERA_WRONG_MACHINE);
  unsetenv("TESSERA_DISABLE_CPU_FEATURES");
  EXPECT_STREQ(tessera_last_error(),
               "the model (`cpu -mcpu=haswell`) was compiled for a CPU with sse4.2, avx2, which "
               "this one does not have: compile it with `--target \"cpu -mcpu=NAME\"`, the name of "
               "a CPU that both machines are");
  program.cpu_feature_count = 4;
  EXPECT_EQ(create(), TESSERA_WRONG_MACHINE);
  program.cpu_feature_count = 0;
  program.cpu_arch = "m68k";
  EXPECT_EQ(create(), TESSERA_WRONG_MACHINE);
}

TEST_F(ModelTest, AMissingVendorLibraryIsNamed) {
  const char* file = "libtessera-test-absent.so.7";
  backend.libraries = &file;
  backend.library_count = 1;
  setenv("TESSERA_LIBRARY_PATH", "/nowhere:/else", 1);
  EXPECT_EQ(tessera_model_create_from(&program, {"/models", nullptr}, nullptr, &model_),
            TESSERA_LIBRARY_MISSING);
  unsetenv("TESSERA_LIBRARY_PATH");
  EXPECT_STREQ(tessera_last_error(),
               "vendor library `libtessera-test-absent.so.7` not found: back end `vendor` needs it "
               "for `k`; looked in "
               "/models, /nowhere, /else, and where the system looks; name its directory in "
               "TESSERA_LIBRARY_PATH, or compile the model with --bundle, which puts it beside "
               "the library");
}

TEST_F(ModelTest, TakesTheCallersMemory) {
  struct Ledger {
    int live = 0, total = 0;
  } ledger;
  tessera_allocator allocator;
  allocator.context = &ledger;
  allocator.allocate = [](void* context, std::uint64_t bytes, std::uint64_t align, tessera_device) {
    auto& l = *static_cast<Ledger*>(context);
    ++l.live, ++l.total;
    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
  };
  allocator.release = [](void* context, void* memory, std::uint64_t, tessera_device) {
    --static_cast<Ledger*>(context)->live;
    std::free(memory);
  };
  alignas(64) char arena[1000];
  void* pools[] = {arena};
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.allocator = &allocator;
  options.pools = pools;
  options.pool_count = 1;
  create_all(&options);
  EXPECT_EQ(ledger.total, 1);  // the workspace
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(ledger.total, 3);  // two outputs
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(ledger.total, 3);
  tessera_instance_destroy(instance_);
  instance_ = nullptr;
  EXPECT_EQ(ledger.live, 0);
  pools[0] = arena + 4;
  EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "the memory given for pool `arena` is not aligned to 64 bytes");
}

// What the caller says of its memory is compared with what the pool needs.
TEST_F(ModelTest, MemoryForPoolsIsChecked) {
  alignas(64) char arena[1000];
  tessera_pool_memory given = {arena, sizeof arena, {TESSERA_CPU, 0}};
  const auto error_of = [&](const tessera_instance_options& options) -> std::string {
    EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_INVALID_ARGUMENT);
    return tessera_last_error();
  };
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.pool_memory = &given;
  options.pool_count = 1;
  create_all(&options);
  ASSERT_EQ(run(), TESSERA_OK);
  tessera_instance_destroy(instance_);
  instance_ = nullptr;
  given.data = nullptr;  // the instance's own
  EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_OK);
  tessera_instance_destroy(instance_);
  instance_ = nullptr;
  given = {arena, 999, {TESSERA_CPU, 0}};
  EXPECT_EQ(error_of(options),
            "the memory given for pool `arena` has 999 bytes, and the pool needs 1000");
  given = {arena, 1000, {TESSERA_CUDA, 1}};
  EXPECT_EQ(error_of(options),
            "the memory given for pool `arena` is on CUDA device 1, and the instance on the CPU");
  given = {arena + 8, 1000, {TESSERA_CPU, 0}};
  EXPECT_EQ(error_of(options), "the memory given for pool `arena` is not aligned to 64 bytes");
  void* pools[] = {arena};
  options.pools = pools;
  EXPECT_EQ(error_of(options), "`pools` and `pool_memory` are both given: leave one of them null");
  options.pools = nullptr;
  options.pool_count = 3;
  EXPECT_EQ(error_of(options), "3 pools given, the model has 1");
}

// Memory that is not aligned is given back, and a run that found none can run again.
TEST_F(ModelTest, AnAllocatorThatFailsIsAnError) {
  struct Heap {
    alignas(64) char bytes[4096];
    std::size_t shift = 0;
    int live = 0;
  } heap;
  tessera_allocator allocator;
  allocator.context = &heap;
  allocator.allocate = [](void* context, std::uint64_t, std::uint64_t, tessera_device) -> void* {
    auto& h = *static_cast<Heap*>(context);
    if (h.shift == sizeof h.bytes) return nullptr;
    return h.bytes + h.shift + 1024 * static_cast<std::size_t>(h.live++);
  };
  allocator.release = [](void* context, void*, std::uint64_t, tessera_device) {
    --static_cast<Heap*>(context)->live;
  };
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.allocator = &allocator;
  ASSERT_EQ(create(), TESSERA_OK);
  heap.shift = 8;
  EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(tessera_last_error())
                .find("the allocator gave memory for arena that is not aligned to 64 bytes: 0x"),
            0u);
  EXPECT_EQ(heap.live, 0);
  heap.shift = sizeof heap.bytes;
  EXPECT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_OUT_OF_MEMORY);
  heap.shift = 0;
  ASSERT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_OK);
  for (const std::size_t shift : {sizeof heap.bytes, std::size_t{8}, std::size_t{0}}) {
    heap.shift = shift;
    EXPECT_EQ(run(), shift == 0   ? TESSERA_OK
                     : shift == 8 ? TESSERA_INVALID_ARGUMENT
                                  : TESSERA_OUT_OF_MEMORY);
  }
  tessera_instance_destroy(instance_);
  instance_ = nullptr;
  EXPECT_EQ(heap.live, 0);
}

// More bytes than there are addresses, where a size that is rounded up would be none.
TEST_F(ModelTest, AnOutputOfAllAddressesIsRefused) {
  const std::int64_t unknown[1] = {-1}, low[1] = {0}, high[1] = {-1};
  outputs[1] = {"run", kInt64, 1, unknown, low, high, nullptr, 0, 0};
  program.output_shapes = [](void*, const std::int64_t*, std::int64_t* shapes) {
    shapes[0] = 2, shapes[1] = 3;
    shapes[2] = (std::int64_t{1} << 61) - 1;
  };
  create_all();
  EXPECT_EQ(run(), TESSERA_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_last_error(), "out of memory for run: 18446744073709551608 bytes");
  EXPECT_EQ(runs, 0);
}

TEST_F(ModelTest, WhileAnInstanceRunsOtherCallsAreTold) {
  static std::int32_t statuses[4];
  static tessera_instance* running;
  program.entry = [](const tessera_frame*) -> std::int32_t {
    std::thread([] {
      tessera_memory memory = TESSERA_MEMORY_INIT;
      statuses[0] = tessera_instance_run(running, nullptr, 0, nullptr, 0);
      statuses[1] = tessera_instance_profile(running, 1);
      statuses[2] = tessera_instance_memory(running, &memory);
      statuses[3] = tessera_instance_set_weight(running, "w", nullptr);
    }).join();
    return 0;
  };
  create_all();
  running = instance_;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  for (const std::int32_t status : statuses) EXPECT_EQ(status, TESSERA_BUSY);
}

TEST_F(ModelTest, TellsItsMemory) {
  create_all();
  tessera_memory memory = TESSERA_MEMORY_INIT;
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.constant_bytes, 0u);  // they are read where they are
  EXPECT_EQ(memory.pool_bytes, 1000u);
  EXPECT_EQ(memory.other_bytes, 24u);
  ASSERT_EQ(run(), TESSERA_OK);
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.other_bytes, 24u + 32);  // the outputs
  EXPECT_EQ(memory.pinned_bytes, 0u);
  EXPECT_EQ(tessera_instance_memory(nullptr, &memory), TESSERA_INVALID_ARGUMENT);
}

TEST_F(ModelTest, ProfilesWhenAsked) {
  create_all();
  ASSERT_EQ(run(), TESSERA_OK);
  tessera_profile_entry entry = TESSERA_PROFILE_ENTRY_INIT;
  ASSERT_EQ(tessera_instance_profile_entry(instance_, 0, &entry), TESSERA_OK);
  EXPECT_EQ(entry.calls, 0u);
  ASSERT_EQ(tessera_instance_profile(instance_, 1), TESSERA_OK);
  ASSERT_EQ(run(), TESSERA_OK);
  ASSERT_EQ(run(), TESSERA_OK);
  ASSERT_EQ(tessera_instance_profile_entry(instance_, 0, &entry), TESSERA_OK);
  EXPECT_EQ(entry.calls, 2u);
  EXPECT_STREQ(entry.kernel, "k");
  EXPECT_EQ(entry.note, nullptr);
  EXPECT_GT(entry.total_ns, 0u);
  EXPECT_LE(entry.min_ns, entry.total_ns);
}

TEST_F(ModelTest, ABackEndsNoteStandsInTheProfile) {
  symbol.create_call_site_state = [](const tessera_state_args* args, void**) -> std::int32_t {
    char text[] = "measured elsewhere";
    args->set_note(args, "another one");
    args->set_note(args, text);
    text[0] = '\0';
    return 0;
  };
  symbol.destroy_call_site_state = nullptr;
  create_all();
  tessera_profile_entry entry = TESSERA_PROFILE_ENTRY_INIT;
  ASSERT_EQ(tessera_instance_profile_entry(instance_, 0, &entry), TESSERA_OK);
  EXPECT_STREQ(entry.note, "measured elsewhere");
}

TEST_F(ModelTest, BindsSymbolsFromShapes) {
  const std::int64_t unknown[2] = {2, -1}, low[2] = {2, 2}, high[2] = {2, 6};
  const std::int32_t symbols[2] = {-1, 0};
  const tessera_program_symbol seq = {"seq", 2, 6, 2};
  program.symbols = &seq;
  program.symbol_count = 1;
  input = {"x", kFloat32, 2, unknown, low, high, symbols, 0, 0};
  outputs[0] = {"y", kFloat32, 2, unknown, low, high, symbols, 0, 0};
  program.output_shapes = [](void*, const std::int64_t* dims, std::int64_t* shapes) {
    shapes[0] = 2;
    shapes[1] = dims[0];
  };
  program.entry = [](const tessera_frame* frame) {
    for (int i = 0; i < 2 * frame->dims[0]; ++i) static_cast<float*>(frame->outputs[0])[i] = i;
    return 0;
  };
  create_all();
  float x[12] = {};
  in_.data = x;
  for (const std::int64_t n : {2, 6, 4}) {
    in_shape_[1] = n;
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(out_[0].shape[1], n);
    EXPECT_EQ(static_cast<float*>(out_[0].data)[2 * n - 1], 2 * n - 1);
  }
  in_shape_[1] = 3;
  EXPECT_EQ(
      error_of_run(),
      "dimension 1 of input `x` is 3, the model was compiled for `seq` in 2..6 in steps of 2");
  in_shape_[1] = 0;
  EXPECT_EQ(error_of_run(),
            "dimension 1 of input `x` is 0, the model was compiled for `seq` in 2..6 in steps of "
            "2; `compile --dim \"seq=0..\"` takes empty ones");
  in_shape_[1] = 8;
  std::int64_t shape[2];
  tessera_tensor queried[2] = {};
  queried[0].shape = shape;
  EXPECT_EQ(tessera_model_output_shapes(model_, &in_, 1, queried, 2), TESSERA_INVALID_ARGUMENT);
  in_shape_[1] = 6;
  ASSERT_EQ(tessera_model_output_shapes(model_, &in_, 1, queried, 2), TESSERA_OK);
  EXPECT_EQ(shape[1], 6);
}

}  // namespace
}  // namespace tessera::runtime
