// SPDX-License-Identifier: Apache-2.0
// The operator schemas that Relay texts rely on: fields in order, defaults, kinds. What has no
// default must be there under its name; we may be content without it.
#include <gtest/gtest.h>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "ops/samples/samples.h"
#include "relay/print_value.h"
#include "relay/text/parse.h"

namespace tessera::ops {
namespace {

using relay::OpPattern;

struct Field {
  std::string name, default_text;  // "": required in Relay
};

struct Schema {
  std::string names;  // separated by spaces
  OpPattern kind;
  std::vector<Field> fields;
};

constexpr OpPattern kE = OpPattern::kElemWise, kB = OpPattern::kBroadcast,
                    kI = OpPattern::kInjective, kR = OpPattern::kCommReduce,
                    kA = OpPattern::kOutFusable, kO = OpPattern::kOpaque;

const std::vector<Field> kConv2dFields = {
    {"strides", "[1, 1]"},       {"padding", "[0, 0]"},
    {"dilation", "[1, 1]"},      {"groups", "1"},
    {"channels", "None"},        {"kernel_size", "None"},
    {"data_layout", "\"NCHW\""}, {"kernel_layout", "\"OIHW\""},
    {"out_layout", "\"\""},      {"out_dtype", "None"}};

const Schema kSchemas[] = {
    {"add subtract multiply divide power maximum minimum", kB, {}},
    {"equal not_equal less less_equal greater greater_equal", kB, {}},
    {"abs exp log sqrt rsqrt erf tanh sigmoid negative nn.relu", kE, {}},
    {"cast", kE, {{"dtype", ""}}},
    {"clip", kE, {{"a_min", ""}, {"a_max", ""}}},
    {"nn.leaky_relu", kE, {{"alpha", "0.25f"}}},
    {"nn.bias_add", kB, {{"axis", "1"}}},
    {"nn.dense", kA, {{"units", ""}, {"out_dtype", "None"}}},
    {"nn.matmul",
     kA,
     {{"units", ""}, {"out_dtype", "None"}, {"transpose_a", "False"}, {"transpose_b", "False"}}},
    {"nn.batch_matmul",
     kA,
     {{"out_dtype", "None"}, {"transpose_a", "False"}, {"transpose_b", "False"}}},
    {"nn.conv2d nn.conv2d_backward_weight", kA, kConv2dFields},
    {"nn.conv2d_transpose",
     kA,
     {{"channels", "None"},
      {"kernel_size", "None"},
      {"strides", "[1, 1]"},
      {"output_padding", "[0, 0]"},
      {"padding", "[0, 0]"},
      {"dilation", "[1, 1]"},
      {"groups", "1"},
      {"data_layout", "\"NCHW\""},
      {"kernel_layout", "\"OIHW\""},
      {"out_layout", "\"\""},
      {"out_dtype", "None"}}},
    {"nn.softmax nn.log_softmax", kA, {{"axis", "-1"}}},
    {"nn.max_pool2d",
     kA,
     {{"pool_size", ""},
      {"strides", "[1, 1]"},
      {"dilation", "[1, 1]"},
      {"padding", "[0, 0]"},
      {"layout", "\"NCHW\""},
      {"out_layout", "\"\""},
      {"ceil_mode", "False"}}},
    {"nn.pad", kI, {{"pad_width", ""}, {"pad_mode", "\"constant\""}}},
    {"nn.batch_norm nn.layer_norm",
     kO,
     {{"axis", ""}, {"epsilon", "1e-05f"}, {"center", "True"}, {"scale", "True"}}},
    {"nn.dropout", kO, {{"rate", "0.5f"}}},
    {"reshape", kI, {{"newshape", ""}, {"allowzero", "False"}}},
    {"transpose", kI, {{"axes", ""}}},
    {"expand_dims", kB, {{"axis", ""}, {"num_newaxis", "1"}}},
    {"squeeze", kI, {{"axis", ""}}},
    {"split", kI, {{"indices_or_sections", ""}, {"axis", "0"}}},
    {"concatenate stack", kI, {{"axis", "0"}}},
    {"take", kI, {{"batch_dims", "0"}, {"axis", "None"}, {"mode", "\"clip\""}}},
    {"strided_slice",
     kI,
     {{"begin", ""}, {"end", ""}, {"strides", ""}, {"slice_mode", "\"end\""}, {"axes", ""}}},
    {"mean sum max min", kR, {{"axis", "None"}, {"keepdims", "False"}, {"exclude", "False"}}},
    {"zeros ones", kE, {{"shape", ""}, {"dtype", ""}}},
    {"shape_of", kO, {{"dtype", ""}}},
    {"annotation.compiler_begin annotation.compiler_end", kO, {{"compiler", ""}}},
    {"device_copy", kO, {{"src_virtual_device", ""}, {"dst_virtual_device", ""}}},
    {"call_lowered", kO, {{"metadata", ""}}},
};

std::vector<const relay::Operator*> operators_of(const Schema& schema) {
  std::vector<const relay::Operator*> out;
  std::istringstream names(schema.names);
  for (std::string name; names >> name;) {
    out.push_back(operators().find(name));
    EXPECT_NE(out.back(), nullptr) << name;
  }
  return out;
}

TEST(RelaySchemas, FieldsDefaultsAndKindsAreRelays) {
  for (const Schema& schema : kSchemas) {
    for (const relay::Operator* op : operators_of(schema)) {
      ASSERT_NE(op, nullptr);
      SCOPED_TRACE(op->name);
      EXPECT_EQ(op->pattern, schema.kind);
      const auto& fields = op->attrs().fields;
      ASSERT_EQ(fields.size(), schema.fields.size());
      for (std::size_t i = 0; i < fields.size(); ++i) {
        EXPECT_EQ(fields[i].name, schema.fields[i].name);
        if (schema.fields[i].default_text.empty()) continue;
        EXPECT_FALSE(fields[i].required) << fields[i].name;
        EXPECT_EQ(relay::attr_text(fields[i].default_value), schema.fields[i].default_text)
            << fields[i].name;
      }
    }
  }
}

TEST(RelaySchemas, AxesOfNormsAreRelays) {
  EXPECT_EQ(operators().find("nn.batch_norm")->attrs().find("axis")->default_value,
            relay::AttrValue(1));
  EXPECT_EQ(operators().find("nn.layer_norm")->attrs().find("axis")->default_value,
            relay::AttrValue(-1));
}

// Samples are evaluated by samples_test, and compiled and compared by the conformance of native.
TEST(RelaySchemas, EveryOperatorHasSamplesThatReadAndInfer) {
  for (const Schema& schema : kSchemas) {
    for (const relay::Operator* op : operators_of(schema)) {
      if (op->name == "call_lowered") continue;  // its callee is a function, which samples lack
      EXPECT_GT(op->samples.size(), 0u) << op->name;
      EXPECT_NE(op->eval, nullptr) << op->name;
      EXPECT_TRUE(op->compute != nullptr || !op->runtime_symbol.empty()) << op->name;
      for (const std::string_view text : op->samples) {
        const Sample sample = parse_sample(text);
        EXPECT_TRUE(sample.function.type(sample.function.result())) << text;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::ops
