// SPDX-License-Identifier: Apache-2.0
#include "tune/record_store.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/termination.h"

namespace tessera::tune {
namespace {

const RecordKey kKey = {"cutlass", "4.2.0", "sm_90a 132 NVIDIA H200", "nvcc 13.0",
                        "gemm m=128 n=4096 k=1024"};

Record record(std::string configuration, double time_us, std::string failure = {}) {
  return {kKey, std::move(configuration), time_us, 0.1, std::move(failure)};
}

class RecordStoreTest : public ::testing::Test {
 protected:
  RecordStoreTest() : folder_(*TempDir::make("tessera-records")) {}
  RecordStore open(const char* name = "r.db") const {
    auto store = RecordStore::open(folder_.file(name));
    if (!store) throw std::runtime_error(render(store.error()));
    return *std::move(store);
  }
  static std::vector<Record> find(const RecordStore& store, const RecordKey& key = kKey) {
    const auto found = store.find(key);
    EXPECT_TRUE(found) << render(found.error());
    return found->list;
  }
  void sql(const char* text, const char* name = "r.db") const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file(name).c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  TempDir folder_;
};

TEST_F(RecordStoreTest, TheFastestComesFirstAndFailuresLast) {
  RecordStore store = open();
  for (const Record& r : {record("b", 5), record("c", 0, "C7510"), record("a", 4)}) {
    ASSERT_TRUE(store.add(r));
  }
  EXPECT_EQ(find(store),
            (std::vector<Record>{record("a", 4), record("b", 5), record("c", 0, "C7510")}));
  for (std::string RecordKey::*part : {&RecordKey::backend, &RecordKey::version, &RecordKey::device,
                                       &RecordKey::toolchain, &RecordKey::workload}) {
    RecordKey other = kKey;
    other.*part += "x";
    EXPECT_TRUE(find(store, other).empty());
  }
}

TEST_F(RecordStoreTest, OfOneConfigurationTheFasterStays) {
  RecordStore store = open();
  for (const Record& r :
       {record("a", 5), record("a", 4), record("a", 6), record("a", 0, "hangs")}) {
    ASSERT_TRUE(store.add(r));
  }
  EXPECT_EQ(find(open()), std::vector<Record>{record("a", 4)});
  ASSERT_TRUE(store.add(record("b", 0, "once wrong")));
  ASSERT_TRUE(store.add(record("b", 3)));
  EXPECT_EQ(find(store).front(), record("b", 3));
}

// It was fast once, and wrong once: who measured first, and which file is merged into which, does
// not matter.
TEST_F(RecordStoreTest, WhatReplacesIsTheOneRecordHoweverSlow) {
  RecordStore store = open();
  ASSERT_TRUE(store.add(record("a", 5)));
  ASSERT_TRUE(store.replace(record("a", 9)));
  EXPECT_EQ(find(store), std::vector{record("a", 9)});
  ASSERT_TRUE(store.replace(record("a", 0, "it crashed")));
  EXPECT_EQ(find(store), std::vector{record("a", 0, "it crashed")});
  ASSERT_TRUE(store.replace(record("b", 1)));
  EXPECT_EQ(find(store).size(), 2u);
}

TEST_F(RecordStoreTest, WrongNumbersStayAndATimeGivesWay) {
  const Record wrong = record("a", 0, "it computes wrong numbers: off by 1");
  for (const auto& [first, second] :
       {std::pair(record("a", 5), wrong), std::pair(wrong, record("a", 5))}) {
    RecordStore store = open(first.failure.empty() ? "1.db" : "2.db");
    ASSERT_TRUE(store.add(first));
    ASSERT_TRUE(store.add(second));
    EXPECT_EQ(find(store), std::vector<Record>{wrong});
  }
  for (const char* name : {"times.db", "wrong.db"}) {
    RecordStore times = open("times.db"), wrongs = open("wrong.db");
    ASSERT_TRUE(times.add(record("a", 5)));
    ASSERT_TRUE(wrongs.add(wrong));
    RecordStore& into = *name == 't' ? times : wrongs;
    const auto merged = into.merge(folder_.file(*name == 't' ? "wrong.db" : "times.db"));
    ASSERT_TRUE(merged) << render(merged.error());
    EXPECT_EQ(find(into), std::vector<Record>{wrong});
  }
}

TEST_F(RecordStoreTest, FailuresAreToldAndNotRanked) {
  RecordStore store = open();
  const auto add = [&](const char* configuration, double time_us, const char* failure,
                       const char* toolchain) {
    Record r = record(configuration, time_us, failure);
    r.key.toolchain = toolchain;
    ASSERT_TRUE(store.add(r));
  };
  add("wrong by the new nvcc", 1, "", "nvcc 13.0");
  add("wrong by the new nvcc", 0, "it computes wrong numbers: off by 1", "nvcc 13.1");
  add("compiled by the new nvcc", 0, "it does not compile: C7510", "nvcc 13.0");
  add("compiled by the new nvcc", 3, "", "nvcc 13.1");
  add("hangs", 0, "it hangs", "nvcc 13.1");
  add("not compiled", 0, "it does not compile: C7510", "nvcc 13.1");
  add("slow", 4, "", "nvcc 13.1");
  const auto ranking = store.ranking("cutlass", "4.2.0", "sm_90a 132 ", {kKey.workload});
  ASSERT_TRUE(ranking);
  EXPECT_EQ(ranking->configurations,
            (std::vector<std::string>{"compiled by the new nvcc", "slow"}));
  std::vector<std::string> failures;
  for (const auto& [configuration, reason, is_of_kernel] : ranking->failures) {
    failures.push_back(
        fmt::format("{}: {}{}", configuration, reason, is_of_kernel ? ", of the kernel" : ""));
  }
  EXPECT_EQ(failures,
            (std::vector<std::string>{
                "hangs: it hangs", "not compiled: it does not compile: C7510, of the kernel",
                "wrong by the new nvcc: it computes wrong numbers: off by 1"}));
  EXPECT_TRUE(store.ranking("cutlass", "4.2.0", "sm_80 ", {kKey.workload})->failures.empty());
  EXPECT_TRUE(store.ranking("cutlass", "4.2.1", "sm_90a ", {kKey.workload})->failures.empty());
}

TEST_F(RecordStoreTest, TheFastestOfADevice) {
  RecordStore store = open();
  Record other = record("elsewhere", 1);
  other.key.device = "sm_80 108 NVIDIA A100";
  Record alike = record("alike", 1);
  alike.key.device = kKey.device + " NVL";
  Record newer = record("newer nvcc", 3);
  newer.key.toolchain = "nvcc 13.1";
  for (const Record& r : {other, alike, newer, record("a", 4), record("broken", 0, "C7510")}) {
    ASSERT_TRUE(store.add(r));
  }
  using Names = std::vector<std::string>;
  const auto ranking = [&](const char* device, const char* workload) {
    const auto found = store.ranking("cutlass", "4.2.0", device, {workload});
    EXPECT_TRUE(found);
    return found->configurations;
  };
  EXPECT_EQ(ranking("sm_90a 132 ", "gemm m=128 n=4096 k=1024"),
            Names({"alike", "newer nvcc", "a"}));
  EXPECT_EQ(ranking("sm_90a 132 NVIDIA H200", "gemm m=128 n=4096 k=1024"),
            Names({"newer nvcc", "a"}));
  EXPECT_EQ(ranking("sm_80 ", "gemm m=128 n=4096 k=1024"), Names({"elsewhere"}));
  EXPECT_EQ(ranking("sm_90a 114 ", "gemm m=128 n=4096 k=1024"), Names());
  EXPECT_EQ(ranking("sm_90a 132 ", "gemm m=1 n=1 k=1"), Names());
}

TEST_F(RecordStoreTest, OpenSizesTakeTheNearest) {
  RecordStore store = open();
  const auto add = [&](const char* workload, const char* configuration, double time_us) {
    Record r = record(configuration, time_us);
    r.key.workload = workload;
    ASSERT_TRUE(store.add(r));
  };
  add("gemm m=384 n=16 batch=8 {?}", "a", 5);
  add("gemm m=384 n=16 batch=8 {?}", "b", 4);
  add("gemm m=640 n=16 batch=8 {?}", "c", 1);
  add("gemm m=384 n=17 batch=8 {?}", "of another width", 1);
  const auto ranking = [&](std::int64_t m, std::int64_t batch) {
    const auto found =
        store.ranking("cutlass", "4.2.0", "sm_90a 132 ", {"gemm m=? n=16 batch=? {?}", {m, batch}});
    EXPECT_TRUE(found);
    return std::pair(found->configurations, found->sizes);
  };
  using Sizes = std::vector<std::int64_t>;
  using Names = std::vector<std::string>;
  EXPECT_EQ(ranking(384, 8), std::pair(Names({"b", "a"}), Sizes({384, 8})));
  EXPECT_EQ(ranking(400, 8), std::pair(Names({"b", "a"}), Sizes({384, 8})));
  EXPECT_EQ(ranking(600, 8), std::pair(Names({"c"}), Sizes({640, 8})));
  EXPECT_EQ(ranking(320, 4), std::pair(Names(), Sizes()));  // a factor of 1.2, and one of 2
  EXPECT_EQ(ranking(384, 16), std::pair(Names({"b", "a"}), Sizes({384, 8})));
  EXPECT_EQ(ranking(2000, 8), std::pair(Names(), Sizes()));
  EXPECT_EQ(ranking(0, 8), std::pair(Names(), Sizes()));
}

// Work of an open size is called at all of them.
TEST_F(RecordStoreTest, WhatIsWrongAtOneSizeIsOutForOpenSizes) {
  RecordStore store = open();
  const auto add = [&](const char* workload, const char* configuration, double time_us,
                       const char* failure) {
    Record r = record(configuration, time_us, failure);
    r.key.workload = workload;
    ASSERT_TRUE(store.add(r));
  };
  add("gemm m=384 n=16", "a", 1, "");
  add("gemm m=384 n=16", "b", 2, "");
  add("gemm m=9000 n=16", "a", 0, "it computes wrong numbers");
  const auto open_size = store.ranking("cutlass", "4.2.0", "sm_90a 132 ", {"gemm m=? n=16", {384}});
  EXPECT_EQ(open_size->configurations, std::vector<std::string>{"b"});
  ASSERT_EQ(open_size->failures.size(), 1u);
  EXPECT_EQ(open_size->failures[0].configuration, "a");
  const auto known_size = store.ranking("cutlass", "4.2.0", "sm_90a 132 ", {"gemm m=384 n=16"});
  EXPECT_EQ(known_size->configurations, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(known_size->failures.empty());
}

TEST_F(RecordStoreTest, MergingLosesNothing) {
  RecordStore store = open(), other = open("other.db");
  ASSERT_TRUE(store.add(record("a", 5)));
  ASSERT_TRUE(store.add(record("b", 2)));
  ASSERT_TRUE(other.add(record("a", 4)));
  ASSERT_TRUE(other.add(record("b", 3)));
  ASSERT_TRUE(other.add(record("c", 1)));
  const auto merged = store.merge(folder_.file("other.db"));
  ASSERT_TRUE(merged) << render(merged.error());
  EXPECT_EQ(merged->added, 1);
  EXPECT_EQ(merged->better, 1);
  EXPECT_EQ(find(store), (std::vector<Record>{record("c", 1), record("b", 2), record("a", 4)}));
}

TEST_F(RecordStoreTest, DamagedRowsAreSkippedAndNamed) {
  {
    RecordStore store = open();
    ASSERT_TRUE(store.add(record("a", 5)));
    ASSERT_TRUE(store.add(record("b", 6)));
  }
  sql("UPDATE records SET time_us = 1 WHERE configuration = 'b'");
  const auto found = open().find(kKey);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->list, std::vector<Record>{record("a", 5)});
  EXPECT_EQ(found->damaged,
            std::vector<std::string>{"row 2 (gemm m=128 n=4096 k=1024): its checksum is wrong"});
  RecordStore target = open("target.db");
  const auto merged = target.merge(folder_.file("r.db"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->added, 1);
  EXPECT_EQ(merged->damaged.size(), 1u);
}

// A damaged row may hold any time: a new measurement takes its place, however slow.
TEST_F(RecordStoreTest, DamagedRowsAreReplaced) {
  RecordStore store = open(), other = open("other.db");
  ASSERT_TRUE(store.add(record("a", 5)));
  ASSERT_TRUE(store.add(record("b", 5)));
  sql("UPDATE records SET time_us = 1");
  ASSERT_TRUE(store.add(record("a", 6)));
  EXPECT_EQ(find(store), std::vector<Record>{record("a", 6)});
  ASSERT_TRUE(other.add(record("b", 7)));
  const auto merged = store.merge(folder_.file("other.db"));
  ASSERT_TRUE(merged) << render(merged.error());
  EXPECT_EQ(merged->better, 1);
  EXPECT_EQ(find(store), (std::vector<Record>{record("a", 6), record("b", 7)}));
}

TEST_F(RecordStoreTest, DamagedRowsAreCountedAndNamed) {
  EXPECT_FALSE(warning_of_damaged("r.db", {}));
  EXPECT_EQ(render(*warning_of_damaged("r.db", {"row 2 (gemm): its checksum is wrong"})),
            "warning[E0404]: the records in `r.db`: 1 damaged row is skipped: row 2 (gemm): its "
            "checksum is wrong\nhelp: `tessera tune` measures anew what they were of, and "
            "replaces them\n");
  std::vector<std::string> rows;
  for (int i = 1; i <= 25; ++i) rows.push_back(fmt::format("row {}", i));
  const std::string text = render(*warning_of_damaged("r.db", rows));
  EXPECT_NE(text.find("25 damaged rows are skipped: row 1; row 2; "), std::string::npos) << text;
  EXPECT_NE(text.find("; row 20; and 5 more\n"), std::string::npos) << text;
}

// What does not fit is refused with a sentence; what was there stays, and there is room again
// later.
TEST_F(RecordStoreTest, AFullDiskLosesNothing) {
  { ASSERT_TRUE(open().add(record("a", 5))); }
  { ASSERT_TRUE(open("large.db").add(record(std::string(100'000, 'c'), 1))); }
  const rlim_t bytes = std::filesystem::file_size(folder_.file("r.db"));
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    RecordStore store = open();
    const auto added = store.add(record(std::string(100'000, 'b'), 1));
    const auto merged = store.merge(folder_.file("large.db"));
    const auto is_told = [](const auto& done) {
      const std::string text = done ? "" : render(done.error());
      return text.find("cannot write the records in") != std::string::npos &&
             text.find("make room on the disk") != std::string::npos;
    };
    const bool stays = find(store) == std::vector<Record>{record("a", 5)};
    _exit(is_told(added) && is_told(merged) && stays ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  RecordStore store = open();
  EXPECT_EQ(find(store), std::vector<Record>{record("a", 5)});
  ASSERT_TRUE(store.add(record("b", 1)));
  EXPECT_EQ(find(store).size(), 2u);
}

TEST_F(RecordStoreTest, WhatMayNotBeWrittenSaysSo) {
  { ASSERT_TRUE(open().add(record("a", 5))); }
  auto reader = RecordStore::open_to_read(folder_.file("r.db"));
  ASSERT_TRUE(reader);
  const auto added = reader->add(record("b", 1));
  ASSERT_FALSE(added);
  const std::string text = render(added.error());
  EXPECT_NE(text.find("cannot write the records in"), std::string::npos) << text;
  EXPECT_NE(text.find("help: make the file and its folder writable"), std::string::npos) << text;
}

TEST_F(RecordStoreTest, OtherFilesAreRefused) {
  ASSERT_TRUE(write_atomically(folder_.file("text"), "no database, and long enough to tell so"));
  const auto text = RecordStore::open(folder_.file("text"));
  ASSERT_FALSE(text);
  EXPECT_NE(render(text.error()).find("file is not a database"), std::string::npos)
      << render(text.error());
  { open(); }
  sql("PRAGMA user_version = 7");
  const auto newer = RecordStore::open(folder_.file("r.db"));
  ASSERT_FALSE(newer);
  EXPECT_NE(render(newer.error()).find("version 7"), std::string::npos);
  EXPECT_FALSE(RecordStore::open(folder_.file("absent/r.db")));
}

// As a disk or a copy may leave it.
TEST_F(RecordStoreTest, AFileWithABrokenPageIsDamaged) {
  {
    RecordStore store = open();
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(store.add(record(fmt::format("kernel {}", i), i)));
  }
  const std::string path = folder_.file("r.db");
  std::string bytes = *read_file(path);
  constexpr std::size_t kPage = 4096;
  ASSERT_GT(bytes.size(), 3 * kPage);
  std::fill(bytes.begin() + kPage, bytes.end(), '\xff');
  ASSERT_TRUE(write_atomically(path, bytes));
  const auto store = RecordStore::open_to_read(path);
  const auto records = store ? store->all() : Result<Records>(Unexpected{store.error()});
  ASSERT_FALSE(records);
  const std::string text = render(records.error());
  EXPECT_NE(text.find("` is damaged: "), std::string::npos) << text;
  EXPECT_NE(text.find("help: `sqlite3 FILE .recover"), std::string::npos) << text;
  EXPECT_EQ(*read_file(path), bytes);
}

// Somebody's file stays as it is, whoever names it.
TEST_F(RecordStoreTest, FilesWithoutRecordsAreRefusedAndNotTouched) {
  sql("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine'); PRAGMA user_version = 1",
      "notes.db");
  sql("CREATE TABLE records (artist, title); PRAGMA user_version = 1", "music.db");
  ASSERT_TRUE(write_atomically(folder_.file("empty"), ""));
  ASSERT_TRUE(write_atomically(folder_.file("byte"), "x"));
  RecordStore store = open();
  for (const char* name : {"notes.db", "music.db", "empty", "byte"}) {
    SCOPED_TRACE(name);
    const std::string before = *read_file(folder_.file(name));
    const std::string expected = std::string_view(name) == "music.db"
                                     ? "no such column: backend"
                                     : "is not a file of records: it lacks their table";
    const auto read = RecordStore::open_to_read(folder_.file(name));
    ASSERT_FALSE(read);
    EXPECT_NE(render(read.error()).find(expected), std::string::npos) << render(read.error());
    const auto merged = store.merge(folder_.file(name));
    ASSERT_FALSE(merged);
    EXPECT_NE(render(merged.error()).find(expected), std::string::npos);
    // An empty one may become a file of records.
    if (!before.empty()) {
      const auto written = RecordStore::open(folder_.file(name));
      ASSERT_FALSE(written);
      EXPECT_NE(render(written.error()).find(expected), std::string::npos)
          << render(written.error());
    }
    EXPECT_EQ(*read_file(folder_.file(name)), before);
  }
  EXPECT_TRUE(RecordStore::open(folder_.file("empty")));
  EXPECT_TRUE(RecordStore::open_to_read(folder_.file("empty")));
  EXPECT_FALSE(RecordStore::open_to_read(folder_.file("absent.db")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("absent.db")));
}

TEST_F(RecordStoreTest, WhatIsOpenedToReadIsNotWritten) {
  { ASSERT_TRUE(open().add(record("a", 5))); }
  auto store = RecordStore::open_to_read(folder_.file("r.db"));
  ASSERT_TRUE(store) << render(store.error());
  EXPECT_FALSE(store->add(record("b", 1)));
  EXPECT_EQ(find(*store), std::vector<Record>{record("a", 5)});
}

TEST_F(RecordStoreTest, WhatAKilledProcessBeganIsTakenBack) {
  { ASSERT_TRUE(open().add(record("a", 5))); }
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    sqlite3* database = nullptr;
    sqlite3_open(folder_.file("r.db").c_str(), &database);
    // More than the cache holds: the file is being written.
    sqlite3_exec(database,
                 "PRAGMA cache_size = 1; BEGIN IMMEDIATE; DELETE FROM records; "
                 "CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(1000000))",
                 nullptr, nullptr, nullptr);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(std::filesystem::exists(folder_.file("r.db-journal")));
  const auto store = RecordStore::open_to_read(folder_.file("r.db"));
  ASSERT_TRUE(store) << render(store.error());
  EXPECT_EQ(find(*store), std::vector<Record>{record("a", 5)});
}

// Ctrl-C, whatever is being written at that moment.
TEST_F(RecordStoreTest, ASignalLeavesNothingHalfWritten) {
  constexpr int kTimes = 20;
  { open(); }
  for (int time = 0; time < kTimes; ++time) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      forget_folder(folder_.path());  // the parent's
      clean_up_when_terminated();
      RecordStore store = open();
      for (int i = 0;; ++i) {
        if (!store.replace(record(fmt::format("{}-{}", time, i), i + 1))) _exit(1);
        if (i == 0 && ::write(ends[1], "1", 1) != 1) _exit(1);
      }
    }
    char written = 0;
    ASSERT_EQ(::read(ends[0], &written, 1), 1);
    for (const int end : ends) ::close(end);
    ::poll(nullptr, 0, time);
    ::kill(pid, SIGINT);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    EXPECT_FALSE(std::filesystem::exists(folder_.file("r.db-journal")));
    const auto all = open().all();
    ASSERT_TRUE(all) << render(all.error());
    EXPECT_TRUE(all->damaged.empty());
    EXPECT_TRUE(std::ranges::any_of(
        all->list, [&](const Record& r) { return r.configuration == fmt::format("{}-0", time); }));
  }
}

TEST_F(RecordStoreTest, TwoProcessesWriteAtATime) {
  { open(); }
  constexpr int kEach = 50;
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      RecordStore store = open();
      for (int i = 0; i < kEach; ++i) {
        if (!store.add(record(fmt::format("{}-{}", child, i), i + 1))) _exit(1);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(find(open()).size(), 2u * kEach);
}

}  // namespace
}  // namespace tessera::tune
