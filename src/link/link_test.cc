// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <set>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "link/archive_symbols.h"
#include "link/compiler.h"
#include "link/library_file.h"
#include "link/link_library.h"
#include "link/load_library.h"
#include "runtime/program.h"
#include "support/files.h"
#include "support/private_folder.h"
#include "support/subprocess.h"

namespace tessera::link {
namespace {

namespace fs = std::filesystem;

// Sets a variable of the environment, and restores it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::string text_of(const Diagnostics& problems) { return render(problems); }

class LinkTest : public ::testing::Test {
 protected:
  LinkTest() : folder_(*TempDir::make("tessera-link-test")) {}

  Toolchain toolchain(const std::string& cache = {}) {
    auto found = Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = cache, .jobs = 2});
    EXPECT_TRUE(found) << text_of(found.error());
    return *std::move(found);
  }

  static CompileJob scale_job() {
    const std::string file = TESSERA_SOURCE_DIR "/src/link/testdata/scale_model.cc";
    return {"scale", Source::trusted(*read_file(file)), "cc", {"-O2"}};
  }

  // The model of testdata/, with a second constant of `bytes` bytes of which the last is 42.
  LinkInput scale_input(Toolchain& tools, std::uint64_t bytes) {
    LinkInput input;
    const CompileJob job = scale_job();
    auto objects = tools.compile({&job, 1});
    EXPECT_TRUE(objects) << text_of(objects.error());
    input.objects = *std::move(objects);
    const float w[] = {1, 2, 3, 4};
    std::vector<std::byte> table(bytes);
    table.back() = std::byte{42};
    input.weights = {{0, Blob::copy_of(std::as_bytes(std::span(w)))}, {64, Blob::adopt(table)}};
    input.weights_bytes = 64 + bytes;
    return input;
  }

  std::string path(const char* name) const { return folder_.file(name); }

  TempDir folder_;
};

// The function `name` of a loaded library, of the type that model.h declares.
template <class Function>
Function* find(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}
#define TESSERA_FIND(name) find<decltype(name)>(handle, #name)

// Loads the library at `path` and runs it once.
void expect_scale_runs(const std::string& path, std::int64_t bytes) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto last_error = TESSERA_FIND(tessera_last_error);
  tessera_model* model = nullptr;
  tessera_instance* instance = nullptr;
  ASSERT_EQ(TESSERA_FIND(tessera_model_create)(nullptr, &model), 0) << last_error();
  ASSERT_EQ(TESSERA_FIND(tessera_instance_create)(model, nullptr, &instance), 0) << last_error();
  float x[] = {10, 20, 30, 40};
  std::int64_t x_shape[] = {4}, n_shape[] = {bytes};
  std::vector<std::uint8_t> n(1);
  tessera_tensor in[] = {
      {x, {TESSERA_CPU, 0}, 1, {TESSERA_FLOAT, 32, 1}, x_shape, nullptr, 0},
      {n.data(), {TESSERA_CPU, 0}, 1, {TESSERA_UINT, 8, 1}, n_shape, nullptr, 0}};
  tessera_tensor out[2] = {};
  ASSERT_EQ(TESSERA_FIND(tessera_instance_run)(instance, in, 2, out, 2), 0) << last_error();
  EXPECT_EQ(static_cast<float*>(out[0].data)[3], 160);
  EXPECT_EQ(*static_cast<std::int64_t*>(out[1].data), 42);
  TESSERA_FIND(tessera_instance_destroy)(instance);
  TESSERA_FIND(tessera_model_destroy)(model);
}

