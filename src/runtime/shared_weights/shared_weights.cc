// SPDX-License-Identifier: Apache-2.0
// Maps a file where the library has left room for its weights, before anything reads them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
// Defined by link/: the room, and what is to be mapped there.
extern unsigned char tessera_weights[] __attribute__((visibility("hidden")));
extern const char tessera_shared_weights_file[] __attribute__((visibility("hidden")));
extern const std::uint64_t tessera_shared_weights_bytes __attribute__((visibility("hidden")));

// What is linked asks for this name, and gets the rest with it.
__attribute__((constructor)) void tessera_map_shared_weights() {
  const int file = open(tessera_shared_weights_file, O_RDONLY | O_CLOEXEC);
  const bool is_mapped = file >= 0 && mmap(tessera_weights, tessera_shared_weights_bytes, PROT_READ,
                                           MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED;
  if (file >= 0) close(file);
  if (is_mapped) return;
  std::fprintf(stderr, "tessera: cannot map the weights in %s\n", tessera_shared_weights_file);
  std::abort();
}
}
