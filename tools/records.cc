// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/json_text.h"
#include "tools/standard_error.h"
#include "tools/target_options.h"
#include "tune/record_store.h"

namespace tessera::tools {
namespace {

Result<void> check_exists(const std::string& file) {
  std::error_code cannot_be_seen;
  if (std::filesystem::exists(file, cannot_be_seen)) return {};
  return fail(error(Code::kFileNotFound, {}, "there are no records in `{}`", file)
                  .with_remedy("check the path; `tessera tune` writes such a file"));
}

struct RecordsArgs {
  std::string file;
  std::vector<std::string> merged;
  bool json = false;
};

void print_damaged(const std::string& file, const std::vector<std::string>& rows) {
  if (const auto damaged = tune::warning_of_damaged(file, rows)) report(*damaged);
}

Result<void> merge(tune::RecordStore& store, const std::string& file) {
  TESSERA_TRY(const tune::Merged merged, store.merge(file));
  print_damaged(file, merged.damaged);
  tell("{}: {} added, {} better\n", file, merged.added, merged.better);
  return {};
}

void print_json(const std::vector<tune::Record>& records) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const tune::Record& r : records) {
    list.push_back({{"backend", r.key.backend},
                    {"version", r.key.version},
                    {"device", r.key.device},
                    {"toolchain", r.key.toolchain},
                    {"workload", r.key.workload},
                    {"configuration", r.configuration},
                    {"time_us", r.time_us},
                    {"spread_us", r.spread_us},
                    {"failure", r.failure}});
  }
  show("{}\n", json_text(list, 1));
}

// They come sorted by all parts of the key, the fastest first.
void print_text(const std::vector<tune::Record>& records) {
  const tune::RecordKey* last = nullptr;
  for (const tune::Record& r : records) {
    if (last == nullptr || *last != r.key) {
      show("{} {} on {}, {}\n  {}\n", r.key.backend, r.key.version, r.key.device, r.key.toolchain,
           r.key.workload);
    }
    last = &r.key;
    if (r.failure.empty()) {
      show("  {:10.2f} +- {:.2f} us  {}\n", r.time_us, r.spread_us, r.configuration);
    } else {
      show("  {}: {}\n", r.configuration, r.failure);
    }
  }
}

Result<void> show_records(const RecordsArgs& args) {
  if (args.merged.empty()) {
    TESSERA_TRY_VOID(check_exists(args.file));
  }
  for (const std::string& file : args.merged) {  // before the one that takes them is made
    TESSERA_TRY_VOID(check_exists(file));
    TESSERA_TRY_VOID(tune::RecordStore::open_to_read(file));
  }
  TESSERA_TRY(tune::RecordStore store, args.merged.empty()
                                           ? tune::RecordStore::open_to_read(args.file)
                                           : tune::RecordStore::open(args.file));
  for (const std::string& file : args.merged) {
    TESSERA_TRY_VOID(merge(store, file));
  }
  TESSERA_TRY(const tune::Records records, store.all());
  print_damaged(args.file, records.damaged);
  args.json ? print_json(records.list) : print_text(records.list);
  return {};
}

}  // namespace

void add_records(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<RecordsArgs>();
  CLI::App* command =
      app.add_subcommand("records", "Print a file of measurements, or merge others into it");
  command->add_option("file", args->file, "File of measurements")
      ->required()
      ->check(check_records_name);
  command
      ->add_option("--merge", args->merged,
                   "Another file, whose measurements are added; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--json", args->json, "Print an array with an object for each");
  command->callback([&chosen, args] {
    chosen = [args] {
      const auto shown = show_records(*args);
      return shown ? static_cast<int>(kDone) : report(shown.error());
    };
  });
}

}  // namespace tessera::tools
