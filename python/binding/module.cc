// SPDX-License-Identifier: Apache-2.0
// What tessera/model.py is made of: models of the C interface, run from Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "running.h"
#include "samples.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

nb::list run(Model& model, const nb::sequence& arrays, nb::handle outs, bool copy,
             nb::handle stream) {
  Call call(model, arrays, outs, copy, stream);
  call();
  return call.results();
}

nb::dict memory(Model& model) {
  const tessera_memory has = model.memory();
  nb::dict bytes;
  bytes["constant_bytes"] = has.constant_bytes;
  bytes["pool_bytes"] = has.pool_bytes;
  bytes["other_bytes"] = has.other_bytes;
  bytes["pinned_bytes"] = has.pinned_bytes;
  return bytes;
}

nb::list profile_entries(Model& model) {
  nb::list rows;
  for (const tessera_profile_entry& entry : model.profile_entries()) {
    nb::dict row;
    row["kernel"] = entry.kernel;
    row["backend"] = entry.backend;
    row["calls"] = entry.calls;
    row["total_us"] = static_cast<double>(entry.total_ns) / 1e3;
    row["note"] = entry.note == nullptr ? "" : entry.note;
    rows.append(row);
  }
  return rows;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const CallFailed& failed) {
    const nb::object raised = helper("run_error")(failed.status, failed.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  }
}

}  // namespace

NB_MODULE(_runtime, m) {
  // What lives when the interpreter ends is left to the system.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  m.attr("version") = TESSERA_VERSION;
  m.def("stop_running", &stop_running);
  nb::class_<Model>(m, "Model")
      .def(
          "__init__",
          [](Model* self, const std::string& path, int threads, bool replay, int nice,
             std::vector<std::int32_t> cpus, int instances) {
            new (self) Model(path, {threads, replay, nice, std::move(cpus), instances});
          },
          nb::arg("path"), nb::arg("threads"), nb::arg("replay"), nb::arg("nice"), nb::arg("cpus"),
          nb::arg("instances"), nb::call_guard<Running>())
      .def("run", &run, nb::arg("arrays"), nb::arg("outs").none(), nb::arg("copy"),
           nb::arg("stream").none(), nb::call_guard<Running>())
      .def("describe", &Model::describe)
      .def("metadata_json", [](const Model& m) { return m.call().metadata_json(); })
      .def("target", [](const Model& m) { return m.call().target(); })
      .def("build_id", [](const Model& m) { return m.call().build_id(); })
      .def("memory", &memory)
      .def("profile", &Model::profile)
      .def("profile_entries", &profile_entries)
      .def("set_weight", &Model::set_weight, nb::arg("name"), nb::arg("value").none(),
           nb::call_guard<Running>())
      .def("synchronize", &Model::synchronize, nb::call_guard<Running>())
      .def("close", &Model::close);
  nb::class_<Call>(m, "Call")
      .def(
          "__init__",
          [](Call* self, Model& model, const nb::sequence& arrays, nb::handle outs,
             nb::handle stream) { new (self) Call(model, arrays, outs, false, stream); },
          nb::arg("model"), nb::arg("arrays"), nb::arg("outs").none(), nb::arg("stream").none(),
          nb::keep_alive<1, 2>(), nb::call_guard<Running>())
      .def("__call__", &Call::operator(), nb::call_guard<Running>())
      .def("results", &Call::results, nb::call_guard<Running>());
  nb::class_<Samples>(m, "Samples")
      .def(nb::init<std::vector<std::pair<std::uintptr_t, std::uint64_t>>>())
      .def("differing", &Samples::differing);
}

}  // namespace tessera::python
