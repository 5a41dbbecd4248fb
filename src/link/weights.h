// SPDX-License-Identifier: Apache-2.0
// Weights in a library. The linker sees a page that stands for them, alone in the last segment; the
// finished library gets that segment grown to the size of the weights, which are streamed after
// the linker's output. So the linker's time and memory do not depend on them, and no byte of a
// weight is copied but into the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "constants/tensor.h"
#include "link/elf_object.h"
#include "support/files.h"

namespace tessera::link {

struct WeightPiece {
  std::uint64_t offset = 0;  // in the section; ascending, without overlap
  std::shared_ptr<const Blob> blob;
};

// Page alignment, whatever the machine's page: a library may move to another one.
inline constexpr std::uint64_t kWeightsAlignBytes = 4096;

// The section that takes the weights' place for the linker; its symbol is `tessera_weights`.
DataSection weights_placeholder();

// Weights in a file of their own, which must stay where it is: many libraries can map it.
struct SharedWeights {
  std::string path;  // "": there are none
  std::uint64_t bytes = 0;
};
// Room for them, as `tessera_weights`, and what the runtime's archive `shared_weights` maps there.
std::vector<DataSection> shared_weights_sections(const SharedWeights& weights);
// What the linker must be asked for, to have that archive's object.
inline constexpr const char* kMapsSharedWeights = "tessera_map_shared_weights";

// Turns the linker's output into a library whose weights segment has `bytes` bytes, without these.
// Gives where in the file they belong; at or after the end of `library`.
Result<std::uint64_t> make_room_for_weights(std::string& library, std::uint64_t bytes);

// Writes the pieces, zeros between them, `bytes` in all; pages of mapped files are given back as
// they are written.
void write_weights(FileWriter& file, const std::vector<WeightPiece>& pieces, std::uint64_t bytes);

}  // namespace tessera::link
