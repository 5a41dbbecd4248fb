// SPDX-License-Identifier: Apache-2.0
#include "driver/shared_weights_file.h"

#include <fstream>

#include "link/temporary_folder.h"
#include "plan/constants.h"
#include "plan/rounding.h"

namespace tessera::driver {

Result<std::unique_ptr<SharedWeightsFile>> SharedWeightsFile::make() {
  TESSERA_TRY(TempDir folder, link::temporary_folder("tessera-weights-"));
  return std::unique_ptr<SharedWeightsFile>(new SharedWeightsFile(std::move(folder)));
}

Result<std::uint64_t> SharedWeightsFile::offset_of(const Blob& blob) {
  const auto [entry, is_new] = offset_by_hash_.try_emplace(blob.hash().hex(), bytes_);
  if (!is_new) return entry->second;
  std::ofstream file(path(), std::ios::binary | std::ios::app);
  const auto size = static_cast<std::int64_t>(blob.size_bytes());
  const std::int64_t whole = plan::round_up(size, plan::kConstantAlignBytes);
  file.write(reinterpret_cast<const char*>(blob.bytes().data()), size);
  file << std::string(static_cast<std::size_t>(whole - size), '\0');
  file.close();
  if (!file) {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", path())
                    .with_remedy(link::kMakeRoomForTemporaries));
  }
  blob.release_pages();
  bytes_ += static_cast<std::uint64_t>(whole);
  return entry->second;
}

Result<void> SharedWeightsFile::hold(emit::WeightsLayout& layout) {
  TESSERA_CHECK(layout.packed.empty(), "libraries that are timed have packed weights");
  std::map<std::uint64_t, std::uint64_t> moved;
  for (const emit::WeightsLayout::Piece& piece : layout.pieces) {
    TESSERA_TRY(moved[piece.offset], offset_of(*piece.blob));
  }
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    const auto found = moved.find(layout.offsets[i]);
    if (layout.used[i] && found != moved.end()) layout.offsets[i] = found->second;
  }
  layout.pieces.clear();
  layout.mapped_bytes = layout.bytes = bytes_;
  return {};
}

}  // namespace tessera::driver
