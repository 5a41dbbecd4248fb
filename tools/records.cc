// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "relay/text/base64.h"
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
  tell("{}: {} added, {} better{}\n", file, merged.added, merged.better,
       merged.made > 0 ? fmt::format(", {} engines or plans", merged.made) : "");
  return {};
}

// Bytes as base64. They are in none of the other entries: these may go, or come from elsewhere.
nlohmann::ordered_json json_of(const tune::MadeRow& row, const std::string& bytes) {
  nlohmann::ordered_json entry = {{"backend", row.key.backend},
                                  {"version", row.key.version},
                                  {"device", row.key.device},
                                  {"workload", row.key.workload}};
  if (!row.refusal.empty()) {
    entry["refusal"] = row.refusal;
    return entry;
  }
  std::string text;
  relay::append_base64(text, std::as_bytes(std::span(bytes)));
  entry["made"] = std::move(text);
  return entry;
}

Result<void> print_json(const tune::RecordStore& store, const std::vector<tune::Record>& records,
                        const std::vector<tune::MadeRow>& made, std::vector<std::string>& damaged) {
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
  for (const tune::MadeRow& row : made) {
    std::optional<std::string> bytes = "";
    if (row.refusal.empty()) {
      TESSERA_TRY(bytes, store.made().bytes(row));
    }
    if (bytes) {
      list.push_back(json_of(row, *bytes));
    } else {
      damaged.push_back(fmt::format("what was made of {}: its bytes are others", row.key.workload));
    }
  }
  show("{}\n", json_text(list, 1));
  return {};
}

Unexpected<Diagnostics> not_records(const std::string& file, const std::string& why) {
  return fail(error(Code::kBadOption, {}, "`{}` is no list of measurements: {}", file, why)
                  .with_remedy("edit what `tessera records FILE --json` prints"));
}

// What print_json writes, edited or not.
struct Edited {
  std::vector<tune::Record> records;
  std::vector<std::pair<byoc::MadeKey, byoc::MadePart>> made;
};

// Throws what the library of JSON throws; nothing if the text is not base64.
std::optional<byoc::MadePart> part_of(const nlohmann::json& entry) {
  if (entry.contains("refusal")) {
    std::string why = entry.at("refusal");
    return why.empty() ? std::nullopt : std::optional(byoc::MadePart{"", std::move(why)});
  }
  const auto bytes = relay::decode_base64(entry.at("made").get_ref<const std::string&>());
  if (!bytes) return std::nullopt;
  return byoc::MadePart{{reinterpret_cast<const char*>(bytes->data()), bytes->size()}};
}

Result<Edited> read_json(const std::string& file) {
  const auto text = read_file(file);
  if (!text) {
    return fail(error(Code::kFileNotFound, {}, "cannot read {}", text.error().text())
                    .with_remedy("check the path"));
  }
  const auto list = nlohmann::json::parse(*text, nullptr, false);
  if (!list.is_array()) return not_records(file, "it is no array of JSON");
  Edited all;
  for (const auto& entry : list) {
    const std::string which = fmt::format("its entry {}", all.records.size() + all.made.size());
    try {
      if (entry.contains("made") || entry.contains("refusal")) {
        const auto part = part_of(entry);
        if (!part) return not_records(file, which + " has no bytes in base64, and no reason");
        all.made.emplace_back(byoc::MadeKey{entry.at("backend"), entry.at("version"),
                                            entry.at("device"), entry.at("workload")},
                              *part);
        continue;
      }
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
      all.records.push_back(std::move(r));
    } catch (const nlohmann::json::exception& e) {
      return not_records(file, which + ": " + e.what());
    }
  }
  return all;
}

Result<void> replace(tune::RecordStore& store, const std::string& file, const Edited& edited) {
  for (const tune::Record& r : edited.records) {
    TESSERA_TRY_VOID(store.replace(r));
  }
  tune::MadeTable made = store.made();
  for (const auto& [key, part] : edited.made) {
    TESSERA_TRY_VOID(made.replace(key, part));
  }
  tell("{}: {} taken\n", file, edited.records.size() + edited.made.size());
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

void print_text(const std::vector<tune::MadeRow>& made) {
  for (const tune::MadeRow& row : made) {
    show("{} {} on {}\n  {}\n  {}\n", row.key.backend, row.key.version, row.key.device,
         row.key.workload,
         row.refusal.empty() ? fmt::format("{} bytes, {}", row.size_bytes, row.content)
                             : row.refusal);
  }
}

Result<void> show_records(const RecordsArgs& args) {
  const bool reads = args.merged.empty() && args.edited.empty();
  if (reads) {
    TESSERA_TRY_VOID(check_exists(args.file));
  }
  std::optional<Edited> edited;  // before the file that takes them is made
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
  TESSERA_TRY(const tune::MadeRows made, store.made().rows());
  std::vector<std::string> damaged = records.damaged;
  damaged.insert(damaged.end(), made.damaged.begin(), made.damaged.end());
  if (args.json) {
    TESSERA_TRY_VOID(print_json(store, records.list, made.list, damaged));
  } else {
    print_text(records.list);
    print_text(made.list);
  }
  print_damaged(args.file, damaged);
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
