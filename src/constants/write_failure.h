// SPDX-License-Identifier: Apache-2.0
// What the writers of NumPy's files say when the system refuses.
#pragma once

#include "diagnostics/diagnostic.h"
#include "support/files.h"

namespace tessera {

inline Result<void> reported(const FileResult<void>& written) {
  if (written) return {};
  return fail(error(Code::kFileNotWritable, nullptr, "cannot write {}", written.error().text())
                  .with_remedy("make room on the disk, or choose another folder"));
}

}  // namespace tessera