TEST_F(LinkTest, LibraryRunsWithItsWeights) {
  Toolchain tools = toolchain();
  for (const std::uint64_t bytes : {1ull, 100'000ull, 20'000'000ull}) {
    const std::string library = path(fmt::format("scale_{}.so", bytes).c_str());
    const auto linked = link_library(tools, scale_input(tools, bytes), library);
    ASSERT_TRUE(linked) << text_of(linked.error());
    expect_scale_runs(library, static_cast<std::int64_t>(bytes));
    const auto file = read_library_file(library);
    ASSERT_TRUE(file) << text_of(file.error());
    EXPECT_EQ(file->weights_bytes, 64 + bytes);
    EXPECT_EQ(file->metadata, "{\"model\": \"scale\"}");
  }
}

// Many libraries, one file with weights; without it a library is no use, and says so.
TEST_F(LinkTest, LibrariesShareAFileOfWeights) {
  Toolchain tools = toolchain();
  for (const std::uint64_t bytes : {1ull, 4096ull - 64, 5'000'000ull}) {
    LinkInput input = scale_input(tools, bytes);
    std::string content;
    for (const WeightPiece& piece : input.weights) {
      content.resize(piece.offset);
      content.append(reinterpret_cast<const char*>(piece.blob->bytes().data()),
                     piece.blob->size_bytes());
    }
    const std::string file = path(fmt::format("weights_{}", bytes).c_str());
    ASSERT_TRUE(write_atomically(file, content));
    input.shared_weights = {file, input.weights_bytes};
    input.weights.clear();
    input.weights_bytes = 0;
    for (const char* name : {"one", "two"}) {
      const std::string library = path(fmt::format("{}_{}.so", name, bytes).c_str());
      const auto linked = link_library(tools, input, library);
      ASSERT_TRUE(linked) << text_of(linked.error());
      EXPECT_LT(std::filesystem::file_size(library), 2'000'000u);
      expect_scale_runs(library, static_cast<std::int64_t>(bytes));
    }
    std::filesystem::remove(file);
    const std::string late = path(fmt::format("late_{}.so", bytes).c_str());
    ASSERT_TRUE(link_library(tools, input, late));
    EXPECT_DEATH(dlopen(late.c_str(), RTLD_NOW | RTLD_LOCAL), "cannot map the weights in ");
  }
}

TEST_F(LinkTest, NeedsAndExportsWhatItMay) {
  Toolchain tools = toolchain();
  ASSERT_TRUE(link_library(tools, scale_input(tools, 5), path("m.so")));
  const auto file = read_library_file(path("m.so"));
  ASSERT_TRUE(file);
  for (const std::string& needed : file->needed) {
    EXPECT_TRUE(needed == "libc.so.6" || needed == "libm.so.6" || needed.starts_with("ld-linux") ||
                needed == "libpthread.so.0" || needed == "libdl.so.2")
        << needed;
  }
  for (const std::string& symbol : file->exported)
    EXPECT_TRUE(symbol.starts_with("tessera_")) << symbol;
  EXPECT_TRUE(
      std::binary_search(file->exported.begin(), file->exported.end(), "tessera_model_create"));
  EXPECT_FALSE(
      std::binary_search(file->exported.begin(), file->exported.end(), "tessera_parallel_for"));
}

TEST_F(LinkTest, EqualInputGivesEqualBytes) {
  Toolchain tools = toolchain();
  std::filesystem::create_directory(path("b"));
  ASSERT_TRUE(link_library(tools, scale_input(tools, 1000), path("a.so")));
  ASSERT_TRUE(link_library(tools, scale_input(tools, 1000), path("b/a.so")));
  EXPECT_TRUE(*read_file(path("a.so")) == *read_file(path("b/a.so")));
}

// Where the machine has vendor libraries changes neither the rest nor the build id; the name of the
// file is the library's.
TEST_F(LinkTest, WhatIsOfThisMachineAlone) {
  Toolchain tools = toolchain();
  LinkInput input = scale_input(tools, 5);
  ASSERT_TRUE(link_library(tools, input, path("m.so")));
  input.vendor_folders = {"/opt/one", "/opt/two,three"};
  ASSERT_TRUE(link_library(tools, input, path("a, b.so")));
  const auto dump = [&](const char* what, const char* file) {
    const auto ran = run_process({"readelf", what, path(file)}, {});
    EXPECT_TRUE(ran && ran->ok());
    return ran ? ran->out : "";
  };
  const auto build_id = [&](const char* file) {
    const std::string notes = dump("-n", file);
    const std::size_t begin = notes.find("Build ID: ");
    EXPECT_NE(begin, std::string::npos) << notes;
    return notes.substr(begin, notes.find('\n', begin) - begin);
  };
  EXPECT_EQ(build_id("a, b.so"), build_id("m.so"));
  EXPECT_NE(dump("-d", "a, b.so").find("Library soname: [a, b.so]"), std::string::npos);
  const std::string bytes = *read_file(path("a, b.so"));
  EXPECT_NE(bytes.find(std::string("/opt/one\0/opt/two,three\0\0", 25)), std::string::npos);
  EXPECT_EQ(dump("-S", "m.so").find(".tessera.folders"), std::string::npos);
}

TEST_F(LinkTest, LoadsFromMemory) {
  Toolchain tools = toolchain();
  LinkInput input = scale_input(tools, 5);
  const auto image = link_image(tools, input);
  ASSERT_TRUE(image) << text_of(image.error());
  const auto library = LoadedLibrary::load(*image);
  ASSERT_TRUE(library) << text_of(library.error());
  const auto* program =
      static_cast<const tessera_program*>((*library)->symbol("tessera_model_program"));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->input_count, 2);
  EXPECT_FALSE(LoadedLibrary::load("no library"));
}

