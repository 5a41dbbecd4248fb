// SPDX-License-Identifier: Apache-2.0
#include "backends/blas/blas.h"

#include <dlfcn.h>

#include "backends/blas/product.h"
#include "byoc/function_at_a_time.h"
#include "byoc/library_search.h"
#include "types/processor.h"

namespace tessera::backends {
namespace blas {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;
using byoc::Refusal;
using relay::Function;
using relay::is_constant;
using relay::is_op;
using relay::Match;
using relay::NodeId;
using relay::Pattern;
using relay::wildcard;

constexpr std::string_view kName = "blas";
constexpr Literal kPrologue =
    "#include \"backends/blas/runtime/blas_runtime.h\"\n\n"
    "[[maybe_unused]] static int64_t sizes(const tessera_tensor* t, int32_t first, int32_t last) "
    "{\n"
    "  int64_t product = 1;\n"
    "  for (int32_t d = first; d < last; ++d) product *= t->shape[d];\n"
    "  return product;\n"
    "}\n";
constexpr const char* kLibraryFile = "libopenblas.so.0";

#ifdef TESSERA_HAVE_CBLAS
constexpr const char* kLibraryAtBuild = TESSERA_OPENBLAS_LIBRARY;
#else
constexpr const char* kLibraryAtBuild = "";
#endif

// "blas.dense", ...: with and without a factor before the product.
std::vector<std::pair<std::string, Pattern>> make_patterns() {
  std::vector<std::pair<std::string, Pattern>> out;
  for (const char* op : {"nn.dense", "nn.matmul", "nn.batch_matmul"}) {
    const Pattern core = is_op(op, {wildcard(), wildcard()}, "core");
    const std::string name = "blas." + std::string(op).substr(3);
    out.emplace_back(name + "_scale", is_op("multiply", {core, is_constant("alpha")}));
    out.emplace_back(name, core);
  }
  return out;
}

const std::vector<std::pair<std::string, Pattern>>& patterns_table() {
  static const auto table = make_patterns();
  return table;
}

std::optional<Refusal> check(const Match& match, const Target&) {
  const auto product = describe(match);
  if (!product) return product.error();
  return std::nullopt;
}

// The region's one composite, matched again, with its literal's parameters mapped to positions
// among the region's.
struct RegionProduct {
  Product product;
  std::size_t a = 0, b = 0;
};
Expected<RegionProduct, Refusal> product_of(const Function& region, const ConstantPool& pool) {
  const auto* literal = region.as<relay::Literal>(region.operands(region.result())[0]);
  const relay::Region& body = region.region(literal->body);
  const std::string composite = literal->attrs.string_or_empty("Composite");
  for (const auto& [name, pattern] : patterns_table()) {
    const auto match =
        name == composite ? relay::match(region, pattern, body.result, &pool) : std::nullopt;
    if (!match) continue;
    const auto product = describe(*match);
    if (!product) return Unexpected{product.error()};
    return RegionProduct{*product, byoc::argument_position(region, product->a),
                         byoc::argument_position(region, product->b)};
  }
  return Unexpected{Refusal{fmt::format("the composite `{}` is not known", composite)}};
}

// The product's sizes as C: numbers, or read off the tensors.
Source sizes_of(const RegionProduct& r) {
  const Product& p = r.product;
  if (p.is_static()) {
    return source("  const int64_t m = {}, n = {}, k = {}, batch = {};\n", p.m.constant(),
                  p.n.constant(), p.k.constant(), p.batch.constant());
  }
  const std::size_t row = p.rank_a - (p.transpose_a ? 1 : 2);
  Source text = source("  const int64_t m = sizes(tensors[{}], {}, {});\n", r.a,
                       p.rows_of_batch ? 0 : row, row + 1);
  text += source("  const int64_t n = tensors[{}]->shape[{}], k = tensors[{}]->shape[{}];\n", r.b,
                 p.rank_b - (p.transpose_b ? 2 : 1), r.a, p.rank_a - (p.transpose_a ? 2 : 1));
  const bool from_a = p.stride_a != Dim(0);
  text += p.batch == Dim(1) ? Source("  const int64_t batch = 1;\n")
                            : source("  const int64_t batch = sizes(tensors[{}], 0, {});\n",
                                     from_a ? r.a : r.b, (from_a ? p.rank_a : p.rank_b) - 2);
  text += Source(
      "  if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX) {\n"
      "    return tessera_call_failed(call, \"a matrix has more rows or columns than BLAS can "
      "count\");\n  }\n");
  return text;
}

Source source_of(const std::string& symbol, const RegionProduct& r, std::size_t outputs_at) {
  const Product& p = r.product;
  return source(
      "int32_t {}(const tessera_call* call, tessera_tensor** tensors, int32_t) {{\n"
      "  // [{}] {}x{} times {}x{}\n"
      "{}"
      "  const tessera_blas_product product = {{{}, {}, {}, (int32_t)m, (int32_t)n, (int32_t)k, "
      "batch, {}, {}, {:a}}};\n"
      "  tessera_tensor* abc[] = {{tensors[{}], tensors[{}], tensors[{}]}};\n"
      "  return tessera_blas_gemm(call, abc, &product);\n}}\n",
      c_name(symbol), c_comment(to_string(p.batch)), c_comment(to_string(p.m)),
      c_comment(to_string(p.k)), c_comment(to_string(p.k)), c_comment(to_string(p.n)), sizes_of(r),
      p.bits, p.transpose_a ? 1 : 0, p.transpose_b ? 1 : 0,
      p.stride_a == Dim(0) ? Literal("0") : "m * k", p.stride_b == Dim(0) ? Literal("0") : "k * n",
      p.alpha, r.a, r.b, outputs_at);
}

// "OpenBLAS 0.3.21 ...", as it describes itself; its file stays loaded.
std::string version_of(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "?";
  auto* config = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_config"));
  const std::string text = config == nullptr ? "" : config();
  dlclose(library);
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

class Blas final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }

