// SPDX-License-Identifier: Apache-2.0
// Statements that change a database together.
#pragma once

#include <string>

#include <sqlite3.h>

#include "support/termination.h"
#include "tune/statement.h"

namespace tessera::tune {

inline Result<void> execute(sqlite3* database, const std::string& path, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(database_error(database, path));
}

// All of it or nothing, and a signal leaves no half of it beside the file. What is told is the
// first error: on some SQLite ends the transaction.
template <class Work>
Result<void> in_transaction(sqlite3* database, const std::string& path, const Work& work) {
  TESSERA_TRY_VOID(execute(database, path, "BEGIN IMMEDIATE"));  // which may wait for others
  const Uninterrupted until_done;
  Result<void> done = work();
  if (done) done = execute(database, path, "COMMIT");
  const bool is_open = sqlite3_get_autocommit(database) == 0;
  if (!done && is_open) sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

}  // namespace tessera::tune
