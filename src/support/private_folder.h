// SPDX-License-Identifier: Apache-2.0
// Folders whose files are believed without a second look, because nobody else can have put them
// there.
#pragma once

#include <string>

#include "support/files.h"

namespace tessera {

// Codes for what is wrong with a folder that is there and can be used, but not trusted.
enum class FolderProblem { kOfAnotherUser = 1, kWritableByOthers = 2 };
std::error_code make_error_code(FolderProblem problem);
bool is_folder_problem(const std::error_code& code);

// Makes the folder, and those above it, if it is not there, with mode 700. One that is there must
// belong to this user or to root and be writable by its owner alone; what others can still do in
// one of this user's is taken from them.
FileResult<void> use_private_folder(const std::string& path);

}  // namespace tessera

template <>
struct std::is_error_code_enum<tessera::FolderProblem> : std::true_type {};
