# SPDX-License-Identifier: Apache-2.0
# Everything that is not ours. scripts/install-deps.sh puts it in place, scripts/check-deps.sh
# reports.

include(python_environment)
set(TESSERA_PYTHON ${TESSERA_PYTHON_ENV}/bin/python3
  CACHE FILEPATH "Python with numpy, onnx, onnxruntime")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)
find_package(xxHash REQUIRED)
find_package(ZLIB REQUIRED)
find_library(ZLIB_ARCHIVE libz.a REQUIRED)  # what travels in produced libraries

# onnx.proto, the schema of the PyPI package `onnx`.
file(GLOB onnx_proto_dirs ${TESSERA_PYTHON_ENV}/lib/python3*/site-packages/onnx)
find_path(TESSERA_ONNX_PROTO_DIR onnx.proto PATHS ${onnx_proto_dirs} NO_DEFAULT_PATH
  DOC "folder that holds onnx.proto")
if(NOT TESSERA_ONNX_PROTO_DIR)
  message(FATAL_ERROR
    "onnx.proto not found below ${TESSERA_PYTHON_ENV}: run scripts/install-deps.sh")
endif()

# Vendor libraries are optional at configure time: a back end without its library stays listed and
# says what it lacks.
find_package(OneDNN QUIET)
find_package(OpenBLAS QUIET MODULE)
# OpenVINO's threads open a library in a way (RTLD_DEEPBIND) that ends a program under sanitizers.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  find_package(OpenVINO QUIET MODULE)
endif()
message(STATUS "oneDNN: ${OneDNN_VERSION} ${OneDNN_LIBRARY}")
message(STATUS "OpenBLAS: ${OpenBLAS_LIBRARY}")
message(STATUS "OpenVINO: ${OpenVINO_LIBRARY}")

# CUTLASS is headers that nvcc reads when a model is compiled; tessera is built without them.
file(GLOB cutlass_dirs
  ${TESSERA_PYTHON_ENV}/lib/python3*/site-packages/cutlass_library/source/include)
find_path(TESSERA_CUTLASS_INCLUDE_DIR cutlass/version.h PATHS ${cutlass_dirs} NO_DEFAULT_PATH
  DOC "folder that holds cutlass/version.h")
if(NOT TESSERA_CUTLASS_INCLUDE_DIR)
  set(TESSERA_CUTLASS_INCLUDE_DIR "")
endif()
message(STATUS "CUTLASS: ${TESSERA_CUTLASS_INCLUDE_DIR}")
find_package(CUDAHeaders 13 QUIET MODULE)
message(STATUS "CUDA headers: ${CUDA_INCLUDE_DIR}")
find_package(CUDNN 9.8 QUIET MODULE)
find_package(ONNXRuntimeHeaders 1.23 QUIET MODULE)
message(STATUS "onnxruntime headers: ${ONNXRUNTIME_INCLUDE_DIR} ${ONNXRUNTIME_VERSION}")
message(STATUS "cuDNN headers: ${CUDNN_INCLUDE_DIR} ${CUDNN_VERSION}")
