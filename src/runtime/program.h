// SPDX-License-Identifier: Apache-2.0
//
// What a compiled model tells the runtime about itself: one constant `tessera_program`, tables
// only, no code but function pointers. `emit/` writes it into the library as C++ text; `exec/`
// fills one in memory, with an interpreter as its entry, and hands it to the same runtime. Nothing
// here assumes to be inside of a shared object.
//
// Internal: a library is always linked with the runtime of the compiler that emitted it. C ABI, so
// that generated text may be C or C++ and the structures are plain static data.
#ifndef TESSERA_RUNTIME_PROGRAM_H_
#define TESSERA_RUNTIME_PROGRAM_H_

#include "tessera/call.h"
#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// Raised with every change of this file.
#define TESSERA_PROGRAM_VERSION 12u

// A dimension symbol of the model, such as `seq`. Its value is bound from the inputs' shapes.
typedef struct tessera_program_symbol {
  const char* name;
  int64_t min;
  int64_t max;   // -1: no bound
  int64_t step;  // 1 where nothing is said
} tessera_program_symbol;

// An input or output of the entry.
typedef struct tessera_program_io {
  const char* name;
  tessera_dtype dtype;
  int32_t ndim;
  const int64_t* shape;      // -1 where it is not a number
  const int64_t* min_shape;  // null if all are numbers; otherwise as in tessera_io
  const int64_t* max_shape;
  const int32_t* symbols;  // null, or for each dimension an index into program symbols, or -1
  uint32_t align_bytes;    // 0: that of an element
  int32_t on_host;         // 1: an input that a program for a device reads in the host's memory
} tessera_program_io;

// A piece of each instance's memory, planned by plan/.
typedef struct tessera_program_pool {
  const char* name;
  tessera_device device;
  uint64_t bytes;  // for the largest dimensions
  uint32_t align_bytes;
} tessera_program_pool;

// Where an input or output lies in the memory of an instance, unless the caller has it elsewhere.
typedef struct tessera_program_place {
  int32_t pool;  // index
  uint64_t offset;
  uint64_t bytes;  // for the largest dimensions; 0: it has no place
} tessera_program_place;

// A constant: where it lies in the weights section. From `mapped_bytes` of the program on offsets
// count on in the memory of what was packed.
typedef struct tessera_program_constant {
  const char* name;  // of the weight it came from, or ""
  tessera_dtype dtype;
  int32_t ndim;
  const int64_t* shape;
  uint64_t offset;
  uint64_t bytes;
} tessera_program_constant;

// Constants that are packed (runtime/lossless/format.h).
typedef struct tessera_program_packed {
  uint64_t offset;  // as of a constant
  uint64_t bytes;
  uint64_t packed_offset;  // in the weights section
  uint64_t packed_bytes;
  uint32_t element_bytes;
  int32_t on_host;  // 1: a program for a device has it in the host's memory, too
} tessera_program_packed;

// A back end with state or vendor libraries. Function pointers may be null.
typedef struct tessera_program_backend {
  const char* name;
  const char* const* libraries;  // file names for dlopen, `libdnnl.so.3`
  int32_t library_count;
  tessera_state_create_fn create_library_state;
  tessera_state_destroy_fn destroy_library_state;
  tessera_state_create_fn create_instance_state;
  tessera_state_destroy_fn destroy_instance_state;
} tessera_program_backend;

// A vendor library's file that `--bundle` wrote beside the model's library, or that
// `--bundle=inside` put into it.
typedef struct tessera_program_bundled {
  const char* file;
  const char* hash;       // BLAKE2b with 32 bytes, in 64 lower-case hexadecimal digits
  uint64_t offset;        // in the weights section
  uint64_t bytes;         // of the file; 0: it is beside
  uint64_t packed_bytes;  // in the section
  // Null: it is not packed. tessera_inflate.
  int32_t (*unpack)(const void* packed, uint64_t packed_bytes, void* out, uint64_t bytes);
} tessera_program_bundled;

// A symbol that a back end provides: exactly one of `backend_fn` and `kernel_fn` is set.
typedef struct tessera_program_extern {
  const char* symbol;
  int32_t backend;  // index, or -1: none of the tables' back ends
  tessera_backend_fn backend_fn;
  tessera_kernel_fn kernel_fn;
  tessera_state_create_fn create_call_site_state;
  tessera_state_destroy_fn destroy_call_site_state;
  const void* payload;
  uint64_t payload_bytes;
  const char* const*
      constant_names;  // constant_count each: the name in the payload, the index in constants
  const int32_t* constant_indices;
  int32_t constant_count;
  // Workspace: planned into a pool, or (workspace_pool == -1) the runtime's own, shared by all of
  // the instance.
  int32_t workspace_pool;
  uint64_t workspace_offset;
  uint64_t workspace_bytes;
  tessera_workspace_fn workspace_query;    // replaces workspace_bytes, then workspace_pool is -1
  const int64_t* workspace_max_dims;       // its argument
  int32_t capturable;                      // 0: a run that calls it must not be recorded
  tessera_capturable_fn capturable_query;  // not null: asked, too, if `capturable` is not 0
} tessera_program_extern;

