# SPDX-License-Identifier: Apache-2.0
# Headers of onnxruntime, which has interfaces for plugins from 1.23 on: below ONNXRUNTIME_ROOT,
# where the package libonnxruntime-dev of Debian puts them, or where scripts/onnxruntime-headers.sh
# does. The library itself is not needed.
find_path(ONNXRUNTIME_INCLUDE_DIR onnxruntime_ep_c_api.h
  HINTS ${ONNXRUNTIME_ROOT} $ENV{ONNXRUNTIME_ROOT}
  PATHS ${PROJECT_SOURCE_DIR}/.deps/onnxruntime/usr
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session onnxruntime
  DOC "folder that holds onnxruntime_ep_c_api.h")
set(ONNXRUNTIME_VERSION "")
if(ONNXRUNTIME_INCLUDE_DIR)
  file(STRINGS ${ONNXRUNTIME_INCLUDE_DIR}/onnxruntime_c_api.h line
    REGEX "#define ORT_API_VERSION [0-9]+")
  string(REGEX REPLACE ".* ([0-9]+)$" "1.\\1" ONNXRUNTIME_VERSION "${line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ONNXRuntimeHeaders
  REQUIRED_VARS ONNXRUNTIME_INCLUDE_DIR VERSION_VAR ONNXRUNTIME_VERSION)
mark_as_advanced(ONNXRUNTIME_INCLUDE_DIR)
