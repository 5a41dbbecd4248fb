// SPDX-License-Identifier: Apache-2.0
// The way of a model through the program (architecture section 1).
#pragma once

#include <functional>
#include <memory>

#include "driver/options.h"
#include "exec/session.h"

namespace tessera::driver {

// How far a compilation is; members may be empty.
struct Progress {
  // A stage has ended, with one line for it.
  std::function<void(const StageTime&, const std::string& what)> stage;
  // Within a stage, of the sources to be compiled; from one thread at a time.
  std::function<void(std::size_t done, std::size_t of)> sources;
  // Told how many of the products to be measured are done.
  std::function<void(std::size_t done, std::size_t of)> measured;
};

// Writes options.output, completely or not at all.
Result<CompileReport> compile(const CompileOptions& options, const Progress& progress = {});

// A model that would compile: what is known before its kernels are.
struct PlacedModel {
  CompileReport report;
  Module module;  // lowered
};
// The stages of `compile` up to there; writes nothing.
Result<PlacedModel> place_model(const CompileOptions& options);

// Measures what of the model has no record in options.records yet; makes no library.
Result<CompileReport> tune(const CompileOptions& options, const Progress& progress = {});

// The same model interpreted in this process: kernels are compiled through the same cache and
// loaded from memory; nothing is written but the cache. `warn` gets what a report would list.
Result<std::unique_ptr<exec::Session>> prepare_in_process(
    const CompileOptions& options, const exec::SessionOptions& session,
    const std::function<void(const Diagnostic&)>& warn = {});

}  // namespace tessera::driver
