// SPDX-License-Identifier: Apache-2.0
#include "tune/record_store.h"

#include <algorithm>
#include <filesystem>

#include <fmt/ranges.h>
#include <sqlite3.h>

#include "support/hash.h"
#include "tune/ranking.h"
#include "tune/transaction.h"

namespace tessera::tune {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr int kWaitMs = 30'000;  // for another process that writes

constexpr const char* kSchema =
    "CREATE TABLE records ("
    "backend TEXT, version TEXT, device TEXT, toolchain TEXT, workload TEXT, configuration TEXT, "
    "time_us REAL, spread_us REAL, failure TEXT, checksum TEXT, "
    "PRIMARY KEY (backend, version, device, toolchain, workload, configuration))";
constexpr const char* kColumns =
    "backend, version, device, toolchain, workload, configuration, time_us, spread_us, failure, "
    "checksum, rowid";
constexpr const char* kIsOfConfiguration =
    "backend = ? AND version = ? AND device = ? AND toolchain = ? AND workload = ? AND "
    "configuration = ?";
constexpr const char* kOrder = " ORDER BY failure <> '', time_us, configuration";

// What stands there gives way to what is better known.
std::string insert_sql() {
  const auto is_wrong = [](const char* row) {
    return fmt::format("substr({}.failure, 1, {}) = '{}'", row, kWrongNumbers.size(),
                       kWrongNumbers);
  };
  return fmt::format(
      "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT DO UPDATE SET time_us = excluded.time_us, spread_us = excluded.spread_us, "
      "failure = excluded.failure, checksum = excluded.checksum "
      "WHERE NOT {} AND ({} OR (excluded.failure = '' AND "
      "(records.failure <> '' OR excluded.time_us < records.time_us)))",
      is_wrong("records"), is_wrong("excluded"));
}

std::string checksum(const Record& r) {
  std::string text;
  for (const std::string* part : {&r.key.backend, &r.key.version, &r.key.device, &r.key.toolchain,
                                  &r.key.workload, &r.configuration, &r.failure}) {
    text += fmt::format("{}:{}\n", part->size(), *part);
  }
  return hash_text(text + fmt::format("{:a} {:a}", r.time_us, r.spread_us)).hex();
}

Result<std::int64_t> number(sqlite3* database, const std::string& path, const char* sql) {
  TESSERA_TRY(Statement row, Statement::prepare(database, path, sql));
  TESSERA_TRY_VOID(row.step());
  return row.integer(0);
}

// Has it the table, as this version makes it? An error if that is another version's.
Result<bool> has_records(sqlite3* database, const std::string& path) {
  TESSERA_TRY(const std::int64_t version, number(database, path, "PRAGMA user_version"));
  TESSERA_TRY(const std::int64_t tables,
              number(database, path,
                     "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = "
                     "'records'"));
  if (version == 0 || tables == 0) return false;
  if (version != kVersion) {
    return fail(error(Code::kBadOption, nullptr,
                      "the records in `{}` are of version {}; this tessera reads version {}", path,
                      version, kVersion)
                    .with_remedy("use the tessera that made them, or tune again"));
  }
  TESSERA_TRY_VOID(
      Statement::prepare(database, path, fmt::format("SELECT {} FROM records", kColumns)));
  return true;
}

Diagnostic no_records(const std::string& path) {
  return error(Code::kBadOption, nullptr, "`{}` is not a file of records: it lacks their table",
               path)
      .with_remedy("name a file that `tessera tune` made; it makes one where there is none");
}

// If two processes make the file, the second finds it made.
Result<void> make_records(sqlite3* database, const std::string& path) {
  return in_transaction(database, path, [&]() -> Result<void> {
    TESSERA_TRY(const bool are_there, has_records(database, path));
    if (are_there) return {};
    std::error_code is_new;
    const auto size = std::filesystem::file_size(path, is_new);
    if (!is_new && size > 0) return fail(no_records(path));
    TESSERA_TRY_VOID(execute(database, path, kSchema));
    return execute(database, path, fmt::format("PRAGMA user_version = {}", kVersion));
  });
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

// Adds records, one after the other.
class Inserter {
 public:
  static Result<Inserter> prepare(sqlite3* database, const std::string& path) {
    TESSERA_TRY(Statement insert, Statement::prepare(database, path, insert_sql()));
    TESSERA_TRY(Statement find, Statement::prepare(database, path,
                                                   fmt::format("SELECT {} FROM records WHERE {}",
                                                               kColumns, kIsOfConfiguration)));
    TESSERA_TRY(Statement erase, Statement::prepare(database, path,
                                                    fmt::format("DELETE FROM records WHERE {}",
                                                                kIsOfConfiguration)));
    return Inserter(database, std::move(insert), std::move(find), std::move(erase));
  }

  // How many rows are others now: 0 or 1. What stands there stays if it is better, unless it is
  // damaged: then nobody can tell.
  Result<int> add(const Record& r) {
    TESSERA_TRY(const int changed, insert(r));
    if (changed > 0) return changed;
    bind_configuration(find_, r);
    TESSERA_TRY(const Records there, read(find_));
    if (there.damaged.empty()) return 0;
    bind_configuration(erase_, r);
    TESSERA_TRY_VOID(erase_.step());
    return insert(r);
  }

  Result<void> replace(const Record& r) {
    bind_configuration(erase_, r);
    TESSERA_TRY_VOID(erase_.step());
    TESSERA_TRY_VOID(insert(r));
    return {};
  }

 private:
  Inserter(sqlite3* database, Statement insert, Statement find, Statement erase)
      : database_(database),
        insert_(std::move(insert)),
        find_(std::move(find)),
        erase_(std::move(erase)) {}

  static int bind_configuration(Statement& statement, const Record& r) {
    statement.reset();
    return bind_texts(statement, {r.key.backend, r.key.version, r.key.device, r.key.toolchain,
                                  r.key.workload, r.configuration});
  }

  Result<int> insert(const Record& r) {
    int at = bind_configuration(insert_, r);
    insert_.bind(++at, r.time_us);
    insert_.bind(++at, r.spread_us);
    insert_.bind(++at, r.failure);
    insert_.bind(++at, checksum(r));
    TESSERA_TRY_VOID(insert_.step());
    return sqlite3_changes(database_);
  }

  sqlite3* database_;
  Statement insert_, find_, erase_;
};

}  // namespace

std::optional<Diagnostic> warning_of_damaged(const std::string& path,
                                             const std::vector<std::string>& rows) {
  constexpr std::size_t kMostNamed = 20;
  if (rows.empty()) return std::nullopt;
  const std::size_t named = std::min(rows.size(), kMostNamed);
  const std::string more =
      named < rows.size() ? fmt::format("; and {} more", rows.size() - named) : "";
  return warning(Code::kBadOption, {}, "the records in `{}`: {} damaged {} skipped: {}{}", path,
                 rows.size(), rows.size() == 1 ? "row is" : "rows are",
                 fmt::join(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(named), "; "),
                 more)
      .with_remedy("`tessera tune` measures anew what they were of, and replaces them");
}

void RecordStore::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

Result<RecordStore> RecordStore::open_database(const std::string& path, int flags) {
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  RecordStore store(path, database);
  if (opened != SQLITE_OK) return fail(database_error(database, path));
  sqlite3_busy_timeout(database, kWaitMs);
  return store;
}

Result<RecordStore> RecordStore::open(const std::string& path) {
  TESSERA_TRY(RecordStore store, open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  TESSERA_TRY(const bool are_there, has_records(store.database_.get(), path));
  if (!are_there) {
    TESSERA_TRY_VOID(make_records(store.database_.get(), path));
  }
  return store;
}

Result<RecordStore> RecordStore::open_to_read(const std::string& path) {
  TESSERA_TRY(RecordStore store, open_database(path, SQLITE_OPEN_READONLY));
  Result<bool> are_there = has_records(store.database_.get(), path);
  // A process was killed while it wrote: what it began is taken back by whoever may write.
  if (sqlite3_extended_errcode(store.database_.get()) == SQLITE_READONLY_ROLLBACK) {
    TESSERA_TRY(store, open_database(path, SQLITE_OPEN_READWRITE));
    are_there = has_records(store.database_.get(), path);
  }
  if (!are_there) return Unexpected{are_there.error()};
  if (!*are_there) return fail(no_records(path));
  return store;
}

Result<void> RecordStore::add(const Record& record) {
  return in_transaction(database_.get(), path_, [&]() -> Result<void> {
    TESSERA_TRY(Inserter inserter, Inserter::prepare(database_.get(), path_));
    TESSERA_TRY_VOID(inserter.add(record));
    return {};
  });
}

Result<void> RecordStore::replace(const Record& record) {
  return in_transaction(database_.get(), path_, [&]() -> Result<void> {
    TESSERA_TRY(Inserter inserter, Inserter::prepare(database_.get(), path_));
    return inserter.replace(record);
  });
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

Result<byoc::Ranking> RecordStore::ranking(std::string_view backend, std::string_view version,
                                           std::string_view device,
                                           const byoc::Workload& workload) const {
  TESSERA_TRY(
      Statement rows,
      Statement::prepare(database_.get(), path_,
                         fmt::format("SELECT {} FROM records WHERE backend = ? AND version = ? AND "
                                     "substr(workload, 1, length(?)) = ?3{}",
                                     kColumns, kOrder)));
  const std::size_t until = workload.sizes.empty() ? std::string::npos : workload.form.find('?');
  bind_texts(rows, {backend, version, std::string_view(workload.form).substr(0, until)});
  TESSERA_TRY(Records found, read(rows));
  std::erase_if(found.list,
                [&](const Record& r) { return !byoc::is_of_device(r.key.device, device); });
  return rank(found.list, workload);
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

MadeTable RecordStore::made() const { return {database_.get(), path_}; }

Result<Merged> RecordStore::merge(const std::string& path) {
  TESSERA_TRY(const RecordStore other, RecordStore::open_to_read(path));
  TESSERA_TRY(Records records, other.all());
  Merged out;
  out.damaged = std::move(records.damaged);
  TESSERA_TRY(const MadeRows made_there, other.made().rows());
  out.damaged.insert(out.damaged.end(), made_there.damaged.begin(), made_there.damaged.end());
  const auto take = [&]() -> Result<void> {
    TESSERA_TRY(Statement count,
                Statement::prepare(database_.get(), path_, "SELECT count(*) FROM records"));
    TESSERA_TRY_VOID(count.step());
    const std::int64_t before = count.integer(0);
    std::int64_t changed = 0;
    TESSERA_TRY(Inserter inserter, Inserter::prepare(database_.get(), path_));
    for (const Record& record : records.list) {
      TESSERA_TRY(const int added, inserter.add(record));
      changed += added;
    }
    count.reset();
    TESSERA_TRY_VOID(count.step());
    out.added = count.integer(0) - before;
    out.better = changed - out.added;
    TESSERA_TRY(out.made, made().take(other.made()));
    return {};
  };
  TESSERA_TRY_VOID(in_transaction(database_.get(), path_, take));
  return out;
}

}  // namespace tessera::tune
