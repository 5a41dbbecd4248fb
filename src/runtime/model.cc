// SPDX-License-Identifier: Apache-2.0
#include "runtime/model.h"

#include <cstdlib>
#include <cstring>

#include "runtime/error.h"
#include "runtime/fork.h"
#include "runtime/unpacked_weights.h"

namespace tessera::runtime {
namespace {

std::int32_t check_versions(const tessera_program& program, const tessera_model_options* options) {
  if (program.program_version != TESSERA_PROGRAM_VERSION ||
      program.abi_version != TESSERA_ABI_VERSION) {
    return fail(TESSERA_WRONG_ABI,
                "this library's parts do not belong together: its program has ABI version %u.%u, "
                "its runtime %u.%u; compile the "
                "model again",
                program.abi_version, program.program_version, TESSERA_ABI_VERSION,
                TESSERA_PROGRAM_VERSION);
  }
  if (options == nullptr) return TESSERA_OK;
  if (options->struct_bytes < sizeof(tessera_model_options)) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "struct_bytes of tessera_model_options is %u, not at least %zu: start from "
                "TESSERA_MODEL_OPTIONS_INIT",
                options->struct_bytes, sizeof(tessera_model_options));
  }
  if (options->abi_version != TESSERA_ABI_VERSION) {
    return fail(TESSERA_WRONG_ABI,
                "the program was built for ABI version %u, the model's library has ABI version %u: "
                "compile the "
                "model with the tessera whose headers the program uses",
                options->abi_version, TESSERA_ABI_VERSION);
  }
  return TESSERA_OK;
}

std::int32_t check_machine(const tessera_program& program) {
  if (program.cpu_arch != nullptr && std::strcmp(program.cpu_arch, tessera_host_arch()) != 0) {
    return fail(TESSERA_WRONG_MACHINE, "the model was compiled for %s, and this machine is %s",
                program.cpu_arch, tessera_host_arch());
  }
  TextBuffer missing;
  int count = 0;
  for (std::int32_t i = 0; i < program.cpu_feature_count; ++i) {
    if (tessera_cpu_has(program.cpu_features[i]) == 1) continue;
    missing.add("%s%s", count++ == 0 ? "" : ", ", program.cpu_features[i]);
  }
  if (count == 0) return TESSERA_OK;
  return fail(TESSERA_WRONG_MACHINE,
              "the model (`%s`) was compiled for a CPU with %s, which this one does not have: "
              "compile it with `--target \"cpu -mcpu=NAME\"`, the name of a CPU that both "
              "machines are",
              program.target, missing.text());
}

// The host's memory with constant `i`; null: a device has it alone.
const void* constant_of(const tessera_program& program, std::int32_t i, const void* unpacked) {
  if (program.constant_data != nullptr) return program.constant_data[i];
  const std::uint64_t at = program.constants[i].offset;
  for (std::int32_t p = 0; p < program.packed_count; ++p) {
    const tessera_program_packed& packed = program.packed[p];
    if (packed.offset != at) continue;
    return is_unpacked_on_host(program, packed)
               ? static_cast<const char*>(unpacked) + (at - program.mapped_bytes)
               : nullptr;
  }
  return static_cast<const char*>(program.weights) + at;
}

std::int32_t find_constants(tessera_model& model) {
  const tessera_program& program = *model.program;
  if (!model.constants.allocate(program.constant_count)) {
    return fail_out_of_memory("the table of constants");
  }
  const void* unpacked = nullptr;
  if (std::int32_t status = use_unpacked_weights(program, &unpacked)) return status;
  model.has_unpacked = true;
  for (std::int32_t i = 0; i < program.constant_count; ++i) {
    model.constants[i] = constant_of(program, i, unpacked);
  }
  return TESSERA_OK;
}

std::int32_t set_up(tessera_model& model, const tessera_vendor_search& where) {
  const tessera_program& program = *model.program;
  if (std::int32_t status = find_constants(model)) return status;
  if (!collect_artifacts(model)) return fail_out_of_memory("the table of artifacts");
  return model.vendors.open(program, where);
}

}  // namespace

void retain(tessera_model* model) { model->references.fetch_add(1, std::memory_order_relaxed); }

void release(tessera_model* model) {
  if (model->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  destroy_device_states(*model);
  if (model->has_unpacked) release_unpacked_weights(*model->program);
  destroy(model);
}

}  // namespace tessera::runtime

int32_t tessera_model_create_from(const tessera_program* program, tessera_vendor_search search,
                                  const tessera_model_options* options, tessera_model** model) {
  using namespace tessera::runtime;
  if (model == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`model` is a null pointer");
  *model = nullptr;
  if (std::int32_t status = check_versions(*program, options)) return status;
  if (std::int32_t status = check_machine(*program)) return status;
  watch_forks();
  auto* created = create<tessera_model>();
  if (created == nullptr) return fail_out_of_memory("the model");
  created->program = program;
  created->references.store(1, std::memory_order_relaxed);
  if (std::int32_t status = set_up(*created, search)) {
    release(created);
    return status;
  }
  *model = created;
  return TESSERA_OK;
}

void tessera_model_destroy(tessera_model* model) {
  if (model != nullptr) tessera::runtime::release(model);
}
