// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return dir_->file(name); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir_->path()), fs::directory_iterator()));
  }
  FileResult<TempDir> dir_ = TempDir::make("tessera-test-");
};

TEST_F(Files, WritesAndReads) {
  ASSERT_TRUE(write_atomically(path("a"), "one\ntwo"));
  EXPECT_EQ(*read_file(path("a")), "one\ntwo");
  ASSERT_TRUE(write_atomically(path("a"), ""));
  EXPECT_EQ(*read_file(path("a")), "");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ReadingSaysWhatIsWrong) {
  const auto missing = read_file(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, std::errc::no_such_file_or_directory);
  EXPECT_EQ(missing.error().text(), "`" + path("none") + "`: No such file or directory");
  EXPECT_EQ(read_file(dir_->path()).error().code, std::errc::is_a_directory);
  EXPECT_EQ(MappedFile::open(dir_->path()).error().code, std::errc::is_a_directory);
  EXPECT_EQ(MappedFile::open("/dev/null").error().code, std::errc::invalid_argument);
}

TEST_F(Files, MapsAlsoAnEmptyFile) {
  ASSERT_TRUE(write_atomically(path("a"), "abc"));
  const auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->bytes().size(), 3u);
  EXPECT_EQ(mapped->bytes()[2], std::byte{'c'});
  ASSERT_TRUE(write_atomically(path("b"), ""));
  EXPECT_TRUE(MappedFile::open(path("b"))->bytes().empty());
}

TEST_F(Files, BuffersLongAndShortPieces) {
  std::string expected;
  const auto written = write_atomically(path("a"), [&](FileWriter& out) -> FileResult<void> {
    for (std::size_t size : {1, 100000, 3, 300000, 200000, 100000, 5}) {
      const std::string piece(size, static_cast<char>('a' + size % 26));
      out.write(piece);
      expected += piece;
    }
    out.pad_to(64);
    expected.resize((expected.size() + 63) / 64 * 64);
    EXPECT_EQ(out.position(), expected.size());
    return {};
  });
  ASSERT_TRUE(written);
  EXPECT_EQ(*read_file(path("a")), expected);
}

