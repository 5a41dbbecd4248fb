// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/plan.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/onednn/library_handle.h"

namespace tessera::backends::onednn {
namespace {

// x: float32[n,64,h,w], w: float32[16,64,1,1] -> float32[n,16,h,w]
std::string convolution(int layout_tag) {
  return fmt::format(R"({{"arg_nodes":[0,1],"heads":[[2,0,0]],"node_row_ptr":[0,1,2,3],"nodes":[
    {{"attrs":{{"dtype":[["float32"]],"shape":[[["n",64,"h","w"]]]}},"name":"x","op":"input"}},
    {{"attrs":{{"dtype":[["float32"]],"layout_tag":[["{}"]],"shape":[[[16,64,1,1]]]}},"name":"k",
      "op":"const"}},
    {{"attrs":{{"dilation":[["0","0"]],"dtype":[["float32"]],"kernel":[["convolution"]],
      "num_inputs":"2","num_outputs":"1","operand0_dims":[["n","64","h","w"]],
      "operand1_dims":[["16","64","1","1"]],"operand1_strides":[["64","1","1","1"]],
      "padding_begin":[["0","0"]],"padding_end":[["0","0"]],
      "result_dims":[["n","16","h","w"]],"roles":[["source","weights"]],
      "shape":[[["n",16,"h","w"]]],"strides":[["1","1"]],"workspace_bytes":[["0"]]}},
      "inputs":[[0,0,0],[1,0,0]],"name":"onednn.conv2d","op":"kernel"}}]}})",
                     layout_tag);
}

// How the convolution of a 2x64x15x15 is computed with weights that are stored so.
bool is_by_reference(int layout_tag) {
  runtime::JsonGraph graph;
  EXPECT_TRUE(graph.parse(convolution(layout_tag))) << graph.error();
  EXPECT_TRUE(graph.set_size("n", 2) && graph.set_size("h", 15) && graph.set_size("w", 15));
  const Library& library = *compiler_library();
  Plan plan(library.api(), library.engine());
  EXPECT_TRUE(plan.build(graph)) << plan.error();
  return std::any_of(plan.steps().begin(), plan.steps().end(), [&](const Step& step) {
    return !step.is_reorder && is_reference(library.api(), step.primitive);
  });
}

// A size that only the run knows may be 0, for which oneDNN has no convolution.
TEST(Plan, AResultWithoutElementsTakesNoStep) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  for (const std::string_view size : {"n", "h"}) {
    runtime::JsonGraph graph;
    EXPECT_TRUE(graph.parse(convolution(-1))) << graph.error();
    for (const std::string_view name : {"n", "h", "w"}) {
      EXPECT_TRUE(graph.set_size(name, name == size ? 0 : 15));
    }
    const Library& library = *compiler_library();
    Plan plan(library.api(), library.engine());
    EXPECT_TRUE(plan.build(graph)) << plan.error();
    EXPECT_EQ(plan.steps().size(), 0u) << size;
  }
}

// The layout that the likely sizes want must not leave other sizes to the reference.
TEST(Plan, WeightsInALayoutThatOnlyTheReferenceReadsAreCopied) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  ASSERT_FALSE(is_by_reference(-1));
  for (const int tag : {dnnl_abcd, dnnl_acdb, dnnl_Abcd8a, dnnl_Abcd16a, dnnl_Acdb16a}) {
    EXPECT_FALSE(is_by_reference(tag)) << "stored as " << tag;
  }
}

}  // namespace
}  // namespace tessera::backends::onednn
