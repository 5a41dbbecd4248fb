# SPDX-License-Identifier: Apache-2.0
# PyPI packages live in a project-local environment: oneDNN, the ONNX schema, and what tests and
# benchmarks run.
set(TESSERA_PYTHON_ENV ${PROJECT_SOURCE_DIR}/.deps/python
  CACHE PATH "project-local Python environment")

# Each `pip install .` without that has an environment of its own, which is gone afterwards: what
# was found in the last one is looked for again.
set(searched "$CACHE{TESSERA_SEARCHED_PYTHON_ENV}")
if(searched AND NOT searched STREQUAL TESSERA_PYTHON_ENV)
  get_cmake_property(names CACHE_VARIABLES)
  foreach(name IN LISTS names)
    string(FIND "$CACHE{${name}}" "${searched}/" place)
    if(place EQUAL 0)
      unset(${name} CACHE)
    endif()
  endforeach()
endif()
set(TESSERA_SEARCHED_PYTHON_ENV ${TESSERA_PYTHON_ENV}
  CACHE INTERNAL "where the paths in this cache are from")
