// SPDX-License-Identifier: Apache-2.0
// What a device made, in a file of records: the same library again, without the device. On a
// stand-in of TensorRT, and of a driver.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "link/cuda_compiler.h"
#include "support/testing/requirement.h"

namespace tessera::e2e {
namespace {

constexpr const char* kTwoRegions = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4, 6), float32], %y: Tensor[(4, 6), float32]) {
  %0 = nn.softmax(nn.relu(%x));
  %1 = cumsum(%0, axis=1);
  tanh(add(%1, %y))
}
)";

class RecordedEngines : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value())) {
      GTEST_SKIP() << "there is no nvcc";
    }
    command_.share_cache().write("m.relay", kTwoRegions);
    use_version("10");
    command_.set("LD_LIBRARY_PATH", TESSERA_FAKE_DRIVER).set("FAKE_DRIVER_GPU", "");
  }
  void use_version(const std::string& major) {
    const std::string root = TESSERA_FAKE_TENSORRT_FOLDER "/" + major;
    command_.set("TENSORRT_ROOT", root).set("TESSERA_LIBRARY_PATH", root + "/lib");
  }
  void take_device_away() { command_.unset("LD_LIBRARY_PATH").set("FAKE_TENSORRT_NO_DEVICE", "1"); }
  ProcessResult run(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> line = {command, "m.relay",  "--target",
                                     "cuda",  "--target", "tensorrt"};
    line.insert(line.end(), more.begin(), more.end());
    return command_.run(line);
  }
  std::string library_of(const std::vector<std::string>& more) const {
    std::vector<std::string> options = {"-o", "m.so"};
    options.insert(options.end(), more.begin(), more.end());
    const ProcessResult compiled = run("compile", options);
    EXPECT_TRUE(compiled.ok()) << compiled.err;
    return compiled.ok() ? *read_file(command_.file("m.so")) : "";
  }
  void expect_no_engine(const char* version) const {
    const ProcessResult compiled =
        run("compile", {"-o", "n.so", "--records", "r.db", "--no-measure"});
    EXPECT_FALSE(compiled.ok());
    const std::string expected =
        fmt::format("the records have no engine of TensorRT {} on a device `", version);
    EXPECT_NE(compiled.err.find(expected), std::string::npos) << compiled.err;
  }
  Command command_;
};

TEST_F(RecordedEngines, GiveTheSameLibraryWithoutTheDevice) {
  const std::string library = library_of({"--records", "r.db", "--tune"});
  ASSERT_NE(library.find("stand-in 100300\n"), std::string::npos);
  EXPECT_TRUE(library_of({"--records", "r.db", "--tune"}) == library);
  take_device_away();
  EXPECT_TRUE(library_of({"--records", "r.db", "--no-measure"}) == library);
  EXPECT_TRUE(library_of({"--records", "r.db"}) == library);
}

TEST_F(RecordedEngines, AreMadeByTune) {
  const ProcessResult tuned = run("tune", {"--records", "r.db"});
  ASSERT_TRUE(tuned.ok()) << tuned.err;
  EXPECT_NE(tuned.out.find("2 engines or plans, "), std::string::npos) << tuned.out;
  take_device_away();
  EXPECT_NE(library_of({"--records", "r.db", "--no-measure"}).find("stand-in 100300\n"),
            std::string::npos);
}

TEST_F(RecordedEngines, SurviveTextAndMerging) {
  const std::string library = library_of({"--records", "r.db", "--tune"});
  take_device_away();
  const ProcessResult printed = command_.run({"records", "r.db", "--json"});
  ASSERT_TRUE(printed.ok()) << printed.err;
  std::size_t made = 0;
  for (const auto& entry : nlohmann::json::parse(printed.out)) made += entry.contains("made");
  EXPECT_EQ(made, 2u);
  command_.write("r.json", printed.out);
  ASSERT_TRUE(command_.run({"records", "text.db", "--import", "r.json"}).ok());
  const ProcessResult merged = command_.run({"records", "both.db", "--merge", "text.db"});
  ASSERT_TRUE(merged.ok()) << merged.err;
  EXPECT_NE((merged.out + merged.err).find("text.db: 0 added, 0 better, 2 engines or plans"),
            std::string::npos)
      << merged.out << merged.err;
  EXPECT_NE(merged.out.find("tensorrt 1, TensorRT 10.3.0 on sm_90a 132 NVIDIA H200\n  engine "),
            std::string::npos)
      << merged.out;
  EXPECT_TRUE(library_of({"--records", "both.db", "--no-measure"}) == library);
}

TEST_F(RecordedEngines, AreOfOneVersionAndOneModel) {
  library_of({"--records", "r.db", "--tune"});
  take_device_away();
  use_version("11");
  expect_no_engine("11.0.0");
  use_version("10");
  command_.write("m.relay", std::string(kTwoRegions) + "// another\n");
  library_of({"--records", "r.db", "--no-measure"});
  std::string other = kTwoRegions;
  other.replace(other.find("nn.relu"), 7, "sigmoid");
  command_.write("m.relay", other);
  expect_no_engine("10.3.0");
}

TEST_F(RecordedEngines, TextThatIsNoneIsRefused) {
  command_.write("r.json", R"([{"backend": "tensorrt", "version": "1", "device": "d",
    "workload": "w", "made": "not base64!"}])");
  const ProcessResult imported = command_.run({"records", "r.db", "--import", "r.json"});
  EXPECT_FALSE(imported.ok());
  EXPECT_NE(imported.err.find("its entry 0 has no bytes in base64, and no reason"),
            std::string::npos)
      << imported.err;
}

}  // namespace
}  // namespace tessera::e2e
