// SPDX-License-Identifier: Apache-2.0
// Tensors of a run that have memory in common: computed in place where the model says that it can,
// refused with a sentence elsewhere, before anything is written.
#include "runtime/overlap.h"

#include "runtime/device_fixture.h"
#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

constexpr std::int32_t kBegins[] = {0, 1, 1}, kInputs[] = {0};  // `y` may lie in `x`

class OverlapTest : public ModelTest {
 protected:
  void declare_pair() {
    program.shared_begins = kBegins;
    program.shared_inputs = kInputs;
  }
  void give(void* y) { out_[0] = {y, {TESSERA_CPU, 0}, 2, kFloat32, shape_, nullptr, 0}; }
  std::string refusal() {
    const std::vector<float> before(buffer_, buffer_ + 64);
    std::string text = error_of_run();
    EXPECT_EQ(std::vector<float>(buffer_, buffer_ + 64), before);
    EXPECT_EQ(runs, 0);
    return text;
  }

  alignas(64) float buffer_[64] = {};
  std::int64_t shape_[2] = {2, 3};
};

TEST_F(OverlapTest, APairThatIsDeclaredIsComputedInPlace) {
  declare_pair();
  create_all();
  give(x_);
  float wanted = 60;
  for (int i = 0; i < 3; ++i) {
    wanted = 2 * wanted + 6;
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(out_[0].data, x_);
    EXPECT_EQ(x_[5], wanted);
  }
}

