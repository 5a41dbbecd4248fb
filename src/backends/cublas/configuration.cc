// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/configuration.h"

#include <cstring>
#include <sstream>

#include <fmt/format.h>

namespace tessera::backends::cublas {
namespace {

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(Configuration::opaque));

std::int32_t asked(const Api& api, const Algorithm& of, cublasLtMatmulAlgoConfigAttributes_t what) {
  std::int32_t value = 0;
  std::size_t written = 0;
  api.MatmulAlgoConfigGetAttribute(&of.opaque, what, &value, sizeof value, &written);
  return value;
}

}  // namespace

std::string configuration_text(const Api& api, const Algorithm& algorithm) {
  std::uint64_t opaque[8];
  std::memcpy(opaque, &algorithm.opaque, sizeof opaque);
  char digits[kAlgorithmDigits + 1];
  write_algorithm(opaque, digits);
  return fmt::format(
      "algorithm{}_tile{}_stages{}_splits{} {} {}", asked(api, algorithm, CUBLASLT_ALGO_CONFIG_ID),
      asked(api, algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
      asked(api, algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      asked(api, algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM), algorithm.workspace_bytes, digits);
}

std::optional<Configuration> parse_configuration(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string name, digits;
  Configuration c;
  if (!(words >> name >> c.workspace_bytes >> digits) || c.workspace_bytes < 0) return std::nullopt;
  if (!read_algorithm(digits.c_str(), c.opaque)) return std::nullopt;
  return c;
}

}  // namespace tessera::backends::cublas
