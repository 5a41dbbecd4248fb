// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "emit/host.h"

namespace tessera::emit {
namespace {

Tensor filled(std::int64_t count, float value) {
  return Tensor::of({count}, kFloat32, std::vector<float>(static_cast<std::size_t>(count), value));
}

TEST(WeightsLayout, WhatIsPackedComesAfterAllElse) {
  Module module;
  const Tensor tensors[] = {filled(1, 1), filled(100, 2), filled(20, 3), filled(30, 4)};
  for (const Tensor& t : tensors) module.kept_weights.push_back({"w", module.constants.add(t)});
  // The bytes of the second, in another shape.
  const Tensor reshaped({10, 10}, kFloat32, module.constants[ConstantIndex(1)].blob);
  module.kept_weights.push_back({"again", module.constants.add(reshaped)});
  const auto stored = Blob::adopt(std::vector<std::byte>(70));
  const PackedBlobs packed = {{module.constants[ConstantIndex(1)].blob.get(), {stored, 4}}};
  const auto planned = plan::plan_constants(module, {}).value();
  const WeightsLayout layout = layout_weights(module, planned, packed);
  EXPECT_EQ(layout.mapped_bytes, 64u + 128 + 128);
  EXPECT_EQ(layout.unpacked_bytes, 448u);
  EXPECT_EQ(layout.bytes, layout.mapped_bytes + 128);
  EXPECT_EQ(layout.offsets, (std::vector<std::uint64_t>{0, 320, 64, 192, 320}));
  ASSERT_EQ(layout.packed.size(), 1u);
  EXPECT_EQ(layout.packed[0].offset, 320u);
  EXPECT_EQ(layout.packed[0].bytes, 400u);
  EXPECT_EQ(layout.packed[0].packed_offset, 320u);
  EXPECT_EQ(layout.packed[0].packed_bytes, 70u);
  ASSERT_EQ(layout.pieces.size(), 4u);
  EXPECT_EQ(layout.pieces.back().blob, stored);
  EXPECT_EQ(layout_weights(module, planned).bytes, 64u + 448 + 128 + 128) << "without packing";
}

TEST(WeightsLayout, AModuleUnpacksWhatItReadsAlone) {
  Module modules[2];
  for (int i = 0; i < 2; ++i) {
    // The first is of both, the second of one.
    for (const Tensor& t : {filled(100, 1), filled(50, 2 + static_cast<float>(i))}) {
      modules[i].kept_weights.push_back({"w", modules[i].constants.add(t)});
    }
  }
  const Module* const both[] = {&modules[0], &modules[1]};
  const auto planned = plan::plan_constants(both, {}).value();
  ASSERT_EQ(planned.needs.size(), 3u);
  const auto stored = Blob::adopt(std::vector<std::byte>(70));
  PackedBlobs packed;
  packed[modules[0].constants[ConstantIndex(0)].blob.get()] = {stored, 4};
  packed[modules[1].constants[ConstantIndex(1)].blob.get()] = {stored, 4};
  const auto layouts = layout_weights(both, planned, packed);
  const WeightsLayout &first = layouts[0], &second = layouts[1];
  EXPECT_EQ(first.mapped_bytes, 256u);
  EXPECT_EQ(first.unpacked_bytes, 448u);
  EXPECT_EQ(second.unpacked_bytes, 448u + 256);
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_EQ(first.packed.size(), 1u);
  ASSERT_EQ(second.packed.size(), 2u);
  EXPECT_EQ(second.packed[0].packed_offset, first.packed[0].packed_offset);
  EXPECT_EQ(first.offsets, (std::vector<std::uint64_t>{256, 0}));
  EXPECT_EQ(second.offsets, (std::vector<std::uint64_t>{256, 256 + 448}));
}

TEST(WeightsLayout, WhatADevicesHostReadsIsTold) {
  Module module;
  PackedBlobs packed;
  ConstantIndex indices[3];
  for (int i = 0; i < 3; ++i) {
    indices[i] = module.constants.add(filled(100, static_cast<float>(i)));
    packed[module.constants[indices[i]].blob.get()] = {Blob::adopt(std::vector<std::byte>(70)), 4};
  }
  const auto constant = [](std::string name, const MemorySpace& space) {
    const tir::Buffer plain = tir::make_buffer(std::move(name), kFloat32, {tir::Expr(100)});
    auto* made = new tir::BufferNode(*plain);
    made->space = space;
    return tir::Buffer(made);
  };
  tir::PrimFunc main;
  main.is_host = true;
  main.body = tir::AllocateConst::make(
      tir::make_host_buffer("a", kFloat32, {tir::Expr(100)}, tir::MemoryScope::kGlobal),
      ConstantValue(indices[0]),
      tir::AllocateConst::make(constant("b", main_memory(DeviceType::kCuda)),
                               ConstantValue(indices[1]), tir::Stmt()));
  module.prim_funcs.emplace("main", std::move(main));
  Artifact artifact;
  artifact.constants.push_back({"c", indices[2]});
  module.artifacts.push_back(std::move(artifact));
  const auto planned = plan::plan_constants(module, {}).value();
  const WeightsLayout layout = layout_weights(module, planned, packed);
  ASSERT_EQ(layout.packed.size(), 3u);
  EXPECT_TRUE(layout.packed[0].on_host) << "its own code";
  EXPECT_FALSE(layout.packed[1].on_host);
  EXPECT_TRUE(layout.packed[2].on_host) << "a back end";
}

}  // namespace
}  // namespace tessera::emit
