// SPDX-License-Identifier: Apache-2.0
// The functions that are about the library itself: the only ones that know which program is in it,
// or which of several, each for a CPU. They stand apart so that a process which brings its own
// programs can link the rest of the runtime.
#include "runtime/program.h"
#include "runtime/vendor.h"

namespace {

// The first that suits the CPU. Where none does, the last, which asks for least: it is refused.
const tessera_program& program_here() {
  const tessera_program* program = &tessera_model_program;
  for (int32_t i = 0; i < tessera_model_program.other_count && tessera_suits_cpu(program) == 0;
       ++i) {
    program = tessera_model_program.others[i];
  }
  return *program;
}

}  // namespace

uint32_t tessera_abi_version(void) { return TESSERA_ABI_VERSION; }

const char* tessera_build_id(void) { return tessera_model_program.build_id; }

const char* tessera_target(void) { return program_here().target; }

const char* tessera_metadata_json(void) {
  const char* metadata = tessera_model_program.metadata;
  return metadata != nullptr ? metadata : "{}";
}

int32_t tessera_model_create(const tessera_model_options* options, tessera_model** model) {
  tessera_vendor_search search = {nullptr, tessera_vendor_folders};
  // What lies beside the library is not looked at unless a compilation put it there.
  if (tessera_model_program.bundled_count == 0) {
    return tessera_model_create_from(&program_here(), search, options, model);
  }
  const tessera::runtime::DirectoryOf directory(&tessera_model_program);
  if (directory.path[0] != '\0') search.first = directory.path;
  return tessera_model_create_from(&program_here(), search, options, model);
}
