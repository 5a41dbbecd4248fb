// SPDX-License-Identifier: Apache-2.0
#include "emit/host_declarations.h"

#include <set>

#include "emit/c_text.h"
#include "emit/payloads.h"

namespace tessera::emit {
namespace {

constexpr Literal kGeneratedSignature =
    "(void* const* buffers, const int64_t* dims, const tessera_call* call)";
constexpr Literal kBackendSignature =
    "(const tessera_call* call, tessera_tensor** tensors, int32_t count)";
constexpr Literal kWorkspaceSignature =
    "(const int64_t* dims, tessera_device device, int32_t threads)";
constexpr Literal kCapturableSignature = "(const tessera_states* states, tessera_device device)";

using Names = std::set<std::string>;

Source declaration(const std::string& symbol, const Extern& e) {
  const bool is_generated = e.convention == CallingConvention::kGenerated;
  return source("int32_t {}{};\n", c_name(symbol),
                is_generated ? kGeneratedSignature : kBackendSignature);
}

// "" is no name.
Source functions(Literal type, const Names& names, Literal signature) {
  Source text;
  for (const std::string& name : names) {
    if (!name.empty()) text += source("{} {}{};\n", type, c_name(name), signature);
  }
  return text;
}

Source states(const Module& module) {
  Names creates, destroys;
  for (const Artifact& a : module.artifacts) {
    const StateFunctions& s = a.state;
    creates.insert({s.create_library, s.create_instance, s.create_call_site});
    destroys.insert({s.destroy_library, s.destroy_instance, s.destroy_call_site});
  }
  return functions("int32_t", creates, "(const tessera_state_args* args, void** state)") +
         functions("void", destroys, "(void* state)");
}

}  // namespace

Source emit_declarations(const Module& module) {
  Source text;
  Names run, workspaces, captures;
  for (const auto& [symbol, e] : module.externs) {
    workspaces.insert(e.workspace.query);
    captures.insert(e.capture.query);
    const Artifact* a =
        e.artifact < 0 ? nullptr : &module.artifacts[static_cast<std::size_t>(e.artifact)];
    if (a != nullptr && a->kind == ArtifactKind::kRuntimeModule) {
      run.insert(a->run_function);
    } else {
      text += declaration(symbol, e);
    }
  }
  text += functions("int32_t", run, kBackendSignature);
  text += states(module);
  text += functions("uint64_t", workspaces, kWorkspaceSignature);
  text += functions("int32_t", captures, kCapturableSignature);
  for (const Payload& p : payloads(module)) {
    text += source("extern const unsigned char {}[];\n", c_name(p.symbol));
  }
  return text;
}

Source emit_kernel_declarations(const Module& module) {
  Source text;
  for (const auto& [symbol, e] : module.externs) {
    if (e.artifact < 0) text += declaration(symbol, e);
  }
  return text;
}

}  // namespace tessera::emit
