// SPDX-License-Identifier: Apache-2.0
#include "runtime/vendor.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

#include "runtime/error.h"

namespace tessera::runtime {
namespace {

// The libraries stay mapped after dlclose: their threads and exit handlers may still need their
// code.
void* open_file(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE); }

struct Search {
  const char* file;
  TextBuffer looked_in;    // for the message
  char failure[256] = "";  // a file that was there, but did not load

  // Null, too, if `directory` has no such file.
  void* in(const char* directory, std::size_t length) {
    if (length == 0) return nullptr;
    looked_in.add("%.*s, ", static_cast<int>(length), directory);
    char path[PATH_MAX];
    std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(length), directory, file);
    if (access(path, F_OK) != 0) return nullptr;
    void* handle = open_file(path);
    if (handle == nullptr) std::snprintf(failure, sizeof failure, " (%s)", dlerror());
    return handle;
  }

  void* in_list(const char* directories) {
    while (directories != nullptr && *directories != '\0') {
      const char* colon = std::strchr(directories, ':');
      const std::size_t length = colon != nullptr ? colon - directories : std::strlen(directories);
      if (void* handle = in(directories, length)) return handle;
      directories = colon != nullptr ? colon + 1 : nullptr;
    }
    return nullptr;
  }

  void* everywhere(const char* directory) {
    if (directory != nullptr) {
      if (void* handle = in(directory, std::strlen(directory))) return handle;
    }
    if (void* handle = in_list(std::getenv("TESSERA_LIBRARY_PATH"))) return handle;
    return open_file(file);
  }
};

std::int32_t fail_missing(const tessera_program& program, std::int32_t backend,
                          const Search& search) {
  TextBuffer users;
  int count = 0;
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    if (program.externs[i].backend != backend || ++count > 3) continue;
    users.add("%s`%s`", count == 1 ? "" : ", ", program.externs[i].symbol);
  }
  if (count > 3) users.add(" and %d more", count - 3);
  return fail(TESSERA_LIBRARY_MISSING,
              "vendor library `%s` not found%s: back end `%s` needs it for %s; looked in %sand "
              "where the system looks; copy it "
              "beside the model's library, or name its directory in TESSERA_LIBRARY_PATH",
              search.file, search.failure, program.backends[backend].name,
              count == 0 ? "its state" : users.text(), search.looked_in.text());
}

}  // namespace

VendorLibraries::~VendorLibraries() {
  for (const Opened& library : opened_) dlclose(library.handle);
}

std::int32_t VendorLibraries::open(const tessera_program& program, const char* directory) {
  for (std::int32_t b = 0; b < program.backend_count; ++b) {
    const tessera_program_backend& backend = program.backends[b];
    for (std::int32_t i = 0; i < backend.library_count; ++i) {
      if (find(backend.libraries[i]) != nullptr) continue;
      Search search{backend.libraries[i], {}, ""};
      void* handle = search.everywhere(directory);
      if (handle == nullptr) return fail_missing(program, b, search);
      if (!opened_.push({backend.libraries[i], handle})) {
        dlclose(handle);
        return fail_out_of_memory("the list of vendor libraries");
      }
    }
  }
  return TESSERA_OK;
}

void* VendorLibraries::find(const char* file) const {
  for (const Opened& library : opened_) {
    if (std::strcmp(library.file, file) == 0) return library.handle;
  }
  return nullptr;
}

DirectoryOf::DirectoryOf(const void* address) {
  path[0] = '\0';
  Dl_info info;
  char resolved[PATH_MAX];
  if (dladdr(address, &info) == 0 || realpath(info.dli_fname, resolved) == nullptr) return;
  char* slash = std::strrchr(resolved, '/');
  if (slash == nullptr) return;
  std::snprintf(path, sizeof path, "%.*s", static_cast<int>(slash - resolved), resolved);
}

}  // namespace tessera::runtime
