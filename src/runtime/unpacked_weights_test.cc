// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device_fixture.h"
#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

int unpackings = 0;
std::int32_t answer = TESSERA_OK;

// Each byte is the one that stands for all of them.
std::int32_t unpack(const tessera_program* program, void* out, std::int32_t threads) {
  EXPECT_GE(threads, 1);
  ++unpackings;
  const auto* section = static_cast<const unsigned char*>(program->weights);
  const tessera_program_packed& w = *program->packed;
  std::memset(static_cast<char*>(out) + (w.offset - program->mapped_bytes),
              section[w.packed_offset], w.bytes);
  return answer;
}

// The program's constant is packed; beside it one is as it is used.
void pack(ProgramFixture& f, tessera_program_packed& packed) {
  unpackings = 0;
  answer = TESSERA_OK;
  std::memset(f.weights, 0, sizeof f.weights);  // sums are twice the input
  packed = {64, 24, 4, 1, 4};
  f.constant.offset = 64;
  f.program.packed = &packed;
  f.program.packed_count = 1;
  f.program.mapped_bytes = 64;
  f.program.unpacked_bytes = 64;
  f.program.unpack = unpack;
}

class UnpackedWeights : public ModelTest {
 protected:
  UnpackedWeights() { pack(*this, packed_); }
  float last() {
    EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
    return static_cast<float*>(out_[0].data)[5];
  }
  static float of_bytes(unsigned char byte) {
    float value;
    std::memset(&value, byte, sizeof value);
    return value;
  }

  tessera_program_packed packed_;
};

TEST_F(UnpackedWeights, AreThereOnceForAllModelsOfTheProcess) {
  reinterpret_cast<unsigned char*>(weights)[4] = 0x42;
  create_all();
  EXPECT_EQ(last(), 120 + of_bytes(0x42));
  tessera_model* second = nullptr;
  ASSERT_EQ(tessera_model_create_from(&program, {}, nullptr, &second), TESSERA_OK);
  EXPECT_EQ(unpackings, 1);
  tessera_model_destroy(second);
  EXPECT_EQ(last(), 120 + of_bytes(0x42));
  tessera_instance_destroy(instance_);
  tessera_model_destroy(model_);
  instance_ = nullptr;
  model_ = nullptr;
  create_all();
  EXPECT_EQ(unpackings, 2) << "nobody had them any more";
}

TEST_F(UnpackedWeights, AreToldAsMemory) {
  create_all();
  tessera_memory memory = TESSERA_MEMORY_INIT;
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.constant_bytes, 64u);
}

TEST_F(UnpackedWeights, ThatAreDamagedMakeNoModel) {
  answer = TESSERA_DAMAGED;
  EXPECT_EQ(create(), TESSERA_DAMAGED);
  EXPECT_EQ(model_, nullptr);
  EXPECT_STREQ(tessera_last_error(),
               "the packed weights of this library are damaged, or its file was cut: copy it "
               "again, or compile the model again");
  answer = TESSERA_OUT_OF_MEMORY;
  EXPECT_EQ(create(), TESSERA_OUT_OF_MEMORY);
  answer = TESSERA_OK;
  EXPECT_EQ(create(), TESSERA_OK) << "the failures left nothing behind";
}

TEST_F(UnpackedWeights, NeedMemory) {
  program.unpacked_bytes = std::uint64_t{1} << 60;
  EXPECT_EQ(create(), TESSERA_OUT_OF_MEMORY);
  EXPECT_EQ(unpackings, 0);
}

TEST_F(UnpackedWeights, AreDefaultsOfKeptOnes) {
  keep_weight();
  reinterpret_cast<unsigned char*>(weights)[4] = 0x41;
  create_all();
  EXPECT_EQ(last(), 120 + of_bytes(0x41));
  float values[6] = {0, 0, 0, 0, 0, 1000};
  tessera_tensor w = {values, {TESSERA_CPU, 0}, 2, kFloat32, in_shape_, nullptr, 0};
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", &w), TESSERA_OK);
  EXPECT_EQ(last(), 1120);
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", nullptr), TESSERA_OK);
  EXPECT_EQ(last(), 120 + of_bytes(0x41));
}

TEST_F(UnpackedWeights, AreTheChildsAfterAFork) {
  reinterpret_cast<unsigned char*>(weights)[4] = 0x42;
  create_all();
  const pid_t child = fork();
  if (child == 0) {
    tessera_model* own = nullptr;
    const bool is_shared =
        tessera_model_create_from(&program, {}, nullptr, &own) == TESSERA_OK && unpackings == 1;
    tessera_model_destroy(own);
    _exit(is_shared ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class UnpackedWeightsOnADevice : public DeviceTest {};

TEST_F(UnpackedWeightsOnADevice, AreUploadedAsTheyAreUsed) {
  tessera_program_packed packed;
  pack(*this, packed);
  reinterpret_cast<unsigned char*>(weights)[4] = 0x42;
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  float value;
  std::memset(&value, 0x42, sizeof value);
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 120 + value);
  tessera_memory memory = TESSERA_MEMORY_INIT;
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.constant_bytes, 64u + 24) << "of the device";
}

}  // namespace
}  // namespace tessera::runtime
