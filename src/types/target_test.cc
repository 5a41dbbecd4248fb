// SPDX-License-Identifier: Apache-2.0
#include "types/target.h"

#include <gtest/gtest.h>

#include "support/testing/expect_contains.h"
#include "types/target_list.h"
#include "types/target_options.h"

namespace tessera {
namespace {

using tessera::testing::expect_contains;

using Strings = std::vector<std::string>;

Target good(std::string_view text) {
  auto target = parse_target(text);
  EXPECT_TRUE(target) << (target ? "" : render(target.error()));
  return target ? *target : Target();
}

// The messages of a text that must be refused, one a line.
std::string bad(std::string_view text) {
  const auto target = parse_target(text);
  if (target) return "accepted";
  for (const auto& d : target.error().list) EXPECT_EQ(d.code, Code::kBadTarget);
  return render(target.error());
}

TEST(Target, DefaultsAreFilledIn) {
  const Target cutlass("cutlass");
  EXPECT_EQ(cutlass.get_int("sm"), 80);
  EXPECT_TRUE(cutlass.get_bool("use_3xtf32"));
  EXPECT_EQ(cutlass.get_ints("split_k_slices"), std::vector<std::int64_t>{1});
  EXPECT_EQ(cutlass.get_int("threads"), -1);
  EXPECT_EQ(cutlass.get_string("tmp_dir"), "./tmp");
  EXPECT_EQ(cutlass.keys(), (Strings{"cuda", "gpu"}));
  EXPECT_EQ(Target("tensorrt").get_int("max_workspace_size"), 1 << 30);
  EXPECT_EQ(Target(), good("cpu"));
  EXPECT_EQ(good("llvm"), good("cpu"));
}

TEST(Target, ThreeFormsOfOptions) {
  const Target target = good("cpu -mcpu=skylake-avx512 --threads 2 -opt");
  EXPECT_EQ(target.get_string("mcpu"), "skylake-avx512");
  EXPECT_EQ(target.get_int("threads"), 2);
  EXPECT_EQ(target.get_int("opt"), 1);
  EXPECT_TRUE(good("cuda -ptx").get_bool("ptx"));
  EXPECT_FALSE(good("cutlass -use_3xtf32=false").get_bool("use_3xtf32"));
  EXPECT_EQ(good("cutlass -split_k_slices=1,2,4").get_ints("split_k_slices"),
            (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(good("cpu -threads=true").get_int("threads"), 1);
  EXPECT_EQ(good("cutlass -threads=-4").get_int("threads"), -4);
}

TEST(Target, QuotesAndEscapes) {
  EXPECT_EQ(good("ccompiler -header='#include <x y.h>'").get_string("header"), "#include <x y.h>");
  EXPECT_EQ(good("ccompiler -header=a\\ b").get_string("header"), "a b");
  EXPECT_EQ(good("ccompiler -header='it\\'s'").get_string("header"), "it's");
  EXPECT_EQ(good("ccompiler -header=' padded '").get_string("header"), "padded");
  EXPECT_EQ(good("cpu -keys='a,b',c").keys(), (Strings{"a,b", "c", "cpu"}));
  const Target nested = good("cuda -host='cpu -mcpu=\\'x y\\''");
  ASSERT_NE(nested.host(), nullptr);
  EXPECT_EQ(nested.host()->get_string("mcpu"), "x y");
}

TEST(Target, KeysAreThoseOfUserKindAndDevice) {
  EXPECT_EQ(good("cuda -keys=fast,gpu -device=h200").keys(),
            (Strings{"fast", "gpu", "cuda", "h200"}));
}

TEST(Target, TextsReadBackEqual) {
  const char* texts[] = {"cpu",
                         "cpu -mcpu=x -tag=t -libs=a,b -from_device=3",
                         "cuda -arch=sm_90a -ptx",
                         "ccompiler -header='a \\'b\\' \\\\ c'",
                         "cutlass -split_k_slices='' -sm=90",
                         "tensorrt -tensorrt_version=8,5,1",
                         "cpu -keys='a b','c,d','\\\\'",
                         R"({"kind": "cpu", "mcpu": ""})"};
  for (const char* text : texts) {
    const Target target = good(text);
    EXPECT_EQ(good(to_string(target)), target) << to_string(target);
    EXPECT_EQ(good(to_json(target)), target) << to_json(target);
    const Target hosted = target.with_host(Target("cpu").with("opt", std::int64_t{1}));
    EXPECT_EQ(good(to_json(hosted)), hosted) << to_json(hosted);
    EXPECT_EQ(good(to_json(hosted)).hash(), hosted.hash());
    EXPECT_NE(hosted, target);
  }
}

TEST(Target, PrintsSortedWithoutHostAndEmptyValues) {
  EXPECT_EQ(to_string(good("cpu -threads=2 -host=cpu")),
            "cpu -keys=cpu -mcpu=native -opt=3 -threads=2 -winograd=auto");
  EXPECT_EQ(to_string(Target("ccompiler")), "ccompiler -keys=cpu");
  EXPECT_EQ(short_text(good("cutlass -sm=90 -use_3xtf32")), "cutlass -arch=sm_90a -sm=90");
}

TEST(Target, OptionsAreListedWithTheirDefaults) {
  const std::string text = options_text(*find_target_kind("cutlass"));
  for (const char* part : {"  -sm=80 ", "  -use_3xtf32=true ", "  -cluster_shapes=1,1,2,1,1,2 ",
                           "  seconds of measuring for each distinct"}) {
    expect_contains(text, part);
  }
}

// Those that an unknown one is told of.
TEST(Target, EveryOptionIsListed) {
  for (const TargetKind& kind : target_kinds()) {
    const std::string text = options_text(kind);
    std::string known = bad(kind.name + " -none=1");
    known.erase(0, known.find("candidates are "));
    expect_contains(known, "`model`");
    for (std::size_t begin; (begin = known.find('`')) != std::string::npos;) {
      const std::size_t end = known.find('`', begin + 1);
      expect_contains(text, "  -" + known.substr(begin + 1, end - begin - 1));
      known.erase(0, end + 1);
    }
  }
}

TEST(Target, Json) {
  const Target target = good(
      R"({"kind": "cutlass", "sm": 90, "use_3xtf32": false, "split_k_slices": [1, 2],
          "keys": ["x"], "host": {"kind": "cpu", "opt": 0}})");
  EXPECT_EQ(target.get_int("sm"), 90);
  EXPECT_EQ(target.keys(), (Strings{"x", "cuda", "gpu"}));
  EXPECT_EQ(target.host()->get_int("opt"), 0);
  EXPECT_EQ(good(R"({"kind":"cuda","host":"llvm -opt=1"})").host()->get_int("opt"), 1);
}

TEST(TargetErrors, Text) {
  expect_contains(bad("gpu9 -x=1"), "target `gpu9 -x=1`: target kind `gpu9` is not defined");
  expect_contains(bad("gpu9"), "help: use one of `cpu`, `cuda`, `onednn`");
  expect_contains(bad("blas -k=1"), "cannot recognize option `k`; candidates are `keys`,");
  expect_contains(bad("cutlass -smm=1"),
                  "candidates are `arch`, `sm`, `ptx`, `multiprocessors`, `use_3xtf32`,");
  expect_contains(bad("cpu -=5"), "empty option key or value in `-=5`");
  expect_contains(bad("cpu -mcpu="), "empty option key or value in `-mcpu=`");
  expect_contains(bad("cpu -opt=many"), "option `opt` must be an integer, not `many`");
  expect_contains(bad("cpu -opt=99999999999999999999"), "must be an integer");
  expect_contains(bad("cuda -ptx=2"), "option `ptx` must be a boolean");
  expect_contains(bad("cutlass -split_k_slices=1,,2"), "must be a list of integers");
  expect_contains(bad("cutlass -split_k_slices=2,0"), "must be numbers from 1 on");
  expect_contains(bad("cpu -threads=-5"), "option `threads` must be 0 to 10000");
  for (const char* option : {"multiprocessors", "threads"}) {
    expect_contains(bad(fmt::format("cutlass -{}=4294967296", option)), "10000");
  }
  expect_contains(bad(R"({"kind":"cpu","opt":-1})"), "option `opt` must be 0, 1, 2 or 3");
  for (const char* arch : {"sm_12", "sm_", "sm_9x", "compute_90", "sm_90a2", "sm_90A", "90"}) {
    expect_contains(bad(fmt::format("cuda -arch={}", arch)), "option `arch` must be an");
  }
  for (const char* target : {"cuda -arch=sm_70", "cuda -arch=sm_72", "cutlass -arch=sm_50"}) {
    expect_contains(bad(target), "option `arch` must be an architecture from sm_75 on");
  }
  for (const char* arch : {"sm_75", "sm_80", "sm_90a", "sm_103f", "sm_120"}) {
    EXPECT_EQ(good(fmt::format("cuda -arch={}", arch)).get_string("arch"), arch);
  }
  for (const char* sm : {"74", "1000", "90922335808"}) {
    expect_contains(bad(fmt::format("cutlass -sm={}", sm)), "option `sm` must be 75 to 999");
  }
  EXPECT_EQ(good("cutlass -arch=auto").get_string("arch"), "auto");
  for (const char* text : {"cutlass", "cutlass -sm=80", "cutlass -sm=90 -arch=auto"}) {
    const Target target = good(text);
    EXPECT_EQ(good(to_string(target)), target) << text;
    EXPECT_EQ(good(to_json(target)), target) << text;
  }
  expect_contains(bad("cutlass -sm=9"), "option `sm` must be 75 to 999");
  expect_contains(bad("cutlass -sm=70"), "option `sm` must be 75 to 999");
  expect_contains(bad("cutlass -sm=90 -arch=sm_80"),
                  "`-sm=90` and `-arch=sm_80` contradict each other; omit one of them");
  expect_contains(bad(R"({"kind":"cutlass","arch":"sm_90a","sm":86})"), "contradict each other");
  EXPECT_EQ(good("cutlass -sm=90 -arch=sm_90").get_string("arch"), "sm_90");
  expect_contains(bad("cutlass -cluster_shapes=1,2,1"), "option `cluster_shapes` must be pairs");
  expect_contains(bad("cutlass -cluster_shapes=1,0"), "option `cluster_shapes` must be pairs");
  expect_contains(bad("cutlass -cluster_shapes=1,1,8,8"),
                  "pairs of numbers from 1 on, of at most 8");
  expect_contains(bad("cutlass -cluster_shapes=2,9223372036854775807"), "of at most 8 blocks each");
  EXPECT_EQ(good("cutlass -cluster_shapes=2,4").get_ints("cluster_shapes").size(), 2U);
  for (const char* width : {"0", "3", "16", "4294967296"}) {
    expect_contains(bad(std::string("cutlass -swizzle=") + width),
                    "option `swizzle` must be 1, 2, 4 or 8");
  }
  expect_contains(bad("cutlass -raster=x"), "option `raster` must be `m`, `n` or `auto`");
  expect_contains(bad("cutlass -accumulator=int8"), "must be `float32` or `float16`");
  expect_contains(bad("cutlass -profile_budget=-1"), "must be 0 or more");
  expect_contains(bad("cpu -opt=1 -opt=2"), "option `opt` is given twice");
  expect_contains(bad("cpu -features=1"), "`features` is derived");
  expect_contains(bad("cpu opt=1"), "`opt=1` is not an option; options begin with `-`");
  expect_contains(bad("cpu -mcpu='x"), "a quote or escape has no end");
  expect_contains(bad("cpu -mcpu=x\\"), "a quote or escape has no end");
  expect_contains(bad("cpu -mcpu=\x80"), "is not UTF-8 text");
  expect_contains(bad(R"({"kind":"cpu","keys":["a",""]})"), R"(["keys"][1]: the option must be)");
  expect_contains(bad("  "), "the target is empty");
  expect_contains(bad("cuda -host=cuda"), "the host must be a cpu, not `cuda`");
  expect_contains(bad("cuda -host='cpu -host=cpu'"), "a host has no host of its own");
  expect_contains(bad("cuda -host='nothing'"), "target kind `nothing` is not defined");
}

TEST(TargetErrors, AllOfOneTargetAreReported) {
  const auto target = parse_target("cpu -opt=x -nope=1 -threads=y");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().list.size(), 3u);
}

TEST(TargetErrors, Json) {
  expect_contains(bad("{"), "is not valid JSON");
  expect_contains(bad("{\"sm\": 1}"), "`kind` is missing");
  expect_contains(bad(R"({"tag": "nvidia/h200"})"), "no target has this `tag`");
  expect_contains(bad(R"({"kind": "zzz"})"), "target kind `zzz` is not defined");
  expect_contains(bad(R"({"kind": "cutlass", "sm": "90"})"),
                  "[\"sm\"]: the option must be an integer, not string");
  expect_contains(bad(R"({"kind": "cutlass", "split_k_slices": [1, "x"]})"),
                  "[\"split_k_slices\"][1]: the option must be a list of integers");
  expect_contains(bad(R"({"kind": "cpu", "keys": "a"})"), "[\"keys\"]: the option must be a list");
  expect_contains(bad(R"({"kind": "cpu", "opt": 18446744073709551615})"), "must be an integer");
  expect_contains(bad(R"({"kind": "cuda", "host": 5})"), "a target is a string or a JSON object");
  expect_contains(bad(R"({"kind": "cuda", "features": {}})"), "`features` is derived");
  std::string deep = R"({"kind": "cpu", "opt": )" + std::string(200000, '[');
  deep += std::string(200000, ']') + "}";
  expect_contains(bad(deep), "the option must be an integer, not array");
}

TEST(TargetLists, StringsObjectsArraysAndDeviceMaps) {
  const Strings texts = {"cpu", R"([ "cuda", {"kind": "cutlass"} ])", R"({"gpu": "cublas"})",
                         R"({"kind": "cudnn"})"};
  const auto targets = parse_targets(texts);
  ASSERT_TRUE(targets);
  Strings names;
  for (const auto& target : *targets) names.push_back(target.name());
  EXPECT_EQ(names, (Strings{"cpu", "cuda", "cutlass", "cublas", "cudnn"}));
  EXPECT_FALSE(parse_targets(Strings{}));
  EXPECT_FALSE(parse_targets(Strings{"[]"}));
  const auto without_kind = parse_targets(Strings{R"({"sm": 80})"});
  ASSERT_FALSE(without_kind);
  expect_contains(render(without_kind.error()), "`kind` is missing");
  const auto wrong = parse_targets(Strings{"x1", "cpu", "[3]", "[\"x2\"]"}, "x3");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().list.size(), 4u);
}

TEST(TargetLists, AHostGoesToAllIfTheFirstHasNone) {
  const auto hosted = parse_targets(Strings{"cuda", "cutlass"}, "cpu -opt=1");
  ASSERT_TRUE(hosted);
  EXPECT_EQ((*hosted)[1].host()->get_int("opt"), 1);
  const auto kept = parse_targets(Strings{"cuda -host='cpu -opt=2'", "cutlass"}, "cpu -opt=1");
  EXPECT_EQ((*kept)[0].host()->get_int("opt"), 2);
  EXPECT_EQ((*kept)[1].host(), nullptr);
}

Result<CompilationTargets> resolve(const Strings& texts,
                                   std::optional<DeviceType> fallback = std::nullopt) {
  return resolve_targets(*parse_targets(texts), fallback);
}

std::string resolve_problem(const Strings& texts,
                            std::optional<DeviceType> fallback = std::nullopt) {
  const auto resolved = resolve(texts, fallback);
  return resolved ? "accepted" : render(resolved.error());
}

TEST(TargetConfiguration, HostRules) {
  EXPECT_EQ(resolve({"cuda", "cutlass -host='cpu -opt=1'", "cpu"})->host.get_int("opt"), 1);
  EXPECT_EQ(resolve({"cuda", "cpu -opt=2"}, DeviceType::kCuda)->host.get_int("opt"), 2);
  EXPECT_EQ(resolve({"cuda"})->host, Target("cpu"));
  const auto resolved = resolve({"cpu -opt=2 -host='cpu -opt=1'", "cuda -host='cpu -opt=0'"});
  for (const auto& target : resolved->primitive) EXPECT_EQ(target.host()->get_int("opt"), 1);
  EXPECT_EQ(resolved->host.host(), nullptr);
}

TEST(TargetConfiguration, DefaultDevice) {
  EXPECT_EQ(resolve({"cuda", "cutlass"})->default_device, DeviceType::kCuda);
  EXPECT_EQ(resolve({"cuda", "cpu"})->default_device, DeviceType::kCpu);
  EXPECT_EQ(resolve({"cuda", "cpu"}, DeviceType::kCuda)->default_device, DeviceType::kCuda);
  expect_contains(resolve_problem({"cuda"}, DeviceType::kCpu),
                  "no target is specified for the device cpu");
}

TEST(TargetConfiguration, Lookups) {
  const auto resolved = resolve({"cpu", "cuda", "cutlass -sm=90", "onednn"});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->find_device(DeviceType::kCuda)->name(), "cuda");
  EXPECT_EQ(resolved->homogeneous(), nullptr);
  EXPECT_EQ(resolve({"cutlass"})->homogeneous()->name(), "cutlass");
}

TEST(TargetConfiguration, CodeGeneratorsFollowTheirMachine) {
  const auto arch_of = [](std::vector<std::string> texts) {
    const auto targets = parse_targets(texts);
    return targets->back().get_string("arch") + (targets->back().get_bool("ptx") ? "+ptx" : "");
  };
  EXPECT_EQ(arch_of({"cuda -arch=sm_80 -ptx", "cutlass"}), "sm_80+ptx");
  EXPECT_EQ(arch_of({"cuda -arch=sm_80", "cutlass -arch=sm_86"}), "sm_86");
  EXPECT_EQ(arch_of({"cuda", "cutlass -sm=89"}), "sm_89");
  EXPECT_EQ(arch_of({"cuda", "cutlass -sm=90"}), "sm_90a");
  EXPECT_EQ(arch_of({"cuda", "cutlass"}), "auto");
  const auto machine = parse_targets(Strings{"cpu", "cuda -arch=sm_80"});
  EXPECT_EQ(follow_machine(Target("cutlass"), *machine).get_string("arch"), "sm_80");
}

// As relay.build takes its list: options of a back end, and nothing of the machine.
TEST(TargetConfiguration, AMachineThatNobodyDescribesFollowsCodeGenerators) {
  const auto machine_of = [](std::vector<std::string> texts) {
    return short_text(parse_targets(texts)->front());
  };
  EXPECT_EQ(machine_of({"cuda", "cutlass -sm=80"}), "cuda -arch=sm_80");
  EXPECT_EQ(machine_of({"cuda -ptx", "cublas", "cutlass -arch=sm_86"}),
            "cuda -arch=sm_86 -ptx=true");
  EXPECT_EQ(machine_of({"cuda", "cutlass -arch=auto"}), "cuda");
  EXPECT_EQ(machine_of({"cuda -arch=sm_90a", "cutlass -sm=80"}), "cuda") << "it is refused later";
  EXPECT_EQ(resolve_problem({"cuda", "cutlass -sm=80"}), "accepted");
  EXPECT_EQ(resolve_problem({"cuda -ptx", "cutlass -sm=80", "cublas"}), "accepted");
}

