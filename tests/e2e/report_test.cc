// SPDX-License-Identifier: Apache-2.0
// The page that `compile --report` writes.
#include "bad_input.h"
#include "import/testing/model.h"

namespace tessera::e2e {
namespace {

class Report : public BadInput {
 protected:
  // Compiles with a report; the page as check_report.py prints it.
  std::string page_of(const std::string& model_path) {
    const ProcessResult made = command_.run({"compile", model_path, "-o", "m.so", "--report",
                                             "r.html", "--json", "--partition", "none"});
    EXPECT_TRUE(made.ok()) << made.err;
    command_.write("r.json", made.out);
    run_python({TESSERA_SOURCE_DIR "/tests/e2e/check_report.py", command_.file("r.html"),
                command_.file("r.json"), command_.file("page.xml")});
    return *read_file(command_.file("page.xml"));
  }
};

TEST_F(Report, IsWellFormedAndSaysWhatTheJsonSays) {
  const std::string page = page_of(model("sound"));
  EXPECT_NE(page.find("sound.onnx"), std::string::npos);
  EXPECT_EQ(page, page_of(model("sound")));  // but for the times
}

TEST_F(Report, NamesAreNoMarkup) {
  import::TestModel m;
  const std::string evil = "</td><script>alert('1')</script>&amp;\"";
  m.input(evil, {4, 4});
  m.floats("w", {4, 4}, std::vector<float>(16, 0.5F));
  m.node("MatMul", {evil, "w"}, {evil + "2"}, evil);
  m.node("Softmax", {evil + "2"}, {"y"}, "\x01 and \x7f");
  m.output("y");
  const std::string page = page_of(m.write());
  EXPECT_NE(page.find("&lt;script&gt;alert('1')&lt;/script&gt;&amp;amp;"), std::string::npos)
      << page;
}

// ONNX files hold the names that exporters wrote, in whatever encoding.
TEST_F(Report, NamesMayBeNoUtf8) {
  import::TestModel m;
  m.input("caf\xe9", {4, 4});
  m.floats("w\xfd", {4, 4}, std::vector<float>(16, 0.5F));
  m.node("MatMul", {"caf\xe9", "w\xfd"}, {"scores\xfc"}, "node \xfe");
  m.node("Softmax", {"scores\xfc"}, {"\xff"});
  m.output("\xff");
  const std::string path = m.write();
  page_of(path);
  const std::string replaced = "\xef\xbf\xbd";
  for (const std::string& what : {command_.file("m.so"), path}) {
    const ProcessResult told = command_.run({"inspect", what, "--json"});
    ASSERT_TRUE(told.ok()) << told.err;
    EXPECT_NE(told.out.find("\"caf" + replaced + "\""), std::string::npos) << told.out;
  }
}

TEST_F(Report, ThatCannotBeWrittenStopsBeforeTheWork) {
  const auto compile_to = [&](const std::string& report) {
    return command_.run({"compile", model("sound"), "-o", "out/m.so", "--report", report});
  };
  expect_error(compile_to("no/where/r.html"), "E0103",
               {"cannot write `no/where/r.html`", "help: "});
  expect_error(compile_to("out/../out/m.so"), "E0103", {"is the library itself", "help: "});
  expect_error(compile_to(model("sound")), "E0103", {"is the model itself", "help: "});
  const auto rule_to = [&](const std::string& depfile) {
    return command_.run({"compile", model("sound"), "-o", "out/m.so", "--report", "out/r.html",
                         "--depfile", depfile});
  };
  expect_error(rule_to("no/where/m.d"), "E0103", {"cannot write `no/where/m.d`", "help: "});
  expect_error(rule_to(model("sound")), "E0103", {"is the model itself", "help: "});
  expect_error(rule_to("out/m.so"), "E0103", {"is the library itself", "help: "});
  expect_error(rule_to("out/r.html"), "E0103", {"is the report itself", "--depfile"});
  expect_nothing_written();
}

}  // namespace
}  // namespace tessera::e2e