TEST_F(LinkTest, NothingIsLeftWhereTheOutputCannotBeWritten) {
  Toolchain tools = toolchain();
  const LinkInput input = scale_input(tools, 5);
  const auto missing = link_library(tools, input, path("absent/m.so"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().list[0].code, Code::kFileNotWritable);
  EXPECT_FALSE(check_output(path("absent/m.so")));
  const auto full = link_library(tools, input, "/dev/full");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().list[0].code, Code::kFileNotWritable);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_TRUE(check_output(path("m.so")));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(LinkTest, AnUndefinedFunctionIsNamed) {
  Toolchain tools = toolchain();
  LinkInput input = scale_input(tools, 5);
  const CompileJob job{"bad",
                       Literal("extern \"C\" int absent_kernel(); "
                               "extern \"C\" __attribute__((visibility(\"default\"))) "
                               "int tessera_x() { return absent_kernel(); }"),
                       "cc",
                       {}};
  input.objects.push_back(tools.compile({&job, 1})->front());
  const auto linked = link_library(tools, input, path("m.so"));
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().list[0].code, Code::kToolFailed);
  EXPECT_NE(linked.error().list[0].message.find("absent_kernel"), std::string::npos)
      << linked.error().list[0].message;
  fs::remove_all(linked.error().list[0].remedy.substr(
      linked.error().list[0].remedy.find('/'),
      linked.error().list[0].remedy.rfind('`') - linked.error().list[0].remedy.find('/')));
}

TEST_F(LinkTest, ACompileErrorNamesTheLine) {
  Toolchain tools = toolchain();
  const ScopedVariable tmp("TMPDIR", folder_.path().c_str());
  const CompileJob jobs[] = {{"good", Literal("int f() { return 1; }"), "cc", {}},
                             {"bad", Literal("int g() { return x; }"), "cc", {}}};
  const auto objects = tools.compile(jobs);
  ASSERT_FALSE(objects);
  ASSERT_EQ(objects.error().list.size(), 1u);
  EXPECT_NE(objects.error().list[0].message.find("bad.cc:1:"), std::string::npos)
      << objects.error().list[0].message;
}

TEST_F(LinkTest, CachedObjectsNeedNoCompiler) {
  Toolchain tools = toolchain(path("cache"));
  const CompileJob job = scale_job();
  const auto compiled = tools.compile({&job, 1});
  ASSERT_TRUE(compiled);
  const ScopedVariable no_folder("TMPDIR", "/nowhere");
  const auto cached = tools.compile({&job, 1});
  ASSERT_TRUE(cached) << text_of(cached.error());
  EXPECT_EQ(*compiled, *cached);
  CompileJob other = job;
  other.flags = {"-O1"};
  EXPECT_FALSE(tools.compile({&other, 1}));  // has to compile, and cannot
}

TEST_F(LinkTest, SourcesStayWhereTheirJobSays) {
  CompileJob job = scale_job();
  job.kept_in = path("a/b");
  ASSERT_TRUE(toolchain().compile({&job, 1}));
  EXPECT_EQ(*read_file(path("a/b/scale.cc")), job.source.text());
  job.kept_in = path("a/b/scale.cc");
  const auto refused = toolchain().compile({&job, 1});
  ASSERT_FALSE(refused);
  EXPECT_NE(text_of(refused.error()).find("choose another folder"), std::string::npos);
}

