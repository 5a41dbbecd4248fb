// SPDX-License-Identifier: Apache-2.0
// Everything that reads what users write, on damaged input: it is read, or refused with a place and
// a message; it never crashes, and under the sanitizers never reads beside its input. The input at
// hand lies in the build folder's fuzz/, so that a crash leaves it there.
//   TESSERA_FUZZ_SECONDS   time for each parser (2 without it)
//   TESSERA_FUZZ_SEED      the run to repeat; without it the day's number
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "backends/table.h"
#include "constants/npy.h"
#include "constants/safetensors.h"
#include "driver/catalogue.h"
#include "import/import_onnx.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/pipeline_text.h"
#include "relay/patterns/pattern_text.h"
#include "support/files.h"
#include "support/testing/mutator.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "types/target_list.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

const std::string kSource = TESSERA_SOURCE_DIR;
const std::string kFolder = TESSERA_BUILD_DIR "/fuzz";

double number_of(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atof(text) : otherwise;
}

// A parser, what it is fed with, and what its language is made of.
struct Parser {
  const char* name;
  std::vector<std::string> seeds;
  std::vector<std::string_view> pieces;
  // Reads the text, which also lies in the file; expects of the outcome what the parser promises.
  std::function<void(const std::string& text, const std::string& file)> feed;
};
void PrintTo(const Parser& parser, std::ostream* out) { *out << parser.name; }

// What all files below src/ with this ending say.
std::vector<std::string> files(std::string_view ending) {
  std::vector<std::string> paths, out;
  for (const auto& entry : fs::recursive_directory_iterator(kSource + "/src")) {
    if (entry.path().extension() == ending) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) out.push_back(read_file(path).value());
  return out;
}

void expect_places(const Diagnostics& errors) {
  EXPECT_FALSE(errors.empty());
  for (const Diagnostic& d : errors.list) {
    EXPECT_FALSE(to_string(d.location).empty()) << d.message;
    EXPECT_FALSE(d.message.empty());
  }
  EXPECT_FALSE(render(errors).empty());
}

std::shared_ptr<const SourceFile> source(const std::string& text) {
  return std::make_shared<const SourceFile>(SourceFile{"fuzz", text});
}

void feed_relay(const std::string& text, const std::string&) {
  auto module = parse_module(source(text), ops::operators());
  if (!module) return expect_places(module.error());
  const auto again = parse_module(source(print(*module)), ops::operators());
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_TRUE(compare(*module, *again, {.prim_funcs = true}).equal);
  const auto typed = ops::infer_types(std::move(*module));
  if (!typed) expect_places(typed.error());
}

void feed_tir(const std::string& text, const std::string&) {
  const auto f = tir::parse_prim_func(text);
  if (!f) return expect_places(f.error());
  const auto again = tir::parse_prim_func(tir::print(*f, "f"));
  EXPECT_TRUE(again) << render(again.error());
}

void feed_patterns(const std::string& text, const std::string&) {
  const auto tables = relay::parse_patterns(source(text), ops::operators());
  if (!tables) return expect_places(tables.error());
  for (const relay::PatternTable& table : *tables) {
    const std::string printed = print(table);
    const auto again = relay::parse_patterns(source(printed), ops::operators());
    ASSERT_TRUE(again) << render(again.error()) << printed;
    EXPECT_EQ(print(again->at(0)), printed);
  }
}

void feed_pipeline(const std::string& text, const std::string&) {
  const auto calls = passes::parse_pipeline(text, driver::pass_catalogue());
  if (!calls) expect_places(calls.error());
}

void feed_target(const std::string& text, const std::string&) {
  const auto target = parse_target(text);
  if (!target) {
    EXPECT_FALSE(render(target.error()).empty());
    return;
  }
  const auto again = parse_target(to_string(*target));
  ASSERT_TRUE(again) << text << "\n" << to_string(*target) << "\n" << render(again.error());
  EXPECT_TRUE(*again == target->without_host()) << text;
  const auto of_json = parse_target(to_json(*target));
  ASSERT_TRUE(of_json) << text << "\n" << to_json(*target) << "\n" << render(of_json.error());
  EXPECT_TRUE(*of_json == *target) << text;
}

