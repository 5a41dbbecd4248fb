// SPDX-License-Identifier: Apache-2.0
// A cache of objects that cannot be written, has no room or is damaged: compilations take longer,
// and are as good.
#include <algorithm>

#include <fmt/format.h>

#include "bad_input.h"
#include "support/hash.h"

namespace tessera::e2e {
namespace {

TEST_F(BadInput, ACacheThatCannotBeWritten) {
  const std::string file = command_.write("file", "x");
  for (const std::string& folder : {file, std::string("/proc/x")}) {
    command_.set("TESSERA_CACHE_DIR", folder);
    const ProcessResult result = compile(model("sound"));
    EXPECT_TRUE(result.ok()) << result.err;
    const std::string said =
        "warning[E0103]: compiled objects cannot be kept in `" + folder + "`: ";
    EXPECT_TRUE(result.err.starts_with(said)) << result.err;
    EXPECT_EQ(result.err.find("warning", 1), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("help: make room, or name a folder"), std::string::npos);
    const ProcessResult interpreted = command_.run({"run", model("sound")});
    EXPECT_TRUE(interpreted.ok() && interpreted.err.starts_with(said)) << interpreted.err;
  }
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// What follows an object's bytes in the file of its key.
std::string checksum_of(const fs::path& file, const std::string& object) {
  const std::string key = file.parent_path().filename().string() + file.stem().string();
  return hash_text(key + hash_text(object).hex()).hex();
}

// How many entries a cache has. Each is whole: its checksum follows it.
std::size_t entries_of(const std::string& cache) {
  std::size_t entries = 0;
  for (const auto& file : fs::recursive_directory_iterator(cache)) {
    if (!file.is_regular_file()) continue;
    ++entries;
    EXPECT_EQ(file.path().extension(), ".o") << file.path();
    const std::string text = *read_file(file.path());
    const std::size_t end = text.size() - std::min(text.size(), hash_text("").hex().size());
    EXPECT_EQ(text.substr(end), checksum_of(file.path(), text.substr(0, end))) << file.path();
  }
  return entries;
}

// What a disk has no room for is not kept, which is said once, and nothing else is the worse for
// it.
TEST_F(BadInput, DiskFullInTheCache) {
  const std::string cache = command_.file("cache");
  fs::create_directories(cache);
  command_.set("TESSERA_CACHE_DIR", cache);
  // This model has an object of one page and one of two.
  const std::string compile = fmt::format("'{}/bin/tessera' compile '{}' --jobs 1 -o out/m",
                                          TESSERA_BUILD_DIR, model("large_weight"));
  for (const int kilobytes : {4, 8}) {
    SCOPED_TRACE(kilobytes);
    const std::string kept = command_.file(fmt::format("kept{}", kilobytes));
    const auto ran = command_.run_with_mount(
        fmt::format("mount -t tmpfs -o size={}k,mode=700 none '{}'", kilobytes, cache),
        fmt::format("{0}.so && cp out/m.so out/first.so && {0}.so && cp -r '{1}' '{2}'", compile,
                    cache, kept));
    if (!ran) GTEST_SKIP() << "no disk can be mounted here";
    ASSERT_TRUE(ran->ok()) << ran->outcome() << ran->err;
    EXPECT_EQ(count_of(ran->err, "warning[E0103]: compiled objects cannot be kept in `" + cache +
                                     "`: No space left on device\nhelp: make room, or name"),
              2u)
        << ran->err;
    EXPECT_EQ(count_of(ran->err, "warning"), 2u) << ran->err;
    EXPECT_EQ(count_of(ran->err, "error"), 0u) << ran->err;
    EXPECT_EQ(entries_of(kept), 1u);
    EXPECT_EQ(names_in(command_.file("tmp")), std::vector<std::string>{});
    EXPECT_EQ(names_in(command_.file("out")), (std::vector<std::string>{"first.so", "m.so"}));
    EXPECT_TRUE(*read_file(command_.file("out/first.so")) == *read_file(command_.file("out/m.so")));
    EXPECT_TRUE(command_.run({"run", "out/m.so"}).ok());
  }
}

TEST_F(BadInput, ACacheThatOthersMayWriteTo) {
  const std::string objects = command_.file("cache/objects");
  command_.set("TESSERA_CACHE_DIR", command_.file("cache"));
  ASSERT_TRUE(compile(model("sound")).ok());
  fs::permissions(objects, fs::perms::group_write, fs::perm_options::add);
  const ProcessResult result = compile(model("sound"));
  EXPECT_TRUE(result.ok()) << result.err;
  EXPECT_TRUE(result.err.starts_with("warning[E0108]: compiled objects are not kept in `" +
                                     objects + "`: users other than its owner may write to it"))
      << result.err;
}

TEST_F(BadInput, DamagedCacheEntriesAreMadeAgain) {
  command_.set("TESSERA_CACHE_DIR", command_.file("cache"));
  ASSERT_TRUE(compile(model("sound")).ok());
  const auto before = read_file(command_.file("out/m.so"));
  int damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(command_.file("cache"))) {
    if (!entry.is_regular_file()) continue;
    fs::resize_file(entry, entry.file_size() / 2);
    ++damaged;
  }
  EXPECT_GT(damaged, 0);
  const ProcessResult again = compile(model("sound"));
  EXPECT_TRUE(again.ok()) << again.err;
  EXPECT_TRUE(*before == *read_file(command_.file("out/m.so")));
}

}  // namespace
}  // namespace tessera::e2e
