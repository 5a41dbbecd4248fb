// SPDX-License-Identifier: Apache-2.0
// Plans that are timed have their weights in one file, each once, and compute what a library with
// weights of its own does.
#include "driver/shared_weights_file.h"

#include <filesystem>
#include <fstream>

#include "driver/compilation.h"
#include "driver/testing/model_test.h"
#include "import/testing/model.h"

namespace tessera::driver {
namespace {

using testing::value_of;

constexpr std::int64_t kSize = 256, kBytesOfAMatrix = 4 * kSize * kSize;

class SharedWeightsFileTest : public testing::ModelTest {
 protected:
  // A product with each of these constants.
  std::string model_of(const std::vector<float>& seeds) {
    import::TestModel m;
    m.input("x", {4, kSize});
    std::string at = "x";
    for (const float seed : seeds) {
      const std::string name = "w" + std::to_string(seed);
      std::vector<float> values(kSize * kSize);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 0.01F * static_cast<float>((i * 7 + static_cast<std::size_t>(seed)) % 13);
      }
      m.floats(name, {kSize, kSize}, values);
      m.node("MatMul", {at, name}, {name + "y"});
      at = name + "y";
    }
    m.output(at);
    const std::string path = folder_.file("model" + std::to_string(++models_) + ".onnx");
    std::ofstream(path, std::ios::binary) << m.proto.SerializeAsString();
    return path;
  }
  CompileOptions options_for(const std::string& model) {
    CompileOptions o = options("");
    o.model = model;
    o.output = new_library();
    return o;
  }
  // A library to be timed; its size is that of the file.
  std::string to_be_timed(const std::string& model, SharedWeightsFile& weights) {
    const CompileOptions o = options_for(model);
    Compilation compilation(o, {});
    const Lowered lowered = value_of(compilation.front_half());
    const auto written = compilation.write_to_be_timed(lowered, o.output, weights);
    if (!written) throw std::runtime_error(render(written.error()));
    return o.output;
  }
  static std::vector<Tensor> outputs_of(const std::string& library) {
    const auto session = value_of(exec::Session::open_library(library, {.threads = 1}));
    return value_of(session->run(std::vector{exec::random_input(session->inputs().front(), 1)}));
  }
  int models_ = 0;
};

TEST_F(SharedWeightsFileTest, EachWeightIsWrittenOnce) {
  const auto weights = value_of(SharedWeightsFile::make());
  const std::string first = to_be_timed(model_of({1, 2}), *weights);
  EXPECT_EQ(weights->bytes(), 2u * kBytesOfAMatrix);
  const std::string second = to_be_timed(model_of({2, 1}), *weights);
  EXPECT_EQ(weights->bytes(), 2u * kBytesOfAMatrix) << "the same in another order";
  const std::string third = to_be_timed(model_of({2, 3}), *weights);
  EXPECT_EQ(weights->bytes(), 3u * kBytesOfAMatrix);
  EXPECT_EQ(std::filesystem::file_size(weights->path()), weights->bytes());
  for (const std::string& library : {first, second, third}) {
    EXPECT_LT(std::filesystem::file_size(library), 3u * kBytesOfAMatrix) << "without its weights";
  }
}

TEST_F(SharedWeightsFileTest, LibrariesComputeTheSame) {
  const auto weights = value_of(SharedWeightsFile::make());
  to_be_timed(model_of({5, 6}), *weights);  // what others read lies before
  const std::string model = model_of({1, 6, 2});
  const CompileOptions whole = options_for(model);
  value_of(compile(whole));
  EXPECT_TRUE(outputs_of(to_be_timed(model, *weights)) == outputs_of(whole.output));
}

TEST_F(SharedWeightsFileTest, WithoutWeightsThereIsNoFile) {
  const auto weights = value_of(SharedWeightsFile::make());
  CompileOptions o = options("def @main(%x: Tensor[(4, 4), float32]) { nn.relu(%x) }\n");
  Compilation compilation(o, {});
  const Lowered lowered = value_of(compilation.front_half());
  ASSERT_TRUE(compilation.write_to_be_timed(lowered, o.output, *weights));
  EXPECT_EQ(weights->bytes(), 0u);
  EXPECT_FALSE(std::filesystem::exists(weights->path()));
  EXPECT_EQ(outputs_of(o.output).size(), 1u);
}

}  // namespace
}  // namespace tessera::driver
