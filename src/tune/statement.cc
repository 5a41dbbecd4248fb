// SPDX-License-Identifier: Apache-2.0
#include "tune/statement.h"

#include <filesystem>

namespace tessera::tune {

namespace {

namespace fs = std::filesystem;

Diagnostic not_opened(const std::string& path, const char* what) {
  std::error_code cannot_be_seen;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, cannot_be_seen)) {
    return error(Code::kFileNotFound, nullptr, "the records in `{}`: there is no folder `{}`", path,
                 folder.string())
        .with_remedy("make the folder, or name a file in another");
  }
  return error(Code::kFileNotWritable, nullptr, "the records in `{}` cannot be opened: {}", path,
               what)
      .with_remedy("check the permissions of the file and its folder, or name another file");
}

}  // namespace

Diagnostic database_error(sqlite3* database, const std::string& path) {
  const char* what = sqlite3_errmsg(database);
  std::error_code cannot_be_seen;
  if (fs::is_directory(path, cannot_be_seen)) {
    return error(Code::kBadOption, nullptr, "`{}` is a folder, and records are in a file", path)
        .with_remedy("name a file in it");
  }
  const auto not_written = [&](const char* remedy) {
    return error(Code::kFileNotWritable, nullptr, "cannot write the records in `{}`: {}", path,
                 what)
        .with_remedy(remedy);
  };
  switch (sqlite3_errcode(database)) {
    case SQLITE_CANTOPEN:
      return not_opened(path, what);
    case SQLITE_READONLY:
      return not_written("make the file and its folder writable, or name another file");
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return not_written("make room on the disk, or name another file");
    case SQLITE_CORRUPT:
      return error(Code::kBadOption, nullptr, "the file of the records in `{}` is damaged: {}",
                   path, what)
          .with_remedy(
              "`sqlite3 FILE .recover | sqlite3 NEW` saves the records that can still be read; "
              "`tessera tune` with a new file measures all of them again");
    default:
      break;
  }
  const bool is_busy = sqlite3_errcode(database) == SQLITE_BUSY;
  return error(Code::kBadOption, nullptr, "the records in `{}`: {}", path, what)
      .with_remedy(is_busy ? "another process keeps the file; try again when it ends"
                           : "name a file that `tessera tune` made, or a new one");
}

Result<Statement> Statement::prepare(sqlite3* database, const std::string& path,
                                     const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &made, nullptr) !=
      SQLITE_OK) {
    return fail(database_error(database, path));
  }
  return Statement(database, path, made);
}

void Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

void Statement::bind(int at, double number) { sqlite3_bind_double(statement_.get(), at, number); }

void Statement::bind(int at, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), at, number);
}

void Statement::bind_bytes(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), at, bytes.data(), bytes.size(), SQLITE_STATIC);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(database_error(database_, path_));
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int count = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(count));
}

double Statement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

}  // namespace tessera::tune
