// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/files.h"
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
  std::string edited;
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

Unexpected<Diagnostics> not_records(const std::string& file, const std::string& why) {
  return fail(error(Code::kBadOption, {}, "`{}` is no list of measurements: {}", file, why)
                  .with_remedy("edit what `tessera records FILE --json` prints"));
}

// What print_json writes, edited or not.
Result<std::vector<tune::Record>> read_json(const std::string& file) {
  const auto text = read_file(file);
  if (!text) {
    return fail(error(Code::kFileNotFound, {}, "cannot read {}", text.error().text())
                    .with_remedy("check the path"));
  }
  const auto list = nlohmann::json::parse(*text, nullptr, false);
  if (!list.is_array()) return not_records(file, "it is no array of JSON");
  std::vector<tune::Record> records;
  for (const auto& entry : list) {
    const std::string which = fmt::format("its entry {}", records.size());
    try {
      tune::Record r{{entry.at("backend"), entry.at("version"), entry.at("device"),
                      entry.at("toolchain"), entry.at("workload")},
                     entry.at("configuration"),
                     entry.at("time_us"),
                     entry.at("spread_us"),
                     entry.at("failure")};
      const bool has_time = std::isfinite(r.time_us) && r.time_us > 0 && r.spread_us >= 0;
      if (r.failure.empty() != has_time) {
        return not_records(file, which + " has no time above 0, or one beside a failure");
      }
      records.push_back(std::move(r));
    } catch (const nlohmann::json::exception& e) {
      return not_records(file, which + ": " + e.what());
    }
  }
  return records;
}

Result<void> replace(tune::RecordStore& store, const std::string& file,
                     const std::vector<tune::Record>& records) {
  for (const tune::Record& r : records) {
    TESSERA_TRY_VOID(store.replace(r));
  }
  tell("{}: {} taken\n", file, records.size());
  return {};
}

// They come sorted by all parts of the key, the fastest first.
void print_text(const std::vector<tune::Record>& records) {
  const tune::RecordKey* last = nullptr;
  for (const tune::Record& r : records) {
    if (last == nullptr || *last != r.key) {
      show("{} {} on {}{}{}\n  {}\n", r.key.backend, r.key.version, r.key.device,
           r.key.toolchain.empty() ? "" : ", ", r.key.toolchain, r.key.workload);
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
  const bool reads = args.merged.empty() && args.edited.empty();
  if (reads) {
    TESSERA_TRY_VOID(check_exists(args.file));
  }
  std::optional<std::vector<tune::Record>> edited;  // before the file that takes them is made
  if (!args.edited.empty()) {
    TESSERA_TRY(edited, read_json(args.edited));
  }
  for (const std::string& file : args.merged) {  // before the one that takes them is made
    TESSERA_TRY_VOID(check_exists(file));
    TESSERA_TRY_VOID(tune::RecordStore::open_to_read(file));
  }
  TESSERA_TRY(tune::RecordStore store, reads ? tune::RecordStore::open_to_read(args.file)
                                             : tune::RecordStore::open(args.file));
  for (const std::string& file : args.merged) {
    TESSERA_TRY_VOID(merge(store, file));
  }
  if (edited) {
    TESSERA_TRY_VOID(replace(store, args.edited, *edited));
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
  command->add_option("--import", args->edited,
                      "A file as --json prints it, perhaps edited: its measurements take the place "
                      "of those that are there");
  command->add_flag("--json", args->json, "Print an array with an object for each");
  command->callback([&chosen, args] {
    chosen = [args] {
      const auto shown = show_records(*args);
      return shown ? static_cast<int>(kDone) : report(shown.error());
    };
  });
}

}  // namespace tessera::tools