  // Generated code is faster there (bench/results/2026-11-27-native-products-cpu.md).
  std::optional<Target> default_target(const Target& cpu) const override {
    return has_avx2_at_most(cpu) ? std::nullopt : std::optional(Target(name()));
  }

  std::optional<Refusal> available(const Target&) const override {
    if (kLibraryAtBuild[0] == '\0') {
      return Refusal{
          "this tessera was built without cblas.h: install libopenblas-openmp-dev "
          "(scripts/install-deps.sh does) and build again"};
    }
    if (!library_path(kLibraryFile).empty()) return std::nullopt;
    return Refusal{
        fmt::format("{} was not found: install libopenblas0-openmp, or name its directory "
                    "in TESSERA_LIBRARY_PATH",
                    kLibraryFile)};
  }

  std::string library_path(std::string_view file) const override {
    if (file != kLibraryFile) return "";
    return byoc::find_library(kLibraryFile, kLibraryAtBuild);
  }

  std::optional<byoc::UsedLibrary> library(const Target&) const override {
    const std::string path = library_path(kLibraryFile);
    if (path.empty()) return std::nullopt;
    return byoc::UsedLibrary{version_of(path), path};
  }

  std::vector<CompositePattern> patterns(const Target&) const override {
    std::vector<CompositePattern> out;
    for (const auto& [name, pattern] : patterns_table()) out.push_back({name, pattern, check});
    return out;
  }

  Result<CompileOutcome> compile(Module module, const Target&,
                                 CompileContext& context) const override {
    Artifact artifact;
    artifact.kind = ArtifactKind::kCSource;
    artifact.backend = kName;
    artifact.runtime_archives = {"blas_runtime"};
    artifact.vendor_libraries = {kLibraryFile};
    artifact.state.create_library = "tessera_blas_create_library";
    artifact.state.destroy_library = "tessera_blas_destroy_library";
    const auto emit = [](const std::string& symbol, const Function& region,
                         const ConstantPool& constants) -> Expected<Source, Refusal> {
      TESSERA_TRY(const RegionProduct product, product_of(region, constants));
      return source_of(symbol, product, region.params().size());
    };
    return byoc::compile_function_at_a_time(std::move(module), std::move(artifact), kPrologue, emit,
                                            context);
  }
};

}  // namespace
}  // namespace blas

const byoc::Backend& blas_backend() {
  static const blas::Blas backend;
  return backend;
}

}  // namespace tessera::backends