// What the machine's code promises, code beside it must keep.
TEST(TargetConfiguration, LaterDevicesAreForAllOrNone) {
  expect_contains(
      resolve_problem({"cuda -arch=sm_90 -ptx", "cutlass -arch=sm_90a"}),
      "target `cuda -ptx` is for later devices too, which code of `cutlass -arch=sm_90a` does");
  expect_contains(resolve_problem({"cuda -arch=sm_90 -ptx", "cutlass -sm=90"}),
                  "help: give both -arch=sm_90, or omit -ptx");
  EXPECT_EQ(resolve_problem({"cuda -arch=sm_90 -ptx", "cutlass -arch=sm_90"}), "accepted");
  EXPECT_EQ(resolve_problem({"cuda -arch=sm_90 -ptx", "cutlass"}), "accepted");
  EXPECT_EQ(resolve_problem({"cuda -arch=sm_90", "cutlass -arch=sm_90a"}), "accepted");
  EXPECT_EQ(resolve_problem({"cuda -ptx", "cutlass"}), "accepted");
}

TEST(TargetConfiguration, ListRules) {
  expect_contains(resolve_problem({"cpu", "cuda", "cpu -opt=1"}),
                  "target kind `cpu` is given more than once");
  expect_contains(resolve_problem({"cutlass", "cuda"}), "`cuda` cannot follow `cutlass`");
  expect_contains(resolve_problem({"cutlass", "cublas"}), "help: put `cuda` first");
  EXPECT_EQ(resolve_problem({"cutlass"}), "accepted");
  expect_contains(resolve_problem({"cuda -arch=sm_80", "cutlass -arch=sm_90a"}),
                  "are for different architectures: sm_80 and sm_90a");
  expect_contains(resolve_problem({"cuda -arch=sm_90a", "cutlass -sm=80"}),
                  "are for different architectures: sm_90a and sm_80");
  EXPECT_EQ(resolve_problem({"cuda -arch=sm_80", "cutlass -sm=80"}), "accepted");
  EXPECT_EQ(resolve_problem({"cuda -arch=sm_86", "cutlass -arch=sm_86"}), "accepted");
  EXPECT_EQ(resolve_problem({"cuda", "cutlass -arch=sm_90"}), "accepted");
  const auto empty = resolve_targets({});
  ASSERT_FALSE(empty);
  expect_contains(render(empty.error()), "at least one target is needed");
}

}  // namespace
}  // namespace tessera
