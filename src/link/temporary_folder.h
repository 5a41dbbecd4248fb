// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "diagnostics/diagnostic.h"
#include "support/files.h"

namespace tessera::link {

// TempDir::make, with what to do where it fails.
Result<TempDir> temporary_folder(std::string_view prefix);

inline constexpr const char* kMakeRoomForTemporaries =
    "make room, or name another folder for temporary files in TMPDIR";

}  // namespace tessera::link
