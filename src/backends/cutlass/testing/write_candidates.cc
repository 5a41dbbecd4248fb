// SPDX-License-Identifier: Apache-2.0
// Writes the sources of the presumably best candidates for the products of BERT-large, and the list
// that bench/gpu/gemm.cu reads, into a folder: for measuring on a machine that has nothing of ours.
//
//   write_candidates DIR [COUNT]      COUNT candidates a product, 8 if not said
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>

#include "backends/cutlass/source.h"
#include "constants/pool.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/files.h"

namespace tessera::backends::cutlass {
namespace {

struct Product {
  const char* name;
  int n, k;
  const char* epilogue;  // as gemm.cu calls it
  const char* body;      // after %1, the biased product
};
constexpr Product kProducts[] = {
    {"qkv", 3072, 1024, "bias", "%1"},
    {"projection", 1024, 1024, "bias_residual", "add(%1, %r)"},
    {"ffn1", 4096, 1024, "bias_gelu", "nn.gelu(%1)"},
    {"ffn2", 1024, 4096, "bias_residual", "add(%1, %r)"},
};

Gemm gemm_of(const Product& p, int m) {
  const std::string inputs = fmt::format(
      "%x: Tensor[({0}, {2}), float16], %w: Tensor[({2}, {1}), float16], %b: Tensor[({1}), "
      "float16], %r: Tensor[({0}, {1}), float16]",
      m, p.n, p.k);
  // The literal's body is a composite; no pattern is needed to say so.
  const std::string text = fmt::format(
      "#[version = \"0.0.5\"]\ndef @main({0}) {{\n  %2 = fn ({0}, Composite=\"cutlass\") {{\n"
      "    %0 = nn.matmul(%x, %w, units=None);\n    %1 = add(%0, %b);\n    {1}\n  }};\n"
      "  %2(%x, %w, %b, %r)\n}}\n",
      inputs, p.body);
  auto parsed =
      parse_module(std::make_shared<const SourceFile>(SourceFile{p.name, text}), ops::operators());
  if (!parsed) throw std::runtime_error(render(parsed.error()));
  auto module = ops::infer_types(*std::move(parsed));
  if (!module) throw std::runtime_error(render(module.error()));
  auto gemm = describe_gemm(module->functions.at("main"), module->constants, Target("cutlass"));
  if (!gemm) throw std::runtime_error(gemm.error().reason);
  return *std::move(gemm);
}

int write(const std::string& folder, std::size_t count) {
  std::string list;
  std::set<std::string> written;
  for (const Product& product : kProducts) {
    for (const int m : {128, 384, 3072, 4096, 12288}) {
      const Gemm gemm = gemm_of(product, m);
      auto all = candidates(gemm, Target("cutlass"), {});
      all.resize(std::min(all.size(), count));
      for (const Configuration& c : all) {
        const std::string symbol = kernel_symbol(gemm, c);
        if (written.insert(symbol).second &&
            !write_atomically(fmt::format("{}/{}.cu", folder, symbol),
                              kernel_source(gemm, c).text())) {
          return 1;
        }
        list +=
            fmt::format("{}_{} {} {} {} {} ./{}.so {} {} {}\n", product.name, m, m, product.n,
                        product.k, product.epilogue, symbol, symbol, c.swizzle, c.kernel_name());
      }
    }
  }
  fmt::print("{} kernels\n", written.size());
  return write_atomically(folder + "/list.txt", list) ? 0 : 1;
}

}  // namespace
}  // namespace tessera::backends::cutlass

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: write_candidates DIR [COUNT]\n");
    return 2;
  }
  try {
    return tessera::backends::cutlass::write(
        argv[1], argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 8);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "write_candidates: %s\n", problem.what());
    return 1;
  }
}
