// SPDX-License-Identifier: Apache-2.0
#include "tune/made_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "byoc/workload.h"
#include "support/hash.h"
#include "tune/transaction.h"

namespace tessera::tune {
namespace {

using byoc::MadeKey;
using byoc::MadePart;

constexpr const char* kMadeTables =
    "CREATE TABLE IF NOT EXISTS made ("
    "backend TEXT, version TEXT, device TEXT, workload TEXT, content TEXT, size_bytes INTEGER, "
    "refusal TEXT, checksum TEXT, PRIMARY KEY (backend, version, device, workload));"
    "CREATE TABLE IF NOT EXISTS contents ("
    "content TEXT, part INTEGER, bytes BLOB, PRIMARY KEY (content, part))";
constexpr const char* kSelect =
    "SELECT backend, version, device, workload, content, size_bytes, refusal, checksum, rowid FROM "
    "made";
constexpr const char* kByKey = " ORDER BY backend, version, device, workload";

// SQLite's largest value is smaller than the engine of a large model.
constexpr std::size_t kPartBytes = std::size_t{64} << 20;

std::string hash_of(std::string_view bytes) { return hash_text(bytes).hex(); }

std::string checksum(const MadeRow& row) {
  std::string text;
  for (const std::string* part : {&row.key.backend, &row.key.version, &row.key.device,
                                  &row.key.workload, &row.content, &row.refusal}) {
    text += fmt::format("{}:{}\n", part->size(), *part);
  }
  return hash_of(text + std::to_string(row.size_bytes));
}

MadeRow row_of(const MadeKey& key, const MadePart& part) {
  if (!part.refusal.empty()) return {key, "", 0, part.refusal};
  return {key, hash_of(part.bytes), static_cast<std::int64_t>(part.bytes.size()), ""};
}

// The rows that a statement gives, damaged ones apart.
Result<MadeRows> read_rows(Statement& statement) {
  MadeRows out;
  for (;;) {
    TESSERA_TRY(const bool more, statement.step());
    if (!more) return out;
    MadeRow row{{statement.text(0), statement.text(1), statement.text(2), statement.text(3)},
                statement.text(4),
                statement.integer(5),
                statement.text(6)};
    if (statement.text(7) == checksum(row)) {
      out.list.push_back(std::move(row));
    } else {
      out.damaged.push_back(fmt::format("row {} of what was made ({}): its checksum is wrong",
                                        statement.integer(8), row.key.workload));
    }
  }
}

void bind_key(Statement& statement, const MadeKey& key) {
  statement.bind(1, key.backend);
  statement.bind(2, key.version);
  statement.bind(3, key.device);
  statement.bind(4, key.workload);
}

Unexpected<Diagnostics> several_devices(const std::string& path, const MadeKey& key,
                                        const std::set<std::string>& devices) {
  return fail(
      error(Code::kBadOption, {},
            "the records in `{}` have what `{}` made of `{}` on {} GPUs that the target may "
            "be: {}",
            path, key.backend, key.workload, devices.size(), fmt::join(devices, ", "))
          .with_remedy("give the records of one GPU with --records FILE"));
}

}  // namespace

Result<bool> MadeTable::is_there() const {
  TESSERA_TRY(Statement tables,
              Statement::prepare(database_, path_,
                                 "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name "
                                 "IN ('made', 'contents')"));
  TESSERA_TRY_VOID(tables.step());
  return tables.integer(0) == 2;
}

Result<std::optional<MadePart>> MadeTable::find(const MadeKey& key) const {
  TESSERA_TRY(const bool there, is_there());
  if (!there) return std::optional<MadePart>();
  TESSERA_TRY(Statement statement,
              Statement::prepare(database_, path_,
                                 fmt::format("{} WHERE backend = ? AND version = ? AND workload = "
                                             "?{}",
                                             kSelect, kByKey)));
  statement.bind(1, key.backend);
  statement.bind(2, key.version);
  statement.bind(3, key.workload);
  TESSERA_TRY(const MadeRows found, read_rows(statement));
  std::optional<MadePart> part;
  std::set<std::string> contents, devices;
  for (const MadeRow& row : found.list) {
    if (!byoc::is_of_device(row.key.device, key.device)) continue;
    TESSERA_TRY(std::optional<MadePart> of_row, part_of(row));
    if (!of_row) continue;
    contents.insert(row.content + row.refusal);
    devices.insert(fmt::format("`{}`", row.key.device));
    part = std::move(of_row);
  }
  if (contents.size() > 1) return several_devices(path_, key, devices);
  return part;
}

Result<MadeRows> MadeTable::rows() const {
  TESSERA_TRY(const bool there, is_there());
  if (!there) return MadeRows();
  TESSERA_TRY(Statement statement,
              Statement::prepare(database_, path_, fmt::format("{}{}", kSelect, kByKey)));
  return read_rows(statement);
}

Result<std::optional<std::string>> MadeTable::bytes(const MadeRow& row) const {
  TESSERA_TRY(Statement parts,
              Statement::prepare(database_, path_,
                                 "SELECT bytes FROM contents WHERE content = ? ORDER BY part"));
  parts.bind(1, row.content);
  std::string all;
  for (;;) {
    TESSERA_TRY(const bool more, parts.step());
    if (!more) break;
    all += parts.text(0);
  }
  if (hash_of(all) != row.content) return std::optional<std::string>();
  return std::optional(std::move(all));
}

Result<std::optional<MadePart>> MadeTable::part_of(const MadeRow& row) const {
  if (!row.refusal.empty()) return std::optional(MadePart{"", row.refusal});
  TESSERA_TRY(std::optional<std::string> found, bytes(row));
  if (!found) return std::optional<MadePart>();
  return std::optional(MadePart{*std::move(found)});
}

Result<std::optional<MadePart>> MadeTable::exactly(const MadeKey& key) const {
  TESSERA_TRY(Statement statement,
              Statement::prepare(database_, path_,
                                 fmt::format("{} WHERE backend = ? AND version = ? AND device = ? "
                                             "AND workload = ?",
                                             kSelect)));
  bind_key(statement, key);
  TESSERA_TRY(const MadeRows found, read_rows(statement));
  if (found.list.empty()) return std::optional<MadePart>();
  return part_of(found.list.front());
}

Result<void> MadeTable::make_tables() { return execute(database_, path_, kMadeTables); }

Result<MadePart> MadeTable::keep(const MadeKey& key, MadePart part,
                                 const byoc::MadeParts::IsOne& is_one) {
  TESSERA_TRY_VOID(in_transaction(database_, path_, [&]() -> Result<void> {
    TESSERA_TRY_VOID(make_tables());
    TESSERA_TRY(std::optional<MadePart> known, exactly(key));
    if (!known || (is_one && !is_one(*known))) return put(key, part);
    part = *std::move(known);
    return {};
  }));
  return part;
}

Result<void> MadeTable::replace(const MadeKey& key, const MadePart& part) {
  return in_transaction(database_, path_, [&]() -> Result<void> {
    TESSERA_TRY_VOID(make_tables());
    return put(key, part);
  });
}

Result<std::int64_t> MadeTable::take(const MadeTable& other) {
  TESSERA_TRY(const MadeRows rows, other.rows());
  std::int64_t taken = 0;
  if (!rows.list.empty()) TESSERA_TRY_VOID(make_tables());
  for (const MadeRow& row : rows.list) {
    TESSERA_TRY(const std::optional<MadePart> known, exactly(row.key));
    if (known) continue;
    TESSERA_TRY(const std::optional<MadePart> part, other.part_of(row));
    if (!part) continue;
    TESSERA_TRY_VOID(put(row.key, *part));
    ++taken;
  }
  return taken;
}

// Bytes that no row names any more go.
Result<void> MadeTable::put(const MadeKey& key, const MadePart& part) {
  const MadeRow row = row_of(key, part);
  if (part.refusal.empty()) TESSERA_TRY_VOID(put_bytes(row.content, part.bytes));
  TESSERA_TRY(Statement insert,
              Statement::prepare(database_, path_,
                                 "INSERT OR REPLACE INTO made VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  bind_key(insert, key);
  insert.bind(5, row.content);
  insert.bind(6, row.size_bytes);
  insert.bind(7, row.refusal);
  insert.bind(8, checksum(row));
  TESSERA_TRY_VOID(insert.step());
  return execute(database_, path_,
                 "DELETE FROM contents WHERE content NOT IN (SELECT content FROM made)");
}

Result<void> MadeTable::put_bytes(const std::string& content, const std::string& bytes) {
  TESSERA_TRY(Statement erase,
              Statement::prepare(database_, path_, "DELETE FROM contents WHERE content = ?"));
  erase.bind(1, content);
  TESSERA_TRY_VOID(erase.step());
  TESSERA_TRY(Statement insert,
              Statement::prepare(database_, path_, "INSERT INTO contents VALUES (?, ?, ?)"));
  for (std::size_t at = 0; at < bytes.size(); at += kPartBytes) {
    insert.reset();
    insert.bind(1, content);
    insert.bind(2, static_cast<std::int64_t>(at / kPartBytes));
    insert.bind_bytes(3, std::string_view(bytes).substr(at, kPartBytes));
    TESSERA_TRY_VOID(insert.step());
  }
  return {};
}

}  // namespace tessera::tune
