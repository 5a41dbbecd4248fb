// SPDX-License-Identifier: Apache-2.0
#include "support/private_folder.h"

#include <cerrno>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

class FolderProblems final : public std::error_category {
 public:
  const char* name() const noexcept override { return "folder"; }
  std::string message(int problem) const override {
    return problem == static_cast<int>(FolderProblem::kOfAnotherUser)
               ? "it belongs to another user"
               : "users other than its owner may write to it";
  }
};

const FolderProblems& folder_problems() {
  static const FolderProblems category;
  return category;
}

Unexpected<FileError> failure(const std::string& path, std::error_code why) {
  return {FileError{path, why}};
}

}  // namespace

std::error_code make_error_code(FolderProblem problem) {
  return {static_cast<int>(problem), folder_problems()};
}

bool is_folder_problem(const std::error_code& code) { return code.category() == folder_problems(); }

FileResult<void> use_private_folder(const std::string& path) {
  std::error_code problem;
  if (const auto above = std::filesystem::path(path).parent_path(); !above.empty()) {
    std::filesystem::create_directories(above, problem);
    if (problem) return failure(above.string(), problem);
  }
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return failure(path, {errno, std::generic_category()});
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return failure(path, {errno, std::generic_category()});
  if (!S_ISDIR(info.st_mode))
    return failure(path, std::make_error_code(std::errc::not_a_directory));
  const bool is_own = info.st_uid == ::geteuid();
  if (!is_own && info.st_uid != 0) return failure(path, FolderProblem::kOfAnotherUser);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return failure(path, FolderProblem::kWritableByOthers);
  }
  // Where that fails, on a read-only disk say, others can read it, and no more.
  if (is_own && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) (void)::chmod(path.c_str(), S_IRWXU);
  return {};
}

}  // namespace tessera