// A generated function, by name: what exec/ calls in a kernel library. A library that has an entry
// needs none.
typedef struct tessera_program_kernel {
  const char* name;
  tessera_kernel_fn fn;
} tessera_program_kernel;

// A call in the host program, in order of the program's text; for the profile.
typedef struct tessera_program_step {
  const char* kernel;
  const char* backend;
} tessera_program_step;

struct tessera_frame;
typedef struct tessera_profile tessera_profile;

// How the runtime reaches a device other than the CPU; runtime/device.h. An archive of its own
// defines the one for a kind of device, and only programs for that kind name it.
typedef struct tessera_device_api tessera_device_api;

// One run of the host program. All arrays are in order of the program's tables.
typedef struct tessera_frame {
  void* const* inputs;
  void* const* outputs;
  void* const* pools;
  const void* const* constants;
  const void* const* host_constants;    // the same in the host's memory, for kernels of the CPU
  const int64_t* dims;                  // values of the symbols
  const tessera_tensor* input_tensors;  // with the shapes of this run
  tessera_tensor*
      output_tensors;  // shapes preset where known; the program sets those that depend on data
  const tessera_call* call;          // for generated kernels
  const tessera_call* extern_calls;  // one an extern: with its states and workspace
  tessera_profile*
      profile;     // null unless measuring; then call tessera_profile_mark after each step
  void* context;   // program->context
  void* instance;  // for the functions below
} tessera_frame;

// Memory for a tensor of this shape in piece `slot` of the instance's heap, aligned to 64: what has
// no bound that a pool could be planned for. It stays until the next call with the same slot. Null,
// with the error set, where there is none.
void* tessera_heap_reserve(const tessera_frame* frame, int32_t slot, int64_t element_bytes,
                           const int64_t* shape, int32_t rank);

// Memory for output `i`, whose shape depends on data and is in frame->output_tensors[i] now: the
// caller's tensor if it is large enough, else the instance's own. Null, with the error set, where
// there is none.
void* tessera_output_reserve(const tessera_frame* frame, int32_t i);

// The bool scalar in the device's memory, once the work before is done; sets *status where that
// fails, and is then 0. What conditions of branches and loops read.
int32_t tessera_flag(const tessera_frame* frame, const void* scalar, int32_t* status);
// Writes one. A status.
int32_t tessera_set_flag(const tessera_frame* frame, void* scalar, int32_t value);

// Calls a back-end function that computes on the CPU with copies of the device's tensors: `inputs`
// of the `count`, and then results. A status.
int32_t tessera_call_on_host(const tessera_frame* frame, tessera_backend_fn fn,
                             const tessera_call* call, tessera_tensor** tensors, int32_t inputs,
                             int32_t count);

// Calls a generated kernel that computes on the CPU, for a program on a device: the first `inputs`
// of the `count` buffers are read, the others written. Those whose `bytes` are 0 are the host's
// own memory, or not used; others are in the device's, so large. The kernel gets copies of inputs,
// for which the run waits, and its results are sent after what is in the stream. A status.
int32_t tessera_kernel_on_host(const tessera_frame* frame, tessera_kernel_fn fn,
                               void* const* buffers, const int64_t* bytes, int32_t inputs,
                               int32_t count, const int64_t* dims);

// To be called after step `step`: adds the time since the previous mark of this run to it.
void tessera_profile_mark(tessera_profile* profile, int32_t step);

// The host program. Zero means success; otherwise frame->call->set_error has been called.
typedef int32_t (*tessera_entry_fn)(const tessera_frame* frame);

// Shapes of outputs for symbols' values: writes the dimensions of all outputs, one output after the
// other; -1 where it depends on data. `context` is the program's.
typedef void (*tessera_output_shapes_fn)(void* context, const int64_t* dims, int64_t* shapes);

// What symbols' values say about a dimension of an input that is an expression of them, such as
// 2*n; asked for no other.
typedef int64_t (*tessera_input_size_fn)(void* context, const int64_t* dims, int32_t input,
                                         int32_t dimension);

// A part of a weight that is unpacked by itself.
typedef struct tessera_unpacked_block {
  int32_t thread;   // the number of who unpacks it: from 0, below how many there may be
  int32_t weight;   // index into `packed`
  uint64_t offset;  // as of a constant
  uint64_t bytes;   // at most TESSERA_UNPACKED_BLOCK_BYTES
} tessera_unpacked_block;
#define TESSERA_UNPACKED_BLOCK_BYTES (1u << 19)

// Where packed weights are unpacked to. Threads call these at once. Statuses: any but zero ends it.
typedef struct tessera_unpack_target {
  void* context;
  // Memory for a block, aligned to 4 bytes. Null: it is not wanted.
  int32_t (*place)(void* context, const tessera_unpacked_block* block, void** out);
  // The block is there. Null: nobody asks.
  int32_t (*filled)(void* context, const tessera_unpacked_block* block, const void* data);
} tessera_unpack_target;

