// SPDX-License-Identifier: Apache-2.0
// Models whose names are written to become code: they compile to libraries in which nothing of it
// runs, and nothing that they name is read.
#include <filesystem>

#include <dlfcn.h>

#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "import/testing/model.h"
#include "support/visible_text.h"
#include "tests/text_fuzz/cpp_tokens.h"
#include "types/target_list.h"

namespace tessera::text_fuzz {
namespace {

namespace fs = std::filesystem;

class Injection : public driver::testing::ModelTest {
 protected:
  // The emitted sources, as compilers see them; the library is loaded, and unloaded.
  std::vector<Token> compile_and_load(const std::string& name, const std::string& model,
                                      const std::vector<std::string>& targets) {
    driver::CompileOptions options;
    options.model = folder_.file(name);
    options.output = folder_.file("m.so");
    options.dump_dir = folder_.file("dump");
    options.jobs = 2;
    EXPECT_TRUE(write_atomically(options.model, model));
    options.targets = driver::testing::value_of(parse_targets(targets));
    driver::testing::value_of(driver::compile(options));
    void* library = ::dlopen(options.output.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << ::dlerror();
    if (library != nullptr) ::dlclose(library);
    EXPECT_FALSE(fs::exists(mark())) << "the name of a node was run";
    std::vector<Token> tokens;
    for (const auto& entry : fs::directory_iterator(options.dump_dir)) {
      if (entry.path().extension() != ".cc") continue;
      for (Token& t : tokens_of(read_file(entry.path().string()).value())) {
        if (t.kind == TokenKind::kName) tokens.push_back(std::move(t));
      }
    }
    EXPECT_FALSE(tokens.empty());
    return tokens;
  }

  std::string mark() const { return folder_.file("mark"); }

  static std::string relu(const std::string& node, const char* op = "Relu") {
    import::TestModel m;
    m.input("x", {4});
    m.output("y");
    m.node(op, {"x"}, {"y"}, node);
    return m.proto.SerializeAsString();
  }

  static void expect_none(const std::vector<Token>& tokens, const std::string& name) {
    for (const Token& t : tokens) EXPECT_NE(t.text, name);
  }
};

TEST_F(Injection, CarriageReturnsEndNoComment) {
  const std::string name =
      "relu\r#include <stdlib.h>\r__attribute__((constructor)) static void "
      "pwned(){system(\"touch " +
      mark() + "\");}\r//";
  expect_none(compile_and_load("model.onnx", relu(name), {"cpu"}), "pwned");
}

TEST_F(Injection, OtherSeparatorsEndNoComment) {
  for (const char* separator : {"\n", "\r\n", "\v", "\f", "\xe2\x80\xa8", "\xc2\x85", "?\?/\n"}) {
    const std::string name = std::string("relu") + separator + "void pwned(){}";
    expect_none(compile_and_load("model.onnx", relu(name), {"cpu"}), "pwned");
  }
}

TEST_F(Injection, NoFileIsIncluded) {
  const auto tokens =
      compile_and_load("model.onnx", relu("relu\r#include \"/etc/hostname\"\r//"), {"cpu"});
  expect_none(tokens, "hostname");
}

TEST_F(Injection, ABackslashSwallowsNoLine) {
  for (const char* name : {"a\\", "a\\ ", "a\\\t", "a?\?/"}) {
    compile_and_load("model.onnx", relu(name), {"cpu"});
    import::TestModel m;
    m.input("x", {4, 8});
    m.output("y");
    m.node("NonZero", {"x"}, {"y"}, name);
    compile_and_load("model.onnx", m.proto.SerializeAsString(), {"cpu"});
  }
}

TEST_F(Injection, ASymbolIsAWordOfC) {
  for (const char* symbol : {"a(){return 0;} int b", "printf", "main", "1", "", "x\\ny", "\\xff"}) {
    const std::string text = fmt::format(
        "#[version = \"0.0.5\"]\n"
        "def @main(%x: Tensor[(4), float32]) {{\n  @\"f {0}\"(%x)\n}}\n"
        "def @\"f {0}\"(%y: Tensor[(4), float32], Compiler=\"ccompiler\", Primitive=1, "
        "global_symbol=\"f {0}\") {{\n  add(%y, %y)\n}}\n",
        symbol);
    const auto tokens = compile_and_load("model.relay", text, {"cpu", "ccompiler"});
    const auto named = std::find_if(tokens.begin(), tokens.end(), [](const Token& t) {
      return t.text.starts_with("ccompiler_f_");
    });
    EXPECT_NE(named, tokens.end()) << symbol;
  }
}

// The arrays beside a call of a back end hide no tensor: ones by ones twice are sixteen.
TEST_F(Injection, TensorsAreNotHidden) {
  import::TestModel m;
  m.input("s0", {2, 4});
  m.floats("w", {4, 4}, std::vector<float>(16, 1));
  m.node("MatMul", {"s0", "w"}, {"t0"});
  m.node("Exp", {"t0"}, {"t1"});
  m.node("Log", {"t1"}, {"s2"});
  m.node("MatMul", {"s2", "w"}, {"s1"});
  m.output("s1");
  compile_and_load("model.onnx", m.proto.SerializeAsString(), {"cpu", "blas"});
  const auto session =
      driver::testing::value_of(exec::Session::open_library(folder_.file("m.so"), {}));
  const Tensor ones = Tensor::of({2, 4}, kFloat32, std::vector<float>(8, 1));
  const auto outputs = driver::testing::value_of(session->run(std::vector<Tensor>{ones}));
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_NEAR(element_as_double(outputs[0], i), 16, 1e-3);
}

// What calls a function of the library's own, or of the C library, calls it.
TEST_F(Injection, NamesOfFunctionsHideNone) {
  import::TestModel m;
  m.input("tessera_entry", {2, 4});
  m.floats("k00_exp__f32_2x4__native", {2, 4}, std::vector<float>(8, 1));
  m.node("Exp", {"tessera_entry"}, {"k00_add__f32_2x4__native"}, "memcpy");
  m.node("MatMul", {"k00_add__f32_2x4__native", "w"}, {"tessera_parallel_for"}, "frame");
  m.floats("w", {4, 4}, std::vector<float>(16, 1));
  m.node("Softmax", {"tessera_parallel_for"}, {"errno"}, "printf");
  m.node("Add", {"errno", "tessera_entry"}, {"INT64_MIN"}, "new");
  m.node("Mul", {"INT64_MIN", "k00_exp__f32_2x4__native"}, {"blas_main_0"}, "");
  for (const char* output : {"errno", "INT64_MIN", "blas_main_0"}) m.output(output);
  compile_and_load("model.onnx", m.proto.SerializeAsString(), {"cpu"});
}

}  // namespace
}  // namespace tessera::text_fuzz
