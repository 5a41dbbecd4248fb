// SPDX-License-Identifier: Apache-2.0
#include "driver/recorded_parts.h"

#include <algorithm>
#include <filesystem>

#include "driver/device_of_costs.h"
#include "driver/tuning.h"
#include "support/check.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using byoc::MadeKey;
using byoc::MadePart;

bool has_records(const CompileOptions& options) {
  return options.tuning.measures || !options.records.empty() ||
         options.partition == Partition::kCollage;
}

Result<std::optional<tune::RecordStore>> open_to_read(const std::string& path) {
  std::error_code is_not_there;
  const std::uintmax_t bytes = std::filesystem::file_size(path, is_not_there);
  if (is_not_there || bytes == 0) return std::optional<tune::RecordStore>();
  TESSERA_TRY(tune::RecordStore store, tune::RecordStore::open_to_read(path));
  return std::optional(std::move(store));
}

}  // namespace

Result<std::unique_ptr<RecordedParts>> RecordedParts::open(
    const CompileOptions& options, std::span<const byoc::BackendChoice> choices) {
  const bool is_any = std::any_of(choices.begin(), choices.end(), [](const auto& choice) {
    return choice.backend->makes_on_device(choice.target);
  });
  if (!is_any || !has_records(options)) return std::unique_ptr<RecordedParts>();
  TESSERA_TRY(const std::string path, records_path(options));
  if (options.tuning.measures) {
    TESSERA_TRY(std::string device, device_to_measure_on(options));
    TESSERA_TRY(tune::RecordStore store, tune::RecordStore::open(path));
    return std::unique_ptr<RecordedParts>(
        new RecordedParts(std::move(store), std::move(device), "", true));
  }
  TESSERA_TRY(std::optional<tune::RecordStore> store, open_to_read(path));
  return std::unique_ptr<RecordedParts>(
      new RecordedParts(std::move(store), any_device(options), device_here(options), false));
}

Result<std::optional<MadePart>> RecordedParts::find(const MadeKey& key) const {
  TESSERA_TRY(std::optional<MadePart> found, look_up(key));
  if (found) kept_.insert(key);
  return found;
}

Result<std::optional<MadePart>> RecordedParts::look_up(const MadeKey& key) const {
  if (!store_) return std::optional<MadePart>();
  if (!here_.empty() && key.device == device_) {
    MadeKey of_this_machine = key;
    of_this_machine.device = here_;
    TESSERA_TRY(std::optional<MadePart> found, store_->made().find(of_this_machine));
    if (found) return found;
  }
  return store_->made().find(key);
}

Result<std::vector<byoc::MadeParts::Named>> RecordedParts::all(std::string_view backend,
                                                               std::string_view version,
                                                               std::string_view device) const {
  std::vector<Named> parts;
  if (!store_) return parts;
  TESSERA_TRY(const tune::MadeRows rows, store_->made().rows());
  for (const tune::MadeRow& row : rows.list) {
    const MadeKey& key = row.key;
    if (key.backend != backend || key.version != version || key.device != device) continue;
    TESSERA_TRY(std::optional<MadePart> part, store_->made().part_of(row));
    if (part) parts.emplace_back(key.workload, *std::move(part));
  }
  return parts;
}

Result<MadePart> RecordedParts::keep(const MadeKey& key, MadePart part, const IsOne& is_one) {
  TESSERA_CHECK(may_make_, "a part was made that was not to be");
  kept_.insert(key);
  return store_->made().keep(key, std::move(part), is_one);
}

}  // namespace tessera::driver