// Unpacks `packed` by at most so many threads. Zero, TESSERA_DAMAGED, TESSERA_OUT_OF_MEMORY or a
// status of the target.
typedef int32_t (*tessera_unpack_fn)(const struct tessera_program* program,
                                     const tessera_unpack_target* target, int32_t threads);

typedef struct tessera_program {
  uint32_t program_version;  // TESSERA_PROGRAM_VERSION
  uint32_t abi_version;      // TESSERA_ABI_VERSION
  const char* build_id;
  const char* target;
  const char* cpu_arch;             // "x86-64", "aarch64": as tessera_host_arch()
  const char* const* cpu_features;  // lower-case names as of -m<name>: "avx2", "fma", "avx512f"
  int32_t cpu_feature_count;
  tessera_device device;  // the device that the entry computes on
  const char* metadata;   // JSON, or null
  const tessera_program_symbol* symbols;
  const tessera_program_io* inputs;
  const tessera_program_io* outputs;
  const tessera_program_pool* pools;
  const tessera_program_constant* constants;
  const tessera_program_backend* backends;
  const tessera_program_extern* externs;
  const tessera_program_kernel* kernels;
  const tessera_program_step* steps;
  int32_t symbol_count;
  int32_t input_count;
  int32_t output_count;
  int32_t pool_count;
  int32_t constant_count;
  int32_t backend_count;
  int32_t extern_count;
  int32_t kernel_count;
  int32_t step_count;
  int32_t heap_count;                      // pieces of heap that the entry reserves
  const void* weights;                     // the section that offsets of constants count from
  const void* const* constant_data;        // if not null, replaces it: a pointer a constant
  tessera_output_shapes_fn output_shapes;  // null if all output shapes are numbers
  tessera_entry_fn entry;                  // null in a kernel library
  void* context;                           // for the entry; null in a library
  // For programs for a device; null and 0 on the CPU.
  const tessera_device_api* device_api;
  const char* device_arch;           // "sm_90a"; "sm_90a+ptx": and what later ones can be made from
  int32_t replayable;                // a run of the same sizes and pointers makes the same calls
  tessera_input_size_fn input_size;  // null if no input has such a dimension
  // Weights that can be set: rows of `inputs` after the input_count that a run is given, and in
  // frames likewise. Their sizes are numbers; each is the constant of this index until it is set.
  const int32_t* kept_weights;
  int32_t kept_weight_count;
  // The folder of the library is searched for these vendor libraries, and for no others.
  const tessera_program_bundled* bundled;
  int32_t bundled_count;
  // Inputs in whose memory output i may lie: shared_inputs from shared_begins[i] to
  // shared_begins[i + 1]. Both are null where there are none.
  const int32_t* shared_begins;
  const int32_t* shared_inputs;
  const tessera_program_place* places;  // null, or one an input and then one an output
  // Weights that are unpacked when the first model is created, and on a device when its first
  // instance is. Null and 0 where there are none.
  const tessera_program_packed* packed;
  int32_t packed_count;
  uint64_t mapped_bytes;    // of the section: constants as they are used
  uint64_t unpacked_bytes;  // of the others
  tessera_unpack_fn unpack;
  // The same model for other CPUs, in the order in which they are taken where one does not suit:
  // only in the program that a library exports.
  const struct tessera_program* const* others;
  int32_t other_count;
} tessera_program;

// The weights section, which link/ defines, hidden; absent if there are no constants.
extern const unsigned char tessera_weights[];

// Folders in which the compiling machine had vendor libraries: texts, one after the other, and an
// empty one. Hidden, defined by link/; absent where nothing was noted.
extern const char tessera_vendor_folders[] __attribute__((weak, visibility("hidden")));

// Defined by emitted text: what `program.metadata` points at, where tools read it without loading
// the library.
extern TESSERA_API const char tessera_metadata[];

// The one that a library carries, defined by emitted text; what tessera_model_create uses. Exported
// from kernel libraries and models alike: exec/ finds it by this name.
extern TESSERA_API const tessera_program tessera_model_program;

// Where else vendor libraries are searched than in TESSERA_LIBRARY_PATH and where the system looks.
typedef struct tessera_vendor_search {
  // Searched before (null: nothing): for those of `bundled` if there are any, and then only files
  // of their hash are taken.
  const char* first;
  const char* last;  // after all: folders as in tessera_vendor_folders; null: none
} tessera_vendor_search;

// As tessera_model_create, for a program in memory, which must outlive the model.
int32_t tessera_model_create_from(const tessera_program* program, tessera_vendor_search search,
                                  const tessera_model_options* options, tessera_model** model);

// "x86-64" or "aarch64": of the machine that this was compiled for.
const char* tessera_host_arch(void);

// Has this machine's CPU all that the program's code may use?
int32_t tessera_suits_cpu(const tessera_program* program);

// 1 if the CPU and the operating system have `feature`, 0 if not, -1 if the name is not known.
// Names in the environment variable TESSERA_DISABLE_CPU_FEATURES (separated by commas) count as not
// there.
int32_t tessera_cpu_has(const char* feature);

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_RUNTIME_PROGRAM_H_