TEST_F(Files, AFailingWriterLeavesTheOldFile) {
  ASSERT_TRUE(write_atomically(path("a"), "old"));
  const auto written = write_atomically(path("a"), [](FileWriter& out) -> FileResult<void> {
    out.write("new");
    return Unexpected{FileError{"x", std::make_error_code(std::errc::io_error)}};
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(*read_file(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ADiskThatIsFullLeavesNothing) {
  struct rlimit old {};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 4096, old.rlim_max };
  setrlimit(RLIMIT_FSIZE, &small);
  const auto written = write_atomically(path("a"), std::string(1 << 20, 'x'));
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, std::errc::file_too_large);
  EXPECT_EQ(written.error().path, path("a"));
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, RefusesMissingFolderFolderAndReadOnly) {
  EXPECT_EQ(write_atomically(path("no/a"), "x").error().code, std::errc::no_such_file_or_directory);
  EXPECT_EQ(write_atomically(dir_->path(), "x").error().code, std::errc::is_a_directory);
  ASSERT_TRUE(write_atomically(path("file"), "x"));
  EXPECT_EQ(write_atomically(path("file/a"), "x").error().code, std::errc::not_a_directory);
  EXPECT_FALSE(write_atomically("/proc/none", "x"));
  if (geteuid() == 0) return;  // permissions do not bind root
  ASSERT_EQ(chmod(dir_->path().c_str(), 0500), 0);
  EXPECT_EQ(write_atomically(path("a"), "x").error().code, std::errc::permission_denied);
  ASSERT_EQ(chmod(dir_->path().c_str(), 0700), 0);
}

TEST_F(Files, KeepsModeFollowsLinksAndWritesDevices) {
  ASSERT_TRUE(write_atomically(path("a"), "old"));
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  fs::create_symlink("a", path("link"));
  ASSERT_TRUE(write_atomically(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("a")), "new");
  struct stat info {};
  ASSERT_EQ(stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  ASSERT_TRUE(write_atomically("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Files, ANewFileHasTheModeThatTheUmaskLeaves) {
  const mode_t before = umask(026);
  const auto written = write_atomically(path("a"), "x");
  umask(before);
  ASSERT_TRUE(written);
  struct stat info {};
  ASSERT_EQ(stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

// Names that appear in a folder while this lives.
class NewNames {
 public:
  explicit NewNames(const std::string& folder) {
    inotify_add_watch(fd_, folder.c_str(), IN_CREATE | IN_MOVED_TO);
  }
  NewNames(const NewNames&) = delete;
  ~NewNames() { close(fd_); }

  std::vector<std::string> take() const {
    alignas(inotify_event) char events[4096];
    const ssize_t bytes = read(fd_, events, sizeof events);
    std::vector<std::string> names;
    for (ssize_t at = 0; at < bytes;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      names.emplace_back(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return names;
  }

 private:
  int fd_ = inotify_init1(IN_NONBLOCK);
};

// Whenever the program is killed, there is nothing that it would have removed.
TEST_F(Files, ANewFileHasNoNameUntilItIsComplete) {
  const int nameless = open(dir_->path().c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(nameless);
  const NewNames names(dir_->path());
  ASSERT_TRUE(check_writable(path("a")));
  EXPECT_EQ(names.take(), std::vector<std::string>{});
  ASSERT_TRUE(write_atomically(path("a"), [&](FileWriter& out) -> FileResult<void> {
    out.write("x");
    EXPECT_EQ(names.take(), std::vector<std::string>{});
    return {};
  }));
  EXPECT_EQ(names.take(), std::vector<std::string>{"a"});
  // Another one is in its place, and has a name of its own for a moment.
  ASSERT_TRUE(check_writable(path("a")));
  EXPECT_EQ(names.take(), std::vector<std::string>{});
  ASSERT_TRUE(write_atomically(path("a"), "y"));
  EXPECT_EQ(names.take().size(), 2u);
  EXPECT_EQ(entries(), 1u);
}

// From now on, linkat fails in this process. False where that cannot be had.
bool forbid_links() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(rules), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(Files, AFileThatMayNotBeLinkedIsCopied) {
  ASSERT_TRUE(write_atomically(path("old"), "old"));
  ASSERT_EQ(chmod(path("old").c_str(), 0640), 0);
  const std::string large(1 << 20, 'x');
  enum : int { kWritten, kNotWritten, kNoSandbox };
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_links()) _exit(kNoSandbox);
    const bool written = write_atomically(path("old"), large) &&
                         write_atomically(path("new"), "new") &&
                         write_atomically(path("empty"), "");
    _exit(written && !write_atomically(path("no/a"), "x") ? kWritten : kNotWritten);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoSandbox) GTEST_SKIP() << "no system call can be forbidden here";
  EXPECT_EQ(WEXITSTATUS(status), kWritten);
  EXPECT_EQ(*read_file(path("old")), large);
  EXPECT_EQ(*read_file(path("new")), "new");
  EXPECT_EQ(*read_file(path("empty")), "");
  struct stat info {};
  ASSERT_EQ(stat(path("old").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  EXPECT_EQ(entries(), 3u);
}

TEST_F(Files, NamesMayBeAsLongAsAnyMayBe) {
  const std::string longest = path(std::string(255, 'n'));
  for (const char* text : {"first", "second"}) {
    EXPECT_TRUE(check_writable(longest));
    ASSERT_TRUE(write_atomically(longest, text));
    EXPECT_EQ(*read_file(longest), text);
  }
  EXPECT_FALSE(check_writable(path(std::string(256, 'n'))));
}

TEST(TempDirs, AreRemovedUnlessKept) {
  std::string gone, kept;
  {
    auto a = TempDir::make("tessera-test-"), b = TempDir::make("tessera-test-");
    ASSERT_TRUE(a && b);
    ASSERT_TRUE(write_atomically(a->file("x"), "x"));
    gone = a->path();
    kept = b->keep();
  }
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_TRUE(fs::exists(kept));
  fs::remove_all(kept);
}

}  // namespace
}  // namespace tessera
