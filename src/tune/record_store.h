// SPDX-License-Identifier: Apache-2.0
// What was measured, and what was made on devices, in one SQLite file that any number of processes
// may read and write at a time. Rows that are damaged are skipped and named; files are merged
// without losing anything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/compile_context.h"
#include "diagnostics/diagnostic.h"
#include "tune/made_table.h"

struct sqlite3;

namespace tessera::tune {

// What a measurement is of. Equal keys, equal work.
struct RecordKey {
  std::string backend, version;
  std::string device;     // "sm_90a 132 NVIDIA H200": architecture, multiprocessors, name
  std::string toolchain;  // Toolchain::identity and what else decides the machine code
  std::string workload;   // the back end's canonical text

  friend auto operator<=>(const RecordKey&, const RecordKey&) = default;
};

// What failures begin with that count more than others. The first is what measuring programs say:
// it is true whatever else was measured. The second is of the kernel, however that is launched.
inline constexpr std::string_view kWrongNumbers = "it computes wrong numbers";
inline constexpr std::string_view kNotCompiled = "it does not compile";

struct Record {
  RecordKey key;
  std::string configuration;  // the back end's text
  double time_us = 0;         // median
  double spread_us = 0;       // between the quartiles
  std::string failure;  // why it cannot be used: it did not compile, or computed wrong numbers

  friend bool operator==(const Record&, const Record&) = default;
};

struct Records {
  std::vector<Record> list;
  std::vector<std::string> damaged;  // of each skipped row: where, and what is wrong with it
};

struct Merged {
  // New ones, and those in the place of what was less well known: see RecordStore::add.
  std::int64_t added = 0, better = 0;
  std::int64_t made = 0;  // engines and plans, of which there were none
  std::vector<std::string> damaged;
};

// Counts damaged rows of a file and names them; nothing if there are none.
std::optional<Diagnostic> warning_of_damaged(const std::string& path,
                                             const std::vector<std::string>& rows);

class RecordStore final : public byoc::Measurements {
 public:
  // Makes the file if it is not there, or empty. An error if it is something else, or of another
  // version: then nothing in it changes.
  static Result<RecordStore> open(const std::string& path);
  // The same of a file that has to be there, to read alone.
  static Result<RecordStore> open_to_read(const std::string& path);

  // Two records of one configuration leave one: the faster, a time rather than a failure, wrong
  // numbers rather than a time, and each of them rather than a damaged row.
  Result<void> add(const Record& record);
  // Whatever stands there: of this configuration it is the one record from now on.
  Result<void> replace(const Record& record);
  // All of a key: the fastest first, failures last, in an order that depends on nothing else.
  Result<Records> find(const RecordKey& key) const;
  Result<Records> all() const;
  // Whatever the toolchain was, as rank() says.
  Result<byoc::Ranking> ranking(std::string_view backend, std::string_view version,
                                std::string_view device,
                                const byoc::Workload& workload) const override;
  // Engines and plans. The store outlives it.
  MadeTable made() const;
  // Takes over what another file has, in one transaction.
  Result<Merged> merge(const std::string& path);

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  RecordStore(std::string path, sqlite3* database) : path_(std::move(path)), database_(database) {}
  static Result<RecordStore> open_database(const std::string& path, int flags);

  std::string path_;
  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace tessera::tune
