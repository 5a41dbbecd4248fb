// SPDX-License-Identifier: Apache-2.0
// SQLite's C interface, as far as the record store needs it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "diagnostics/diagnostic.h"

namespace tessera::tune {

// What SQLite says, about a file.
Diagnostic database_error(sqlite3* database, const std::string& path);

// A prepared statement; bind from 1, columns from 0, as SQLite counts.
class Statement {
 public:
  static Result<Statement> prepare(sqlite3* database, const std::string& path,
                                   const std::string& sql);

  void bind(int at, std::string_view text);
  void bind(int at, double number);
  void bind(int at, std::int64_t number);
  // They stay until the next step is done.
  void bind_bytes(int at, std::string_view bytes);
  // Is there another row?
  Result<bool> step();
  // For the next use of the same statement.
  void reset();

  std::string text(int column) const;
  double number(int column) const;
  std::int64_t integer(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3* database, std::string path, sqlite3_stmt* statement)
      : database_(database), path_(std::move(path)), statement_(statement) {}

  sqlite3* database_;
  std::string path_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

}  // namespace tessera::tune