// The compiler notes when it begins and ends.
TEST_F(LinkTest, CompilersAtOnceAreLimitedByTheJobs) {
  const std::string script = fmt::format(
      "#!/bin/sh\ncase \"$*\" in *-c*) echo begin >> '{0}'; sleep 0.2; echo end >> '{0}';; esac\n"
      "exec c++ \"$@\"\n",
      path("log"));
  ASSERT_TRUE(write_atomically(path("c++"), script));
  std::filesystem::permissions(path("c++"), std::filesystem::perms::owner_all);
  const ScopedVariable cxx("CXX", path("c++").c_str());
  std::vector<CompileJob> jobs(2, scale_job());
  jobs[1].at_once = 1;
  ASSERT_TRUE(toolchain().compile(jobs));
  EXPECT_EQ(*read_file(path("log")), "begin\nend\nbegin\nend\n");
}

// Other flags of the user make other objects; a launcher changes nothing.
TEST_F(LinkTest, FlagsInCxxBelongToTheCompilersIdentity) {
  const auto identity = [](const char* cxx) {
    const ScopedVariable set("CXX", cxx);
    return find_compiler()->identity;
  };
  EXPECT_NE(identity("c++ -fwrapv -g"), identity("c++ -ftrapv -g"));
  EXPECT_NE(identity("c++"), identity("c++ -g"));
  EXPECT_EQ(identity("env c++ -g"), identity("c++ -g"));
}

// An object depends on the headers that its source may include.
TEST_F(LinkTest, AChangedHeaderChangesTheKeyOfObjects) {
  fs::create_directories(path("root/include/tessera"));
  fs::create_directories(path("root/lib/tessera/include/runtime"));
  const auto missing = SupportFiles::find(path("root"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().list[0].message.find("model.h"), std::string::npos);
  ASSERT_TRUE(write_atomically(path("root/include/tessera/model.h"), "1"));
  ASSERT_TRUE(write_atomically(path("root/include/tessera/kernels.h"), "2"));
  ASSERT_TRUE(write_atomically(path("root/lib/tessera/include/runtime/program.h"), "3"));
  const auto before = SupportFiles::find(path("root"));
  ASSERT_TRUE(write_atomically(path("root/include/tessera/kernels.h"), "4"));
  const auto after = SupportFiles::find(path("root"));
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->headers_hash(), after->headers_hash());
}

TEST_F(LinkTest, EachSourceFailsForItself) {
  std::size_t compiled = 0;
  auto found = Toolchain::find({.root = TESSERA_BUILD_DIR,
                                .cache_folder = "",
                                .jobs = 2,
                                .progress = [&](std::size_t, std::size_t) { ++compiled; }});
  ASSERT_TRUE(found);
  const CompileJob jobs[] = {{"good", Literal("int good() { return 1; }"), "cc", {}},
                             {"bad", Literal("int bad() { return unheard_of; }"), "cc", {}},
                             {"fine", Literal("int fine() { return 2; }"), "cc", {}}};
  const auto results = found->compile_each(jobs);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0] && results[2]);
  ASSERT_FALSE(results[1]);
  EXPECT_NE(results[1].error().list.at(0).message.find("unheard_of"), std::string::npos);
  EXPECT_EQ(compiled, 3u);
}

TEST_F(LinkTest, DamagedCacheEntriesAreCompiledAgain) {
  Toolchain tools = toolchain(path("cache"));
  const CompileJob job = scale_job();
  const auto compiled = tools.compile({&job, 1});
  ASSERT_TRUE(compiled);
  int entries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path("cache"))) {
    if (!entry.is_regular_file()) continue;
    ++entries;
    fs::resize_file(entry.path(), entry.file_size() - 100);
  }
  EXPECT_EQ(entries, 1);
  const auto again = tools.compile({&job, 1});
  ASSERT_TRUE(again);
  EXPECT_EQ(*compiled, *again);
}

// What is found under a key was stored under it, whoever copies files.
TEST_F(LinkTest, AnEntryInTheOtherOnesPlaceIsNotFound) {
  const ObjectCache cache(path("cache"));
  const Hash128 one = hash_text("one"), other = hash_text("other");
  cache.store(one, "object of one");
  cache.store(other, "object of other");
  const auto file = [&](const Hash128& key) {
    const std::string name = key.hex();
    return path("cache/objects/") + name.substr(0, 2) + "/" + name.substr(2) + ".o";
  };
  fs::copy_file(file(one), file(other), fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.find(one), "object of one");
  EXPECT_FALSE(cache.find(other));
}

