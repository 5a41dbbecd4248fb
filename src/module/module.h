// SPDX-License-Identifier: Apache-2.0
// A module: everything that one compilation knows, from the imported graph to what back ends
// produced.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "constants/pool.h"
#include "diagnostics/diagnostic.h"
#include "relay/function.h"
#include "tir/prim_func.h"
#include "types/dim.h"
#include "types/memory_space.h"
#include "types/target.h"

namespace tessera {

// How the host program calls a function (architecture section 10).
enum class CallingConvention : std::uint8_t { kGenerated, kBackend };

// Bytes of workspace that a call needs: fixed, or what a function of the back end answers when an
// instance is created (`query`, a tessera_workspace_fn), for the largest sizes.
struct Workspace {
  std::int64_t bytes = 0;
  std::string query = {};
};

// May runs that call it be recorded and replayed on a device? A function of the back end may still
// say no when an instance is created (`query`, a tessera_capturable_fn).
struct Capture {
  bool is_allowed = true;
  std::string query = {};
};

// A function that some artifact, or the loop IR of the module, defines.
struct Extern {
  std::string backend;         // Target kind, or "native"
  std::int32_t artifact = -1;  // index into Module::artifacts; -1: a prim_func of the module
  CallingConvention convention = CallingConvention::kBackend;
  // Where its tensors are; none: in the main memory of the machine that the module is for.
  std::optional<MemorySpace> space = {};
  Workspace workspace;
  Capture capture;
  // What its products and functions of float32 are as exact as: tf32 has the digits of float16.
  DType float32_precision = kFloat32;
  std::vector<Type> inputs, outputs;     // flattened tensors of the signature
  std::vector<ConstantIndex> constants;  // passed to the artifact's state by name: see Artifact
  std::vector<std::string> operators;    // names, for reports
  std::vector<Location> sources;         // model nodes that it computes
};

enum class ArtifactKind : std::uint8_t { kCSource, kStaticLibrary, kRuntimeModule };

// Constant data that a runtime module receives when its state is created.
struct NamedConstant {
  std::string name;
  ConstantIndex index;
};

// The C functions of a back end's runtime archive, by name; "" where it has no such state. All
// artifacts of one back end name the same ones (signatures: include/tessera/call.h).
struct StateFunctions {
  std::string create_library, destroy_library;      // of a back end and (model, device)
  std::string create_instance, destroy_instance;    // of a back end and instance
  std::string create_call_site, destroy_call_site;  // of a symbol and instance
};

// What a back end produced: for all of its functions at once (C source, static library), or for one
// function (runtime module).
struct Artifact {
  ArtifactKind kind = ArtifactKind::kCSource;
  std::string backend;
  std::vector<std::string>
      symbols;          // of the module's externs that it defines; a runtime module has one
  std::string payload;  // C++ source; what a runtime module interprets; an archive's bytes
  std::vector<std::string> compile_flags;  // kCSource
  std::vector<std::string>
      runtime_archives;  // what travels of backends/X/runtime: "onednn_runtime"
  std::vector<std::string>
      cuda_libraries;  // static libraries of the CUDA toolkit: "libcudart_static.a"
  std::vector<std::string>
      vendor_libraries;      // sonames opened with dlopen at create, in this order: "libdnnl.so.3"
  std::string run_function;  // kRuntimeModule: the tessera_backend_fn that runs its symbol
  std::vector<NamedConstant> constants;  // kRuntimeModule: by the names that the payload uses
  StateFunctions state;
};

// A parameter of main that has a value until a user of the library sets another one.
struct KeptWeight {
  std::string name;
  ConstantIndex value;
};

struct Module {
  std::map<std::string, relay::Function> functions;  // by global symbol
  std::map<std::string, tir::PrimFunc> prim_funcs;
  std::map<std::string, Extern> externs;
  ConstantPool constants;
  std::vector<KeptWeight> kept_weights;  // the last parameters of main, in order
  std::vector<Artifact> artifacts;
  std::vector<Target> targets;
  SymbolTable symbols;
  std::vector<Diagnostic> warnings;  // of its import
};

// Structural equality of two modules (relay-spec 2.12, contract.md `diff`); the first difference in
// words.
struct ModuleDifference {
  bool equal = true;
  std::string where, what;
};
struct CompareOptions {
  bool prim_funcs = false;  // loop functions too
};
ModuleDifference compare(const Module& a, const Module& b, const CompareOptions& options = {});

}  // namespace tessera
