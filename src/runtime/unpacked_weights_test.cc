// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device_fixture.h"
#include "runtime/instance.h"
#include "runtime/lossless/format.h"
#include "runtime/lossless/lossless.h"
#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

int unpackings = 0;
std::int32_t answer = TESSERA_OK;

// Each byte is the one that stands for all of them.
std::int32_t unpack(const tessera_program* program, const tessera_unpack_target* target,
                    std::int32_t threads) {
  EXPECT_GE(threads, 1);
  ++unpackings;
  const auto* section = static_cast<const unsigned char*>(program->weights);
  const tessera_program_packed& w = *program->packed;
  const tessera_unpacked_block block = {0, 0, w.offset, w.bytes};
  void* out = nullptr;
  if (std::int32_t status = target->place(target->context, &block, &out)) return status;
  if (out == nullptr || answer != TESSERA_OK) return answer;
  std::memset(out, section[w.packed_offset], w.bytes);
  return target->filled != nullptr ? target->filled(target->context, &block, out)
                                   : std::int32_t{TESSERA_OK};
}

// The program's constant is packed; beside it one is as it is used.
void pack(ProgramFixture& f, tessera_program_packed& packed) {
  unpackings = 0;
  answer = TESSERA_OK;
  std::memset(f.weights, 0, sizeof f.weights);  // sums are twice the input
  packed = {64, 24, 4, 1, 4, 0};
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

class UnpackedWeightsOnADevice : public DeviceTest {
 protected:
  UnpackedWeightsOnADevice() {
    pack(*this, packed_);
    device.free_bytes = 4 << 20;  // pinned memory for each thread
    reinterpret_cast<unsigned char*>(weights)[4] = 0x42;
  }
  void expect_right() {
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    float value;
    std::memset(&value, 0x42, sizeof value);
    EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 120 + value);
  }

  tessera_program_packed packed_;
};

TEST_F(UnpackedWeightsOnADevice, AreThereAlone) {
  create();
  EXPECT_EQ(unpackings, 1);
  EXPECT_EQ(model_->constants[0], nullptr) << "the host reads it nowhere";
  expect_right();
  tessera_memory memory = TESSERA_MEMORY_INIT;
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.constant_bytes, 64u + 24) << "of the device";
}

TEST_F(UnpackedWeightsOnADevice, AreTheHostsTooWhereItReadsThem) {
  packed_.on_host = 1;
  create();
  EXPECT_EQ(unpackings, 2);
  ASSERT_NE(model_->constants[0], nullptr);
  EXPECT_EQ(static_cast<const unsigned char*>(model_->constants[0])[23], 0x42);
  expect_right();
}

TEST_F(UnpackedWeightsOnADevice, ThatAreDamagedMakeNoInstance) {
  answer = TESSERA_DAMAGED;
  EXPECT_EQ(try_create(), TESSERA_DAMAGED);
  EXPECT_NE(std::strstr(tessera_last_error(), "the packed weights of this library are damaged"),
            nullptr);
  answer = TESSERA_OK;
  EXPECT_EQ(tessera_instance_create(model_, nullptr, &instance_), TESSERA_OK);
  expect_right();
}

TEST_F(UnpackedWeightsOnADevice, TheDevicesSentenceIsTold) {
  device.is_late = true;
  device.first_failing = 0;
  EXPECT_EQ(try_create(), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "memory cannot be copied");
}

// Blocks of a real library, more of them than threads have memory for: what is written too early
// would show.
class ManyBlocks : public DeviceTest {
 protected:
  static constexpr std::uint64_t kBlocks = 23, kElements = (kBlocks - 1) * lossless::kBlockElements;
  static constexpr std::uint64_t kOdd = 4321;  // of the last block

  ManyBlocks() {
    device.is_late = true;
    device.free_bytes = 64 << 20;
    section_.resize(64 + kBlocks * sizeof(lossless::BlockRecord));
    for (std::uint64_t b = 0; b < kBlocks; ++b) add_block(b);
    packed_ = {64, 4 * (kElements + kOdd), 64, section_.size() - 64, 4, 0};
    constant.offset = packed_.offset;
    constant.bytes = packed_.bytes;
    program.weights = section_.data();
    program.packed = &packed_;
    program.packed_count = 1;
    program.mapped_bytes = 64;
    program.unpacked_bytes = packed_.bytes;
    program.unpack = tessera_unpack_weights;
  }

  // Two planes that are the same all over, and two with numbers.
  void add_block(std::uint64_t b) {
    const std::uint64_t count = b + 1 < kBlocks ? lossless::kBlockElements : kOdd;
    const std::size_t begin = section_.size();
    for (int plane = 0; plane < 2; ++plane) {
      section_.push_back(lossless::kSame);
      section_.push_back(static_cast<unsigned char>(b + 1));
    }
    for (int plane = 0; plane < 2; ++plane) {
      section_.push_back(lossless::kPlain);
      for (std::uint64_t i = 0; i < count; ++i) {
        section_.push_back(static_cast<unsigned char>(i >> (8 - 8 * plane)));
      }
    }
    const auto bytes = static_cast<std::uint32_t>(section_.size() - begin);
    const lossless::BlockRecord record = {bytes, 0,
                                          lossless::checksum(section_.data() + begin, bytes, b)};
    std::memcpy(section_.data() + 64 + b * sizeof record, &record, sizeof record);
  }

  static std::uint32_t element(std::uint64_t i) {
    const std::uint64_t block = i / lossless::kBlockElements, at = i % lossless::kBlockElements;
    const auto same = static_cast<std::uint32_t>(block + 1);
    const std::uint32_t turned = same << 24 | same << 16 | static_cast<std::uint32_t>(at & 0xffff);
    return turned >> 1 | turned << 31;
  }

  std::vector<unsigned char> section_;
  tessera_program_packed packed_;
};

TEST_F(ManyBlocks, ArriveAsTheyWere) {
  create();
  const auto* there = static_cast<const std::uint32_t*>(instance_->work.library->constants[0]);
  for (std::uint64_t i = 0; i < kElements + kOdd; ++i) ASSERT_EQ(there[i], element(i)) << i;
  for (const FakeCopy& copy : device.asked) {
    EXPECT_LE(copy.bytes, TESSERA_UNPACKED_BLOCK_BYTES);
  }
}

TEST_F(ManyBlocks, OneOfThemDamagedIsAnError) {
  section_[section_.size() - 100] ^= 1;
  EXPECT_EQ(try_create(), TESSERA_DAMAGED);
  section_[section_.size() - 100] ^= 1;
  EXPECT_EQ(tessera_instance_create(model_, nullptr, &instance_), TESSERA_OK);
}

TEST_F(ManyBlocks, ACopyThatFailsEndsIt) {
  device.first_failing = 5;
  EXPECT_EQ(try_create(), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "memory cannot be copied");
  EXPECT_EQ(device.done, 5u) << "what is on its way is waited for";
}

}  // namespace
}  // namespace tessera::runtime
