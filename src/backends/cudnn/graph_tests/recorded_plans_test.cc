// SPDX-License-Identifier: Apache-2.0
// Plans with code that cuDNN compiles, on record: they are taken, and the library is not asked.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends/cudnn/graph_tests/graphs.h"
#include "backends/cudnn/testing/fake.h"
#include "backends/testing/made_in_memory.h"

namespace tessera::backends::cudnn {
namespace {

using backends::testing::MadeInMemory;
using testing::compiling;
using testing::graph_of;
using testing::refusal_of;

const testing::FakeLibrary fake_for_records(TESSERA_FAKE_CUDNN_FOLDER);

// The records of a compilation, as the driver hands them over.
struct Recall {
  explicit Recall(const byoc::MadeParts& made) {
    EXPECT_TRUE(cudnn_backend().recall(compiling(), &made));
  }
  ~Recall() { EXPECT_TRUE(cudnn_backend().recall(compiling(), nullptr)); }
};

Module attention() {
  return graph_of(
      "%q: Tensor[(6, 10, 8), float16], %k: Tensor[(6, 10, 8), float16], %v: Tensor[(6, 10, 8), "
      "float16]",
      "nn.matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True), axis=2), %v, units=None)");
}

std::string payload_of(const Module& module, byoc::MadeParts* made) {
  const byoc::BackendChoice choices[] = {{&cudnn_backend(), compiling()}};
  const auto outcome = backends::testing::compile_graph(module, choices, made);
  return outcome.module.artifacts.empty() ? "" : outcome.module.artifacts.front().payload;
}

TEST(CudnnRecordedPlans, AreTakenInPlaceOfNewOnes) {
  MadeInMemory made;
  {
    const Recall recall(made);
    payload_of(attention(), &made);
  }
  ASSERT_FALSE(made.parts.empty());
  for (auto& [key, part] : made.parts) {
    EXPECT_EQ(key.version, "1, cuDNN 9.19.0");
    EXPECT_EQ(key.device, "sm_90a 132 ");
    EXPECT_TRUE(key.workload.starts_with("plan ")) << key.workload;
    auto plan = nlohmann::json::parse(part.bytes);
    plan["plan"] = "as it was kept";
    part.bytes = plan.dump();
  }
  EXPECT_EQ(payload_of(attention(), nullptr).find("as it was kept"), std::string::npos);
  EXPECT_NE(payload_of(attention(), &made).find("as it was kept"), std::string::npos)
      << "another process kept it first";
  made.only_read();
  const Recall recall(made);
  EXPECT_NE(payload_of(attention(), &made).find("as it was kept"), std::string::npos);
}

TEST(CudnnRecordedPlans, DecideAloneWhereNothingMayBeMade) {
  MadeInMemory none;
  none.only_read();
  EXPECT_EQ(refusal_of(attention(), compiling()), "taken");
  const Recall recall(none);
  EXPECT_NE(refusal_of(attention(), compiling()), "taken");
  // Plans without such code are the same anywhere.
  EXPECT_EQ(refusal_of("%x: Tensor[(2, 6, 5, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16]",
                       "nn.conv2d(%x, %c_w, padding=[1, 1], data_layout=\"NHWC\", "
                       "kernel_layout=\"OHWI\")",
                       compiling()),
            "taken");
}

TEST(CudnnRecordedPlans, WhatIsNoPlanIsPassedOver) {
  MadeInMemory made;
  {
    const Recall recall(made);
    payload_of(attention(), &made);
  }
  made.only_read();
  for (const char* bytes : {"", "{}", "[1]", "{\"plan\": 1}",
                            "{\"plan\": \"\", \"workspace_bytes\": -1, \"configuration\": \"\", "
                            "\"is_fallback\": false}"}) {
    SCOPED_TRACE(bytes);
    for (auto& [key, part] : made.parts) part.bytes = bytes;
    const Recall recall(made);
    EXPECT_NE(refusal_of(attention(), compiling()), "taken");
  }
}

TEST(CudnnRecordedPlans, WhatIsNoPlanGivesWayToOne) {
  MadeInMemory made;
  {
    const Recall recall(made);
    payload_of(attention(), &made);
  }
  ASSERT_FALSE(made.parts.empty());
  for (auto& [key, part] : made.parts) part.bytes = "{}";
  std::string payload;
  {
    const Recall recall(made);
    payload = payload_of(attention(), &made);
  }
  EXPECT_NE(payload, "");
  made.only_read();
  const Recall recall(made);
  EXPECT_EQ(payload_of(attention(), &made), payload);
}

}  // namespace
}  // namespace tessera::backends::cudnn
