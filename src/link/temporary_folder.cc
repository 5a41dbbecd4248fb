// SPDX-License-Identifier: Apache-2.0
#include "link/temporary_folder.h"

namespace tessera::link {

Result<TempDir> temporary_folder(std::string_view prefix) {
  auto folder = TempDir::make(prefix);
  if (folder) return *std::move(folder);
  return fail(error(Code::kFileNotWritable, nullptr, "cannot write {}", folder.error().text())
                  .with_remedy(kMakeRoomForTemporaries));
}

}  // namespace tessera::link