TEST_F(LinkTest, ACacheThatOthersMayWriteToIsNotUsed) {
  const ObjectCache cache(path("cache"));
  const Hash128 key = hash_text("key");
  cache.store(key, "object");
  EXPECT_TRUE(cache.find(key));
  fs::permissions(path("cache/objects"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(cache.find(key));
  ASSERT_TRUE(cache.first_failure());
  EXPECT_EQ(cache.first_failure()->code, FolderProblem::kWritableByOthers);
}

TEST(ObjectCache, KeepsNothingWhereItCannotWrite) {
  const ObjectCache cache("/proc/no-such-folder");
  cache.store(hash_text("k"), "object");
  EXPECT_FALSE(cache.find(hash_text("k")));
}

TEST_F(LinkTest, WhyTheCacheKeepsNothingIsRemembered) {
  ASSERT_TRUE(write_atomically(path("file"), "x"));
  const ObjectCache cache(path("file"));
  EXPECT_FALSE(cache.first_failure());
  ObjectCache(cache).store(hash_text("k"), "object");  // copies remember together
  const auto failure = cache.first_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, std::errc::not_a_directory);
  EXPECT_FALSE(cache.find(hash_text("k")));
  const ObjectCache sound(path("cache"));
  sound.store(hash_text("k"), "object");
  EXPECT_FALSE(sound.first_failure());
}

TEST_F(LinkTest, WhatWasNotUsedForLongMakesRoomInTheCache) {
  const ObjectCache cache(path("cache"), std::uint64_t{256} * 2500);  // two objects a folder
  const std::string object(1000, 'o');
  // Keys of one folder: it is named by the first two digits.
  std::vector<Hash128> keys;
  for (int i = 0; keys.size() < 3; ++i) {
    const Hash128 key = hash_text(std::to_string(i));
    if (key.hex().starts_with("00")) keys.push_back(key);
  }
  const auto age = [&](const Hash128& key, int hours) {
    const std::string name = key.hex();
    const std::string file = path("cache/objects/00/") + name.substr(2) + ".o";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  cache.store(keys[0], object);
  cache.store(keys[1], object);
  age(keys[0], 3);
  age(keys[1], 2);
  EXPECT_TRUE(cache.find(keys[0]));  // and is the younger one from now on
  cache.store(keys[2], object);
  EXPECT_TRUE(cache.find(keys[0]));
  EXPECT_FALSE(cache.find(keys[1]));
  EXPECT_TRUE(cache.find(keys[2]));
  const ObjectCache unlimited(path("cache"), 0);
  unlimited.store(keys[1], object);
  for (const Hash128& key : keys) EXPECT_TRUE(unlimited.find(key));
}

TEST(ObjectCache, TheLimitIsANumberOfBytes) {
  const auto limit = [](const std::string& text) {
    const ScopedVariable set("TESSERA_CACHE_BYTES", text.c_str());
    return ObjectCache::default_limit_bytes();
  };
  EXPECT_EQ(limit("1000"), 1000u);
  EXPECT_EQ(limit("0"), 0u);
  EXPECT_EQ(limit(""), 5'000'000'000u);
  EXPECT_EQ(limit("some"), 5'000'000'000u);
}

TEST(ArchiveSymbols, AreReadFromTheIndex) {
  // Two words: a count of 2, and two offsets.
  const std::string index("\0\0\0\2\0\0\0\0\0\0\0\0one\0two\0", 20);
  const std::string archive =
      "!<arch>\n/               0           0     0     0       20        `\n" + index;
  EXPECT_EQ(archive_symbols(archive), (std::set<std::string>{"one", "two"}));
  EXPECT_EQ(archive_symbols(archive.substr(0, archive.size() - 1)), std::nullopt);
  EXPECT_EQ(archive_symbols("!<arch>\n"), std::nullopt);
  EXPECT_EQ(archive_symbols("an object"), std::nullopt);
}

TEST_F(LinkTest, ArchivesAreRepeatable) {
  Toolchain tools = toolchain();
  const CompileJob job{"f", Literal("extern \"C\" int f() { return 1; }"), "cc", {}};
  const auto objects = tools.compile({&job, 1});
  ASSERT_TRUE(objects);
  const auto a = tools.archive(*objects), b = tools.archive(*objects);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, *b);
  EXPECT_TRUE(a->starts_with("!<arch>"));
  EXPECT_EQ(archive_symbols(*a), std::set<std::string>{"f"});
}

// What it calls of the runtime is in it, and no model.
TEST_F(LinkTest, ASharedLibraryIsNoModel) {
  link::Toolchain tools = toolchain();
  const CompileJob jobs[] = {
      {"one",
       Source(
           "#include \"tessera/call.h\"\nextern \"C\" __attribute__((visibility(\"default\")))\n"
           "int32_t tessera_one(const tessera_call* c) { return tessera_call_failed(c, \"no\"); }"),
       "cc",
       {}}};
  const auto objects = tools.compile(jobs);
  ASSERT_TRUE(objects) << render(objects.error());
  const auto image = tools.shared_library(*objects);
  ASSERT_TRUE(image) << render(image.error());
  const auto library = LoadedLibrary::load(*image);
  ASSERT_TRUE(library) << render(library.error());
  EXPECT_NE((*library)->symbol("tessera_one"), nullptr);
  EXPECT_EQ((*library)->symbol("tessera_model_create"), nullptr);
}

TEST(Compiler, ThatASignalEndsBlamesTheMachine) {
  EXPECT_EQ(first_error("an error: of x\nKilled\n"), "Killed");
  for (const char* messages :
       {"warning: y\nKilled\n", "nvcc: Terminated\n", "\nCompilation terminated.\n", "Hangup\n",
        "sh: line 1: 4711 Killed                  cicc x.cu\n",
        "collect2: fatal error: ld terminated with signal 9 [Killed]\n",
        "nvcc error   : 'cicc' died due to signal 7 (Bus error)\n",
        "g++: fatal error: Killed signal terminated program cc1plus\n"}) {
    EXPECT_TRUE(blames_the_machine("`nvcc` could not compile `x.cu`: " + first_error(messages)))
        << messages;
  }
  for (const char* messages :
       {"x.cu:1: fatal error: y.h: No such file or directory\ncompilation terminated.\n",
        "x.cu(1): catastrophic error: #error killed\nCompilation terminated.\n",
        "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n",
        "g++: internal compiler error: Segmentation fault signal terminated program cc1plus\n"}) {
    const std::string error = first_error(messages);
    EXPECT_EQ(error, std::string(messages, error.size()));
    EXPECT_FALSE(blames_the_machine("`nvcc` could not compile `x.cu`: " + error)) << error;
  }
}

TEST(Compiler, ASignalIsSaidWhateverWasPrinted) {
  ProcessResult ran;
  ran.exit_status = 1;
  EXPECT_EQ(what_went_wrong(ran, "x.cc:1: warning: w\nx.cc:2: error: e\n"), "x.cc:2: error: e");
  EXPECT_EQ(what_went_wrong(ran, ""), "exit status 1");
  ran = {};
  ran.signal = SIGKILL;
  EXPECT_EQ(what_went_wrong(ran, "x.cc:1: warning: w\n"), "signal 9 (Killed)");
}

// Where they go with the folder, though a signal ends it.
TEST(Compiler, HasItsTemporaryFilesInItsFolder) {
  const auto folder = TempDir::make("tessera-link-test");
  const auto ran = run_process({"/bin/sh", "-c", "pwd; echo $TMPDIR"}, in_folder(folder->path()));
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->out, folder->path() + "\n" + folder->path() + "\n");
}

TEST(Compiler, AMissingOneIsAnErrorWithARemedy) {
  {
    const ScopedVariable cxx("CXX", "/no/such/c++");
    const auto found = find_compiler();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().list[0].message, "there is no program `/no/such/c++`, which CXX names");
  }
  const ScopedVariable cxx("CXX", "");
  const ScopedVariable path("PATH", "/nowhere");
  const auto found = find_compiler();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().list[0].code, Code::kNoCompiler);
  EXPECT_NE(found.error().list[0].remedy.find("install g++"), std::string::npos);
}

TEST(LibraryFile, RefusesWhatIsNone) {
  EXPECT_EQ(read_library_file("/no/such/file").error().list[0].code, Code::kFileNotFound);
  EXPECT_EQ(read_library_file(TESSERA_SOURCE_DIR "/LICENSE").error().list[0].code,
            Code::kBadLibrary);
  EXPECT_EQ(read_library_file("/proc/self/exe").error().list[0].code, Code::kBadLibrary);
}

}  // namespace
}  // namespace tessera::link
