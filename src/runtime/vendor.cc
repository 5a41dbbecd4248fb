// SPDX-License-Identifier: Apache-2.0
#include "runtime/vendor.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blake2b.h"
#include "runtime/error.h"
#include "runtime/gomp.h"
#include "runtime/memory_image.h"
#include "runtime/tbb.h"

namespace tessera::runtime {
namespace {

// The libraries stay mapped after dlclose: their threads and exit handlers may still need their
// code.
void* open_file(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE); }

// Is the file's content that of the hash? Who can exchange it afterwards can exchange the model's
// library beside it as well.
bool has_hash(const char* path, const char* hash) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct stat about;
  bool same = false;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
    const auto size = static_cast<std::size_t>(about.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (bytes != MAP_FAILED) {
      same = std::strcmp(Blake2b(bytes, size).text, hash) == 0;
      munmap(bytes, size);
    }
  }
  close(file);
  return same;
}

struct Search {
  const char* file;
  TextBuffer looked_in;    // for the message
  char failure[256] = "";  // a file that was there, but did not load

  // Null, too, if `directory` has no such file, or none of the hash that is asked for.
  void* in(const char* directory, std::size_t length, const char* hash = nullptr) {
    if (length == 0) return nullptr;
    looked_in.add("%.*s, ", static_cast<int>(length), directory);
    char path[PATH_MAX];
    std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(length), directory, file);
    if (access(path, F_OK) != 0) return nullptr;
    if (hash != nullptr && !has_hash(path, hash)) {
      std::snprintf(failure, sizeof failure, " (the one beside the model is not what was bundled)");
      return nullptr;
    }
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

  void* everywhere(const tessera_program& program, const tessera_vendor_search& where) {
    const tessera_program_bundled* bundled = bundled_in(program);
    if (bundled != nullptr && bundled->bytes > 0) {
      const auto* weights = static_cast<const char*>(program.weights);
      const MemoryImage image{weights + bundled->offset,
                              bundled->unpack != nullptr ? bundled->packed_bytes : bundled->bytes,
                              bundled->bytes, bundled->hash, bundled->unpack};
      if (void* handle = open_image(image, failure)) return handle;
    } else if (where.first != nullptr && (bundled != nullptr || program.bundled_count == 0)) {
      const char* hash = bundled != nullptr ? bundled->hash : nullptr;
      if (void* handle = in(where.first, std::strlen(where.first), hash)) return handle;
    }
    if (void* handle = in_list(std::getenv("TESSERA_LIBRARY_PATH"))) return handle;
    if (void* handle = open_file(file)) return handle;
    for (const char* at = where.last; at != nullptr && *at != '\0'; at += std::strlen(at) + 1) {
      if (void* handle = in(at, std::strlen(at))) return handle;
    }
    return nullptr;
  }

 private:
  // Null: it has not been bundled.
  const tessera_program_bundled* bundled_in(const tessera_program& program) const {
    for (std::int32_t i = 0; i < program.bundled_count; ++i) {
      if (std::strcmp(program.bundled[i].file, file) == 0) return &program.bundled[i];
    }
    return nullptr;
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
  const tessera_program_backend& owner = program.backends[backend];
  const char* last = owner.libraries[owner.library_count - 1];
  TextBuffer needed;  // the others are there for the last one
  if (std::strcmp(last, search.file) != 0) needed.add(", which `%s` needs,", last);
  const char* looked_in = search.looked_in.text();
  const bool only_system = looked_in[0] == '\0';
  return fail(
      TESSERA_LIBRARY_MISSING,
      "vendor library `%s`%s not found%s: back end `%s` needs it for %s; looked %s%s%swhere "
      "the system looks; name its directory in TESSERA_LIBRARY_PATH, or compile the model "
      "with --bundle, which puts it beside the library",
      search.file, needed.text(), search.failure, owner.name,
      count == 0 ? "its state" : users.text(), only_system ? "" : "in ", looked_in,
      only_system ? "" : "and ");
}

// Then it has none of libgomp, which is left alone: the program may want it with other settings.
bool has_threads_of_tbb(const tessera_program_backend& backend) {
  for (std::int32_t i = 0; i < backend.library_count; ++i) {
    if (std::strcmp(backend.libraries[i], kTbbFile) == 0) return true;
  }
  return false;
}

}  // namespace

VendorLibraries::~VendorLibraries() {
  for (const Opened& library : opened_) dlclose(library.handle);
}

std::int32_t VendorLibraries::open(const tessera_program& program,
                                   const tessera_vendor_search& where) {
  for (std::int32_t b = 0; b < program.backend_count; ++b) {
    const tessera_program_backend& backend = program.backends[b];
    for (std::int32_t i = 0; i < backend.library_count; ++i) {
      if (find(backend.libraries[i]) != nullptr) continue;
      if (!has_threads_of_tbb(backend)) open_gomp();  // before the library does
      Search search{backend.libraries[i], {}, ""};
      void* handle = search.everywhere(program, where);
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
