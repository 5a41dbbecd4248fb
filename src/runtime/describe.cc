// SPDX-License-Identifier: Apache-2.0
// What a model says about itself before anything runs.
#include <algorithm>
#include <cstring>

#include "runtime/arguments.h"
#include "runtime/model.h"
#include "runtime/versioned.h"

namespace tessera::runtime {
namespace {

// Inputs whose memory a value may have.
struct Shares {
  const std::int32_t* inputs = nullptr;
  std::int32_t count = 0;
};

Shares shares_of_output(const tessera_program& program, std::int32_t index) {
  if (program.shared_begins == nullptr || index < 0 || index >= program.output_count) return {};
  const std::int32_t* begins = program.shared_begins + index;
  return {program.shared_inputs + begins[0], begins[1] - begins[0]};
}

std::int32_t describe(const tessera_program_io* table, std::int32_t count, const char* what,
                      std::int32_t index, tessera_io* io, const Shares& shares = {},
                      const tessera_program_place* places = nullptr) {
  if (io == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`io` is a null pointer");
  if (index < 0 || index >= count) {
    return fail(TESSERA_INVALID_ARGUMENT, "there is no %s %d; the model has %d", what, index,
                count);
  }
  const tessera_program_io& from = table[index];
  const std::int64_t* max = from.max_shape != nullptr ? from.max_shape : from.shape;
  const std::uint64_t bytes = compact_bytes(from.dtype, from.ndim, max);
  tessera_io full = TESSERA_IO_INIT;
  full.ndim = from.ndim;
  full.name = from.name;
  full.shape = from.shape;
  full.min_shape = from.min_shape != nullptr ? from.min_shape : from.shape;
  full.max_shape = max;
  full.dtype = from.dtype;
  full.align_bytes = static_cast<std::uint32_t>(io_align_bytes(from));
  full.max_bytes = bytes == UINT64_MAX ? 0 : bytes;
  full.shares = shares.inputs;
  full.share_count = shares.count;
  if (places != nullptr && places[index].bytes > 0) {
    full.pool = places[index].pool;
    full.pool_offset = places[index].offset;
  }
  return copy_versioned(full, io, "tessera_io");
}

std::int32_t fail_null_model() {
  return fail(TESSERA_INVALID_ARGUMENT, "`model` is a null pointer");
}

// Into the caller's tensors, where they have room for a shape.
void write_shapes(const tessera_program& program, const std::int64_t* shape,
                  tessera_tensor* outputs) {
  for (std::int32_t i = 0; i < program.output_count; ++i) {
    const std::int32_t ndim = program.outputs[i].ndim;
    outputs[i].ndim = ndim;
    if (outputs[i].shape != nullptr) std::copy_n(shape, ndim, outputs[i].shape);
    shape += ndim;
  }
}

}  // namespace

std::int32_t find_io(const tessera_program_io* table, std::int32_t count, const char* what,
                     const char* name, std::int32_t* index) {
  if (name == nullptr || index == nullptr) {
    return fail(TESSERA_INVALID_ARGUMENT, "`%s` is a null pointer",
                name == nullptr ? "name" : "index");
  }
  TextBuffer names;
  for (std::int32_t i = 0; i < count; ++i) {
    if (std::strcmp(table[i].name, name) == 0) {
      *index = i;
      return TESSERA_OK;
    }
    names.add("%s`%s`", i == 0 ? "" : ", ", table[i].name);
  }
  return fail(TESSERA_INVALID_ARGUMENT, "the model has no %s `%s`; it has %s", what, name,
              count == 0 ? "none" : names.text());
}

}  // namespace tessera::runtime

using namespace tessera::runtime;

int32_t tessera_model_input_count(const tessera_model* model) {
  return model == nullptr ? 0 : model->program->input_count;
}

int32_t tessera_model_output_count(const tessera_model* model) {
  return model == nullptr ? 0 : model->program->output_count;
}

int32_t tessera_model_input(const tessera_model* model, int32_t index, tessera_io* io) {
  if (model == nullptr) return fail_null_model();
  const tessera_program& program = *model->program;
  return describe(program.inputs, program.input_count, "input", index, io, {}, program.places);
}

int32_t tessera_model_output(const tessera_model* model, int32_t index, tessera_io* io) {
  if (model == nullptr) return fail_null_model();
  const tessera_program& program = *model->program;
  return describe(program.outputs, program.output_count, "output", index, io,
                  shares_of_output(program, index),
                  program.places == nullptr ? nullptr : program.places + program.input_count);
}

int32_t tessera_model_weight_count(const tessera_model* model) {
  return model == nullptr ? 0 : model->program->kept_weight_count;
}

int32_t tessera_model_weight(const tessera_model* model, int32_t index, tessera_io* io) {
  if (model == nullptr) return fail_null_model();
  const tessera_program& program = *model->program;
  return describe(program.inputs + program.input_count, program.kept_weight_count, "kept weight",
                  index, io);
}

int32_t tessera_model_find_input(const tessera_model* model, const char* name, int32_t* index) {
  if (model == nullptr) return fail_null_model();
  return find_io(model->program->inputs, model->program->input_count, "input", name, index);
}

int32_t tessera_model_find_output(const tessera_model* model, const char* name, int32_t* index) {
  if (model == nullptr) return fail_null_model();
  return find_io(model->program->outputs, model->program->output_count, "output", name, index);
}

int32_t tessera_model_output_shapes(const tessera_model* model, const tessera_tensor* inputs,
                                    int32_t input_count, tessera_tensor* outputs,
                                    int32_t output_count) {
  if (model == nullptr) return fail_null_model();
  const tessera_program& program = *model->program;
  Array<std::int64_t> dims, shapes;
  if (!dims.allocate(program.symbol_count) || !shapes.allocate(total_output_rank(program))) {
    return fail_out_of_memory("shapes");
  }
  if (std::int32_t status = bind_shapes(program, inputs, input_count, dims.data())) return status;
  if (output_count != program.output_count || (outputs == nullptr && output_count > 0)) {
    return fail(TESSERA_INVALID_ARGUMENT, "%d outputs given, the model has %d",
                outputs == nullptr ? 0 : output_count, program.output_count);
  }
  output_shapes(program, dims.data(), shapes.data());
  write_shapes(program, shapes.data(), outputs);
  return TESSERA_OK;
}

int32_t tessera_model_pool_count(const tessera_model* model) {
  return model == nullptr ? 0 : model->program->pool_count;
}

int32_t tessera_model_pool(const tessera_model* model, int32_t index, tessera_pool* pool) {
  if (model == nullptr) return fail_null_model();
  const tessera_program& program = *model->program;
  if (pool == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`pool` is a null pointer");
  if (index < 0 || index >= program.pool_count) {
    return fail(TESSERA_INVALID_ARGUMENT, "there is no pool %d; the model has %d", index,
                program.pool_count);
  }
  const tessera_program_pool& from = program.pools[index];
  const tessera_pool full = {sizeof(tessera_pool), from.align_bytes, from.name, from.device,
                             from.bytes};
  return copy_versioned(full, pool, "tessera_pool");
}
