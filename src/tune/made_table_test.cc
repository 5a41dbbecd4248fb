// SPDX-License-Identifier: Apache-2.0
#include "tune/made_table.h"

#include <gtest/gtest.h>

#include "support/files.h"
#include "tune/record_store.h"

namespace tessera::tune {
namespace {

using byoc::MadeKey;
using byoc::MadePart;

const MadeKey kEngine{"tensorrt", "1, TensorRT 10.3.0", "sm_90a 132 NVIDIA H200", "engine 0123"};

class MadeTableTest : public ::testing::Test {
 protected:
  RecordStore open(const char* name = "r.db") const {
    return *RecordStore::open(folder_.file(name));
  }
  std::optional<MadePart> find(const MadeKey& key, const char* name = "r.db") const {
    const RecordStore store = open(name);
    const auto found = store.made().find(key);
    EXPECT_TRUE(found) << render(found.error());
    return *found;
  }
  MadePart keep(const MadeKey& key, const MadePart& part, const char* name = "r.db") const {
    const RecordStore store = open(name);
    const auto kept = store.made().keep(key, part);
    EXPECT_TRUE(kept) << render(kept.error());
    return *kept;
  }
  void sql(const char* text) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file("r.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  std::int64_t count(const char* table, const char* name = "r.db") const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(folder_.file(name).c_str(), &database), SQLITE_OK);
    std::int64_t rows = -1;
    {
      auto counted =
          Statement::prepare(database, name, fmt::format("SELECT count(*) FROM {}", table));
      EXPECT_TRUE(counted && *counted->step());
      rows = counted->integer(0);
    }
    sqlite3_close(database);
    return rows;
  }
  const TempDir folder_ = *TempDir::make("made-table-test");
};

MadeKey with(std::string MadeKey::*part, const std::string& text) {
  MadeKey key = kEngine;
  key.*part = text;
  return key;
}

TEST_F(MadeTableTest, WhatIsKeptComesBackByItsKey) {
  const std::string bytes("\0\xff\n'\"", 5);
  EXPECT_FALSE(find(kEngine));
  EXPECT_EQ(keep(kEngine, {bytes}).bytes, bytes);
  EXPECT_EQ(find(kEngine), std::optional(MadePart{bytes}));
  for (const auto part :
       {&MadeKey::backend, &MadeKey::version, &MadeKey::device, &MadeKey::workload}) {
    EXPECT_FALSE(find(with(part, "another")));
  }
  keep(with(&MadeKey::workload, "empty"), {""});
  EXPECT_EQ(find(with(&MadeKey::workload, "empty")), std::optional(MadePart{""}));
  keep(with(&MadeKey::workload, "refused"), {"", "it is too large"});
  EXPECT_EQ(find(with(&MadeKey::workload, "refused")),
            std::optional(MadePart{"", "it is too large"}));
}

TEST_F(MadeTableTest, TheFirstIsRight) {
  EXPECT_EQ(keep(kEngine, {"first"}).bytes, "first");
  EXPECT_EQ(keep(kEngine, {"second"}).bytes, "first");
  EXPECT_EQ(find(kEngine)->bytes, "first");
}

TEST_F(MadeTableTest, WhatIsDeniedGivesWay) {
  keep(kEngine, {"unreadable"});
  const auto kept = [&](const char* bytes) {
    return open()
        .made()
        .keep(kEngine, {bytes}, [](const MadePart& part) { return part.bytes != "unreadable"; })
        ->bytes;
  };
  EXPECT_EQ(kept("first"), "first");
  EXPECT_EQ(kept("second"), "first");
  EXPECT_EQ(find(kEngine)->bytes, "first");
}

TEST_F(MadeTableTest, LargeOnesAreWhole) {
  std::string bytes(std::size_t{65} << 20, 'a');
  bytes.back() = 'z';
  keep(kEngine, {bytes});
  EXPECT_TRUE(find(kEngine)->bytes == bytes);
  EXPECT_EQ(count("contents"), 2) << "in parts";
}

TEST_F(MadeTableTest, EqualBytesStandThereOnce) {
  keep(kEngine, {"bytes"});
  keep(with(&MadeKey::workload, "engine 4567"), {"bytes"});
  EXPECT_EQ(count("made"), 2);
  EXPECT_EQ(count("contents"), 1);
  RecordStore store = open();
  ASSERT_TRUE(store.made().replace(kEngine, {"other"}));
  EXPECT_EQ(count("contents"), 2);
  ASSERT_TRUE(store.made().replace(with(&MadeKey::workload, "engine 4567"), {"other"}));
  EXPECT_EQ(count("contents"), 1) << "what nobody names goes";
  EXPECT_EQ(find(kEngine)->bytes, "other");
}

// Where the device is not here, all that the target may mean are as good, if they agree.
TEST_F(MadeTableTest, OfAnyDeviceThatTheTargetMayMean) {
  keep(kEngine, {"bytes"});
  EXPECT_EQ(find(with(&MadeKey::device, "sm_90a "))->bytes, "bytes");
  EXPECT_EQ(find(with(&MadeKey::device, "sm_90a 132 "))->bytes, "bytes");
  EXPECT_FALSE(find(with(&MadeKey::device, "sm_80 ")));
  keep(with(&MadeKey::device, "sm_90a 114 NVIDIA H100 PCIe"), {"others"});
  EXPECT_EQ(find(with(&MadeKey::device, "sm_90a 132 "))->bytes, "bytes");
  const auto unsure = open().made().find(with(&MadeKey::device, "sm_90a "));
  ASSERT_FALSE(unsure);
  EXPECT_NE(
      render(unsure.error())
          .find("on 2 GPUs that the target may be: `sm_90a 114 NVIDIA H100 PCIe`, `sm_90a 132 "
                "NVIDIA H200`"),
      std::string::npos)
      << render(unsure.error());
}

TEST_F(MadeTableTest, MergingTakesWhatIsMissing) {
  keep(kEngine, {"ours"});
  keep(kEngine, {"theirs"}, "other.db");
  keep(with(&MadeKey::workload, "new"), {"new"}, "other.db");
  keep(with(&MadeKey::workload, "refused"), {"", "it is too large"}, "other.db");
  RecordStore store = open();
  const auto merged = store.merge(folder_.file("other.db"));
  ASSERT_TRUE(merged) << render(merged.error());
  EXPECT_EQ(merged->made, 2);
  EXPECT_EQ(find(kEngine)->bytes, "ours");
  EXPECT_EQ(find(with(&MadeKey::workload, "new"))->bytes, "new");
  EXPECT_EQ(find(with(&MadeKey::workload, "refused"))->refusal, "it is too large");
}

TEST_F(MadeTableTest, DamagedOnesAreNoneAndGiveWay) {
  keep(kEngine, {"bytes"});
  sql("UPDATE contents SET bytes = 'other'");
  EXPECT_FALSE(find(kEngine));
  EXPECT_EQ(keep(kEngine, {"made again"}).bytes, "made again");
  EXPECT_EQ(find(kEngine)->bytes, "made again");
  sql("UPDATE made SET version = '1, TensorRT 10.4.0'");
  EXPECT_FALSE(find(with(&MadeKey::version, "1, TensorRT 10.4.0")));
  const auto rows = open().made().rows();
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->list.empty());
  EXPECT_EQ(rows->damaged, std::vector<std::string>{
                               "row 2 of what was made (engine 0123): its checksum is wrong"});
}

// As earlier versions made them.
TEST_F(MadeTableTest, FilesWithoutTheTablesHaveNone) {
  open();
  const auto store = RecordStore::open_to_read(folder_.file("r.db"));
  ASSERT_TRUE(store);
  EXPECT_FALSE(*store->made().find(kEngine));
  EXPECT_TRUE(store->made().rows()->list.empty());
  const auto kept = store->made().keep(kEngine, {"bytes"});
  ASSERT_FALSE(kept);
  EXPECT_NE(render(kept.error()).find("cannot write the records in"), std::string::npos);
}

}  // namespace
}  // namespace tessera::tune
