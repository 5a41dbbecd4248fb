// SPDX-License-Identifier: Apache-2.0
// The parts of byoc/made_parts.h in a file of records: a row for each key, which names its bytes by
// their hash. Equal bytes stand there once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "byoc/made_parts.h"
#include "tune/statement.h"

namespace tessera::tune {

struct MadeRow {
  byoc::MadeKey key;
  std::string content;  // the hash of the bytes, in hexadecimal digits; "" beside a refusal
  std::int64_t size_bytes = 0;
  std::string refusal;

  friend bool operator==(const MadeRow&, const MadeRow&) = default;
};

struct MadeRows {
  std::vector<MadeRow> list;         // in the order of their keys
  std::vector<std::string> damaged;  // of each skipped row: which, and what is wrong with it
};

// Of an open file of records, which outlives it. Files of versions that had no such parts have
// none.
class MadeTable {
 public:
  MadeTable(sqlite3* database, std::string path) : database_(database), path_(std::move(path)) {}

  // As MadeParts::find says.
  Result<std::optional<byoc::MadePart>> find(const byoc::MadeKey& key) const;
  Result<MadeRows> rows() const;
  // Nothing if they are damaged.
  Result<std::optional<std::string>> bytes(const MadeRow& row) const;
  Result<std::optional<byoc::MadePart>> part_of(const MadeRow& row) const;

  // What stands there stays, unless it is damaged or is_one denies it, and comes back.
  Result<byoc::MadePart> keep(const byoc::MadeKey& key, byoc::MadePart part,
                              const byoc::MadeParts::IsOne& is_one = nullptr);
  // Whatever stands there.
  Result<void> replace(const byoc::MadeKey& key, const byoc::MadePart& part);
  // Keeps what another file has, in the transaction that the caller has begun; how many are new.
  Result<std::int64_t> take(const MadeTable& other);

 private:
  Result<bool> is_there() const;
  Result<std::optional<byoc::MadePart>> exactly(const byoc::MadeKey& key) const;
  Result<void> make_tables();
  Result<void> put(const byoc::MadeKey& key, const byoc::MadePart& part);
  Result<void> put_bytes(const std::string& content, const std::string& bytes);

  sqlite3* database_;
  std::string path_;
};

}  // namespace tessera::tune