// A file of bytes has no lines; the message names it, or a node in it.
template <class T>
void expect_named(const Result<T>& read, const std::string& file) {
  if (read) return;
  EXPECT_FALSE(read.error().empty());
  for (const Diagnostic& d : read.error().list) {
    EXPECT_TRUE(d.location || d.message.find(file) != std::string::npos) << d.message;
  }
}

template <auto kRead>
void feed_file(const std::string&, const std::string& file) {
  expect_named(kRead(file), file);
}

void feed_onnx(const std::string&, const std::string& file) {
  expect_named(import::import_onnx(file), file);
}

std::string safetensors() {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  std::string out(8, '\0');
  out[0] = static_cast<char>(header.size());
  return out + header + std::string(16, '\1');
}

std::vector<Parser> parsers() {
  const std::vector<std::string_view> text = {"(",     ")",
                                              "{",     "}",
                                              "[",     "]",
                                              "%0",    "%x",
                                              "@main", "let ",
                                              "fn ",   "if ",
                                              "=",     ";",
                                              ",",     ".1",
                                              "-",     "?",
                                              "?(",    "\"",
                                              "/*",    "*/",
                                              "#[",    "1e",
                                              "inff",  ":",
                                              "->",    "\\",
                                              "|",     "meta[relay.Constant][0]",
                                              "*",     "9223372036854775808",
                                              "0",     "-1",
                                              "\x80",  std::string_view("\0", 1)};
  const std::vector<std::string_view> bytes = {std::string_view("\0\0\0\0", 4),
                                               "\xff\xff\xff\xff\x0f",
                                               "\x08\x96\x01",
                                               "\x12\x03",
                                               "{",
                                               "}",
                                               "[9223372036854775807]",
                                               "-1",
                                               "float32",
                                               "\x80",
                                               "\n"};
  return {
      {"relay", files(".relay"), text, feed_relay},
      {"tir", files(".tir"), text, feed_tir},
      {"patterns", files(".patterns"), text, feed_patterns},
      {"pipeline",
       {"infer-type,fuse-ops{max_depth=3,link_params=true},partition-graph{mod_name=\"x\"}",
        "convert-layout{desired=[nn.conv2d:NHWC, nn.max_pool2d:NHWC]},inline"},
       text,
       feed_pipeline},
      {"target",
       {"cutlass -sm=90 -use_3xtf32=false -split_k_slices=1,2,4", "cpu -mcpu='a b' --opt 2",
        R"({"kind":"cuda","arch":"sm_90a","host":{"kind":"cpu"},"keys":["cuda","gpu"]})"},
       text,
       feed_target},
      {"npy", files(".npy"), bytes, feed_file<read_npy>},
      {"npz", files(".npz"), bytes, feed_file<read_npz>},
      {"safetensors", {safetensors()}, bytes, feed_file<read_safetensors>},
      {"onnx",
       {read_file(kSource + "/bench/models/resnet50.skeleton.onnx").value(),
        read_file(kSource + "/bench/models/mobilenet_v2.skeleton.onnx").value()},
       bytes,
       feed_onnx},
  };
}

class ParserFuzz : public ::testing::TestWithParam<Parser> {};

TEST_P(ParserFuzz, ReadsOrRefuses) {
  const Parser& parser = GetParam();
  const double seconds = number_of("TESSERA_FUZZ_SECONDS", 2);
  const auto today = static_cast<double>(std::time(nullptr) / 86400);
  const auto seed = static_cast<std::uint64_t>(number_of("TESSERA_FUZZ_SEED", today));
  testing::Mutator mutator(seed, parser.pieces);
  ASSERT_FALSE(parser.seeds.empty());
  fs::create_directories(kFolder);
  const std::string file = kFolder + "/" + parser.name;
  const Clock::time_point begin = Clock::now();
  int count = 0;
  do {
    const std::string text = mutator.mutate(parser.seeds[mutator.pick(parser.seeds.size())]);
    ASSERT_TRUE(write_atomically(file, text));
    parser.feed(text, file);
    ++count;
    if (HasFailure()) break;
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  if (HasFailure()) {
    ADD_FAILURE() << "input " << count << " of TESSERA_FUZZ_SEED=" << seed << "; it lies in "
                  << file;
  }
  std::cout << parser.name << ": " << count << " inputs, TESSERA_FUZZ_SEED=" << seed << "\n";
}

INSTANTIATE_TEST_SUITE_P(Parsers, ParserFuzz, ::testing::ValuesIn(parsers()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera
