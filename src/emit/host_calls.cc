// SPDX-License-Identifier: Apache-2.0
#include "emit/host_calls.h"

#include "emit/c_text.h"
#include "plan/device.h"
#include "types/target_list.h"

namespace tessera::emit {

using tir::Buffer;

HostCalls::HostCalls(const Module& module, const std::map<std::string, int>& extern_index,
                     HostWriter& writer)
    : module_(module),
      extern_index_(extern_index),
      out_(writer),
      on_device_(!is_on_host(compute_space(module.targets))) {}

void HostCalls::write(const tir::CallKernel& call) {
  const bool generated =
      module_.externs.at(call.symbol).convention == CallingConvention::kGenerated;
  generated ? call_generated(call) : call_backend(call);
}

void HostCalls::call_generated(const tir::CallKernel& s) {
  Source pointers;
  for (const auto* list : {&s.inputs, &s.outputs}) {
    for (const Buffer& b : *list)
      pointers += (pointers.empty() ? Literal("") : ", ") + out_.name(b);
  }
  out_.line("    void* const buffers[] = {{{}}};", pointers);
  const Source sizes = dims(s);
  if (on_device_ && plan::computes_on_cpu(module_, s.symbol)) {
    const Source bytes = copied_bytes(s);
    out_.line("    status = tessera_kernel_on_host(frame, {}, buffers, {}, {}, {}, {});",
              c_name(s.symbol), bytes, s.inputs.size(), s.inputs.size() + s.outputs.size(), sizes);
    return;
  }
  out_.line("    status = {}(buffers, {}, {});", c_name(s.symbol), sizes, call_record(s.symbol));
}

// The bytes of tensors that are copied for a kernel of the CPU; 0 for others.
Source HostCalls::copied_bytes(const tir::CallKernel& s) {
  const std::vector<bool> copied = plan::copied_for_cpu(s, module_.prim_funcs.at(s.symbol));
  std::vector<Buffer> buffers = s.inputs;
  buffers.insert(buffers.end(), s.outputs.begin(), s.outputs.end());
  if (buffers.empty()) return Literal("nullptr");
  Source text;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    text += source("{}{}", i == 0 ? Literal("") : ", ",
                   copied[i] ? out_.byte_count(buffers[i]) : Source("0"));
  }
  out_.line("    const int64_t bytes[] = {{{}}};", text);
  return Literal("bytes");
}

Source HostCalls::dims(const tir::CallKernel& s) {
  if (s.dims.empty()) return Literal("nullptr");
  out_.line("    {}const int64_t dims[] = {{{}}};", all_numbers(s.dims) ? Literal("static ") : "",
            out_.list_of(s.dims));
  return Literal("dims");
}

// Back-end symbols have a record of their own, with their states and workspace.
Source HostCalls::call_record(const std::string& symbol) const {
  const auto it = extern_index_.find(symbol);
  return it == extern_index_.end() ? Source("frame->call")
                                   : source("&frame->extern_calls[{}]", it->second);
}

void HostCalls::call_backend(const tir::CallKernel& s) {
  std::vector<Buffer> all = s.inputs;
  all.insert(all.end(), s.outputs.begin(), s.outputs.end());
  Source list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    tensor(static_cast<int>(i), all[i]);
    list += source("{}&tessera_t{}", i == 0 ? Literal("") : ", ", i);
  }
  out_.line("    tessera_tensor* tensors[] = {{{}}};", list);
  const Source run = c_name(run_function(s.symbol));
  if (on_device_ && plan::computes_on_cpu(module_, s.symbol)) {
    out_.line("    status = tessera_call_on_host(frame, {}, {}, tensors, {}, {});  // {}", run,
              call_record(s.symbol), s.inputs.size(), all.size(), c_comment(s.symbol));
    return;
  }
  out_.line("    status = {}({}, tensors, {});  // {}", run, call_record(s.symbol), all.size(),
            c_comment(s.symbol));
}

const std::string& HostCalls::run_function(const std::string& symbol) const {
  const Extern& e = module_.externs.at(symbol);
  if (e.artifact < 0) return symbol;
  const Artifact& a = module_.artifacts[static_cast<std::size_t>(e.artifact)];
  return a.kind == ArtifactKind::kRuntimeModule ? a.run_function : symbol;
}

// Their names are of a kind that no tensor of the model has (c_identifier): `s0` beside a tensor
// of that name would hide it.
void HostCalls::tensor(int i, const Buffer& b) {
  const Source sizes = out_.list_of(b->shape);
  // The tensor's shape is not const in C, as in DLPack; nobody writes to it.
  const Literal storage = all_numbers(b->shape) ? Literal("static ") : "";
  if (!sizes.empty()) out_.line("    {}int64_t tessera_s{}[] = {{{}}};", storage, i, sizes);
  out_.line("    tessera_tensor tessera_t{} = {{{}, frame->call->device, {}, {}, {}, nullptr, 0}};",
            i, out_.name(b), b->shape.size(), c_dtype(b->dtype),
            sizes.empty() ? Source("nullptr") : source("tessera_s{}", i));
}

}  // namespace tessera::emit
