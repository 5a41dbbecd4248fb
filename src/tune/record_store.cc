// SPDX-License-Identifier: Apache-2.0
#include "tune/record_store.h"

#include <sqlite3.h>

#include "support/hash.h"
#include "tune/statement.h"

namespace tessera::tune {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr int kWaitMs = 30'000;  // for another process that writes

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS records ("
    "backend TEXT, version TEXT, device TEXT, toolchain TEXT, workload TEXT, configuration TEXT, "
    "time_us REAL, spread_us REAL, failure TEXT, checksum TEXT, "
    "PRIMARY KEY (backend, version, device, toolchain, workload, configuration))";
constexpr const char* kColumns =
    "backend, version, device, toolchain, workload, configuration, time_us, spread_us, failure, "
    "checksum, rowid";
constexpr const char* kInsert =
    "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET time_us = excluded.time_us, spread_us = excluded.spread_us, "
    "failure = excluded.failure, checksum = excluded.checksum "
    "WHERE excluded.failure = '' AND "
    "(records.failure <> '' OR excluded.time_us < records.time_us)";
constexpr const char* kOrder = " ORDER BY failure <> '', time_us, configuration";

std::string checksum(const Record& r) {
  std::string text;
  for (const std::string* part : {&r.key.backend, &r.key.version, &r.key.device, &r.key.toolchain,
                                  &r.key.workload, &r.configuration, &r.failure}) {
    text += fmt::format("{}:{}\n", part->size(), *part);
  }
  return hash_text(text + fmt::format("{:a} {:a}", r.time_us, r.spread_us)).hex();
}

Result<void> execute(sqlite3* database, const std::string& path, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(database_error(database, path));
}

// The rows that a statement gives, damaged ones apart.
Result<Records> read(Statement& rows) {
  Records out;
  for (;;) {
    TESSERA_TRY(const bool more, rows.step());
    if (!more) return out;
    Record r;
    r.key = {rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4)};
    r.configuration = rows.text(5);
    r.time_us = rows.number(6);
    r.spread_us = rows.number(7);
    r.failure = rows.text(8);
    if (rows.text(9) == checksum(r)) {
      out.list.push_back(std::move(r));
    } else {
      out.damaged.push_back(
          fmt::format("row {} ({}): its checksum is wrong", rows.integer(10), r.key.workload));
    }
  }
}

// The parameters of a statement from the first on; the number of the last.
int bind_texts(Statement& statement, std::initializer_list<std::string_view> texts) {
  int at = 0;
  for (const std::string_view text : texts) statement.bind(++at, text);
  return at;
}

Result<void> insert(Statement& statement, const Record& r) {
  statement.reset();
  int at = bind_texts(statement, {r.key.backend, r.key.version, r.key.device, r.key.toolchain,
                                  r.key.workload, r.configuration});
  statement.bind(++at, r.time_us);
  statement.bind(++at, r.spread_us);
  statement.bind(++at, r.failure);
  statement.bind(++at, checksum(r));
  TESSERA_TRY_VOID(statement.step());
  return {};
}

}  // namespace

void RecordStore::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

Result<RecordStore> RecordStore::open(const std::string& path) {
  sqlite3* database = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  RecordStore store(path, database);
  if (opened != SQLITE_OK) return fail(database_error(database, path));
  sqlite3_busy_timeout(database, kWaitMs);
  TESSERA_TRY(Statement version, Statement::prepare(database, path, "PRAGMA user_version"));
  TESSERA_TRY_VOID(version.step());
  const std::int64_t found = version.integer(0);
  if (found != 0 && found != kVersion) {
    return fail(error(Code::kBadOption, nullptr,
                      "the records in `{}` are of version {}; this tessera reads version {}", path,
                      found, kVersion)
                    .with_remedy("use the tessera that made them, or tune again"));
  }
  version.reset();
  TESSERA_TRY_VOID(execute(database, path, kSchema));
  if (found == 0) {
    TESSERA_TRY_VOID(execute(database, path, fmt::format("PRAGMA user_version = {}", kVersion)));
  }
  return store;
}

Result<void> RecordStore::add(const Record& record) {
  TESSERA_TRY(Statement statement, Statement::prepare(database_.get(), path_, kInsert));
  return insert(statement, record);
}

Result<Records> RecordStore::find(const RecordKey& key) const {
  TESSERA_TRY(Statement rows,
              Statement::prepare(database_.get(), path_,
                                 fmt::format("SELECT {} FROM records WHERE backend = ? AND version "
                                             "= ? AND device = ? AND toolchain = ? AND workload = "
                                             "?{}",
                                             kColumns, kOrder)));
  bind_texts(rows, {key.backend, key.version, key.device, key.toolchain, key.workload});
  return read(rows);
}

Result<std::string> RecordStore::fastest(std::string_view backend, std::string_view version,
                                         std::string_view device, std::string_view workload) const {
  TESSERA_TRY(
      Statement rows,
      Statement::prepare(database_.get(), path_,
                         fmt::format("SELECT {} FROM records WHERE backend = ? AND version = ? AND "
                                     "substr(device, 1, length(?)) = ?3 AND workload = ? AND "
                                     "failure = ''{}",
                                     kColumns, kOrder)));
  bind_texts(rows, {backend, version, device, workload});
  TESSERA_TRY(const Records found, read(rows));
  return found.list.empty() ? "" : found.list.front().configuration;
}

Result<Records> RecordStore::all() const {
  TESSERA_TRY(
      Statement rows,
      Statement::prepare(database_.get(), path_,
                         fmt::format("SELECT {} FROM records ORDER BY backend, version, device, "
                                     "toolchain, workload, failure <> '', time_us, configuration",
                                     kColumns)));
  return read(rows);
}

Result<Merged> RecordStore::merge(const std::string& path) {
  TESSERA_TRY(const RecordStore other, RecordStore::open(path));
  TESSERA_TRY(Records records, other.all());
  Merged out;
  out.damaged = std::move(records.damaged);
  TESSERA_TRY_VOID(execute(database_.get(), path_, "BEGIN IMMEDIATE"));
  const auto take = [&]() -> Result<void> {
    TESSERA_TRY(Statement count,
                Statement::prepare(database_.get(), path_, "SELECT count(*) FROM records"));
    TESSERA_TRY_VOID(count.step());
    const std::int64_t before = count.integer(0);
    std::int64_t changed = 0;
    TESSERA_TRY(Statement statement, Statement::prepare(database_.get(), path_, kInsert));
    for (const Record& record : records.list) {
      TESSERA_TRY_VOID(insert(statement, record));
      changed += sqlite3_changes(database_.get());
    }
    count.reset();
    TESSERA_TRY_VOID(count.step());
    out.added = count.integer(0) - before;
    out.better = changed - out.added;
    return {};
  };
  const auto taken = take();
  TESSERA_TRY_VOID(execute(database_.get(), path_, taken ? "COMMIT" : "ROLLBACK"));
  if (!taken) return Unexpected{taken.error()};
  return out;
}

}  // namespace tessera::tune
