// SPDX-License-Identifier: Apache-2.0
#include "support/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

class PrivateFolder : public testing::Test {
 protected:
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  TempDir folder_ = *TempDir::make("private");
  std::string path_ = folder_.file("a/b");
};

TEST_F(PrivateFolder, IsMadeForItsOwnerAlone) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(use_private_folder(path_));
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0700u);
  EXPECT_TRUE(use_private_folder(path_));
  EXPECT_TRUE(use_private_folder("relative_folder_of_a_test"));
  EXPECT_EQ(::rmdir("relative_folder_of_a_test"), 0);
}

TEST_F(PrivateFolder, OthersReadItNoLonger) {
  ASSERT_TRUE(use_private_folder(path_));
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  EXPECT_TRUE(use_private_folder(path_));
  EXPECT_EQ(mode_of(path_), 0700u);
}

TEST_F(PrivateFolder, WhereOthersMayWriteIsRefused) {
  ASSERT_TRUE(use_private_folder(path_));
  for (const mode_t mode : {0770, 0702, 01777}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const auto used = use_private_folder(path_);
    ASSERT_FALSE(used) << mode;
    EXPECT_TRUE(is_folder_problem(used.error().code));
    EXPECT_EQ(used.error().code, FolderProblem::kWritableByOthers);
    EXPECT_EQ(mode_of(path_), mode);
  }
}

TEST_F(PrivateFolder, OfAnotherUserIsRefusedUnlessThatIsRoot) {
  if (::geteuid() != 0) {
    EXPECT_TRUE(use_private_folder("/usr"));  // root's, read by all
    return;
  }
  ASSERT_TRUE(use_private_folder(path_));
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  const auto used = use_private_folder(path_);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, FolderProblem::kOfAnotherUser);
}

TEST_F(PrivateFolder, WhatIsNoFolderIsSaid) {
  ASSERT_TRUE(write_atomically(folder_.file("file"), "x"));
  for (const std::string name : {"file", "file/below"}) {
    const auto used = use_private_folder(folder_.file(name));
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, std::errc::not_a_directory) << name;
  }
}

}  // namespace
}  // namespace tessera