TEST_F(OverlapTest, OtherwiseItIsRefused) {
  create_all();
  in_.data = buffer_;
  give(buffer_);
  EXPECT_EQ(refusal(),
            "output `y` lies in the memory of input `x`, and the model cannot compute it in place "
            "there: give it other memory (`tessera inspect` lists what may share memory)");
  EXPECT_EQ(refusal().substr(0, 10), "output `y`");  // again, the same tensors
  give(buffer_ + 6);
  EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

TEST_F(OverlapTest, APartIsRefusedOfAPairToo) {
  declare_pair();
  create_all();
  in_.data = buffer_ + 4;
  for (const int shift : {0, 1, 8, 9}) {
    give(buffer_ + shift);
    EXPECT_EQ(refusal(),
              "output `y` and input `x` overlap in part: they may share memory as a whole, 24 "
              "bytes from one address on");
  }
  for (const int shift : {10, 4}) {
    give(buffer_ + shift);
    EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
  }
  out_[0].byte_offset = 4;
  shape_[1] = 3;
  EXPECT_EQ(error_of_run().substr(0, 45), "output `y` and input `x` overlap in part: the");
}

TEST_F(OverlapTest, OutputsHaveMemoryOfTheirOwn) {
  create_all();
  give(buffer_);
  out_[1] = {buffer_, {TESSERA_CPU, 0}, 0, kInt64, nullptr, nullptr, 16};
  EXPECT_EQ(refusal(), "outputs `y` and `run` overlap: give each its own memory");
  out_[1].byte_offset = 24;
  EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

// What a run handed out is an input of the next one.
TEST_F(OverlapTest, TheInstancesOwnOutputIsNoOtherThanTheCallers) {
  create_all();
  ASSERT_EQ(run(), TESSERA_OK);
  in_.data = out_[0].data;
  out_[0] = {};
  EXPECT_EQ(error_of_run().substr(0, 42), "output `y` lies in the memory of input `x`");
  program.shared_begins = kBegins;
  program.shared_inputs = kInputs;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 2 * 126 + 6);
}

// Pools that the caller gave, and memory of the caller's allocator.
TEST_F(OverlapTest, TheInstancesMemoryIsNobodyElses) {
  keep_weight();
  static void* latest;
  tessera_allocator allocator;
  allocator.context = nullptr;
  allocator.allocate = [](void*, std::uint64_t bytes, std::uint64_t align, tessera_device) {
    return latest = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  };
  allocator.release = [](void*, void* memory, std::uint64_t, tessera_device) { std::free(memory); };
  alignas(64) char arena[1000] = {};
  void* pools[] = {arena};
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.pools = pools;
  options.pool_count = 1;
  options.allocator = &allocator;
  create_all(&options);
  give(arena + 976);
  EXPECT_EQ(refusal(),
            "output `y` lies in the memory of the instance's pool `arena`: give it other memory");
  give(buffer_);
  in_.data = arena;
  EXPECT_EQ(refusal(),
            "input `x` lies in the memory of the instance's pool `arena`: give it other memory");
  in_.data = x_;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  tessera_tensor w = {x_, {TESSERA_CPU, 0}, 2, kFloat32, in_shape_, nullptr, 0};
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", &w), TESSERA_OK) << tessera_last_error();
  give(latest);
  EXPECT_EQ(error_of_run(),
            "output `y` lies in the memory of kept weight `w`: give it other memory");
}

// The instance's outputs lie beside each other; one that grows is going to lie elsewhere.
TEST_F(OverlapTest, AnOutputOfItsOwnThatGrowsMeetsNothing) {
  const std::int64_t unknown[2] = {2, -1}, low[2] = {2, 0}, high[2] = {2, -1};
  const std::int32_t symbols[2] = {-1, 0};
  const tessera_program_symbol seq = {"seq", 0, -1, 1};
  program.symbols = &seq;
  program.symbol_count = 1;
  input = {"x", kFloat32, 2, unknown, low, high, symbols, 0, 0};
  outputs[0] = {"y", kFloat32, 2, unknown, low, high, symbols, 0, 0};
  program.output_shapes = [](void*, const std::int64_t* dims, std::int64_t* shapes) {
    shapes[0] = 2;
    shapes[1] = dims[0];
  };
  program.entry = [](const tessera_frame*) -> std::int32_t { return 0; };
  alignas(64) static char heap[1 << 16];
  static std::size_t next;
  next = 0;
  tessera_allocator allocator;
  allocator.context = nullptr;
  allocator.allocate = [](void*, std::uint64_t bytes, std::uint64_t, tessera_device) -> void* {
    void* const memory = heap + next;
    next += (bytes + 63) / 64 * 64;
    return memory;
  };
  allocator.release = [](void*, void*, std::uint64_t, tessera_device) {};
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.allocator = &allocator;
  create_all(&options);
  std::vector<float> x(200);
  in_.data = x.data();
  for (const std::int64_t n : {1, 100, 2}) {
    in_shape_[1] = n;
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  }
}

TEST_F(OverlapTest, AnOutputSaysWhichInputsMayHaveItsMemory) {
  declare_pair();
  create_all();
  tessera_io io = TESSERA_IO_INIT;
  ASSERT_EQ(tessera_model_output(model_, 0, &io), TESSERA_OK);
  ASSERT_EQ(io.share_count, 1);
  EXPECT_EQ(io.shares[0], 0);
  ASSERT_EQ(tessera_model_output(model_, 1, &io), TESSERA_OK);
  EXPECT_EQ(io.share_count, 0);
  ASSERT_EQ(tessera_model_input(model_, 0, &io), TESSERA_OK);
  EXPECT_EQ(io.share_count, 0);
}

// On a device and in the host's memory, from where tensors are copied.
TEST_F(DeviceTest, MemoryIsSharedByThePairsOfTheModelOnly) {
  create();
  use_device_input();
  void* const there = in_.data;
  std::int64_t shape[2] = {2, 3};
  for (void* data : {there, static_cast<void*>(x_)}) {
    in_.data = data;
    in_.device = place_of(data);
    out_[0] = {data, in_.device, 2, kFloat32, shape, nullptr, 0};
    program.shared_begins = nullptr;
    ASSERT_EQ(run(), TESSERA_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(tessera_last_error()).substr(0, 42),
              "output `y` lies in the memory of input `x`");
    program.shared_begins = kBegins;
    program.shared_inputs = kInputs;
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(static_cast<const float*>(data)[5], 126);
  }
}

}  // namespace
}  // namespace tessera::runtime
