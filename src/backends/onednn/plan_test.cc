// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/plan.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/onednn/library_handle.h"

namespace tessera::backends::onednn {
namespace {

struct Types {
  const char *x = "float32", *k = "float32", *y = "float32";
};

// x[n,64,h,w], k[16,64,1,1] -> y[n,16,h,w]
std::string convolution(int layout_tag, const Types& types = {}) {
  return fmt::format(R"({{"arg_nodes":[0,1],"heads":[[2,0,0]],"node_row_ptr":[0,1,2,3],"nodes":[
    {{"attrs":{{"dtype":[["{1}"]],"shape":[[["n",64,"h","w"]]]}},"name":"x","op":"input"}},
    {{"attrs":{{"dtype":[["{2}"]],"layout_tag":[["{0}"]],"shape":[[[16,64,1,1]]]}},"name":"k",
      "op":"const"}},
    {{"attrs":{{"dilation":[["0","0"]],"dtype":[["{3}"]],"kernel":[["convolution"]],
      "num_inputs":"2","num_outputs":"1","operand0_dims":[["n","64","h","w"]],
      "operand1_dims":[["16","64","1","1"]],"operand1_strides":[["64","1","1","1"]],
      "padding_begin":[["0","0"]],"padding_end":[["0","0"]],
      "result_dims":[["n","16","h","w"]],"roles":[["source","weights"]],
      "shape":[[["n",16,"h","w"]]],"strides":[["1","1"]],"workspace_bytes":[["0"]]}},
      "inputs":[[0,0,0],[1,0,0]],"name":"onednn.conv2d","op":"kernel"}}]}})",
                     layout_tag, types.x, types.k, types.y);
}

// What computes the convolution of n x 64 x 15 x 15 with weights that are stored so.
std::string implementation_of(int layout_tag, std::int64_t n, const Types& types = {}) {
  runtime::JsonGraph graph;
  EXPECT_TRUE(graph.parse(convolution(layout_tag, types))) << graph.error();
  EXPECT_TRUE(graph.set_size("n", n) && graph.set_size("h", 15) && graph.set_size("w", 15));
  const Library& library = *compiler_library();
  Plan plan(library.api(), library.engine(), 2);
  EXPECT_TRUE(plan.build(graph)) << plan.error();
  std::string found;
  for (const Step& step : plan.steps()) {
    if (!step.is_reorder) found = implementation(library.api(), step.primitive);
  }
  return found;
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
    Plan plan(library.api(), library.engine(), 2);
    EXPECT_TRUE(plan.build(graph)) << plan.error();
    EXPECT_EQ(plan.steps().size(), 0u) << size;
  }
}

// The layout that the likely sizes want must not leave other sizes to what reads it alone, least of
// all to the reference.
TEST(Plan, WeightsInALayoutThatSlowsTheLibraryDownAreCopied) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  for (std::int64_t n = 1; n <= 8; ++n) {
    const std::string own = implementation_of(-1, n);
    EXPECT_FALSE(own.starts_with("ref")) << own;
    for (const int tag : {dnnl_abcd, dnnl_acdb, dnnl_Abcd8a, dnnl_Abcd16a, dnnl_Acdb16a}) {
      EXPECT_EQ(implementation_of(tag, n), own) << "stored as " << tag << ", batch of " << n;
    }
  }
}

// By VNNI or, where there is work enough for it, AMX: the library's other kernels lose sums.
TEST(Plan, BytesAreMultipliedByWhatKeepsTheSums) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  const unsigned isa = compiler_library()->api().get_effective_cpu_isa();
  const bool has_amx = (isa & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;
  for (const std::int64_t images : {1, 100}) {
    const std::string found = implementation_of(-1, images, {"uint8", "int8", "int32"});
    const bool is_by_unit = images == 100 && has_amx;
    const char* wanted = is_by_unit ? "amx" : library_multiplies_bytes() ? "vnni" : "ref";
    EXPECT_NE(found.find(wanted), std::string::npos) << images << " images: " << found;
  }
}

// As weights are when a plan for two threads meets a run with one.
TEST(Library, ReordersBetweenBlocksAsByRowMajor) {
  if (compiler_library() == nullptr) GTEST_SKIP() << compiler_library_error();
  const Library& library = *compiler_library();
  const Api& api = library.api();
  const Dims dims = {4, {40, 24, 3, 3}};  // no multiples of the blocks
  std::vector<float> plain(std::size_t{40} * 24 * 9);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i);
  TextBuffer error;
  const auto reordered = [&](const std::vector<float>& data, int from, int to) {
    const dnnl_memory_desc_t source = make_tagged(api, dims, dnnl_f32, from),
                             target = make_tagged(api, dims, dnnl_f32, to);
    std::vector<float> out(size_bytes(api, target) / sizeof(float), -1.0F);
    EXPECT_TRUE(run_reorder(api, library.engine(), data.data(), source, out.data(), target, &error))
        << error.text();
    api.memory_desc_destroy(source);
    api.memory_desc_destroy(target);
    return out;
  };
  const auto blocked = reordered(plain, dnnl_abcd, dnnl_Acdb32a);
  EXPECT_EQ(reordered(blocked, dnnl_Acdb32a, dnnl_Acdb48a),
            reordered(plain, dnnl_abcd, dnnl_Acdb48a));
  EXPECT_EQ(reordered(blocked, dnnl_Acdb32a, dnnl_abcd), plain);
}

}  // namespace
}  // namespace tessera::backends::onednn
