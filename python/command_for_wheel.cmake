# SPDX-License-Identifier: Apache-2.0
# The command in a wheel, with its headers and archives, and the provider for onnxruntime where it
# is built: installed from a build of the project.
include(ExternalProject)

set(TESSERA_BUILD ${TESSERA_TREE}/build/release CACHE PATH
  "a build of the project; where it is none, one is made for the wheel")
if(EXISTS ${TESSERA_BUILD}/CMakeCache.txt)
  set(options "")  # those that it has
else()
  set(TESSERA_BUILD ${CMAKE_BINARY_DIR}/tessera)
  set(options -DCMAKE_BUILD_TYPE=Release -DTESSERA_TOGETHER=ON)
  if(NOT EXISTS ${TESSERA_TREE}/.deps/python)
    # The headers of oneDNN and the schema of ONNX are among what pip has put beside this build.
    execute_process(COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as i; print(i.find_spec('onnx').submodule_search_locations[0])"
      OUTPUT_VARIABLE onnx OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    get_filename_component(environment ${onnx}/../../../.. ABSOLUTE)
    list(APPEND options -DTESSERA_PYTHON_ENV=${environment})
  endif()
endif()
# What is up to date takes no time: whether that is so, ninja knows.
ExternalProject_Add(tessera_command
  SOURCE_DIR ${TESSERA_TREE}
  BINARY_DIR ${TESSERA_BUILD}
  CMAKE_ARGS ${options}
  BUILD_COMMAND ${CMAKE_COMMAND} --build ${TESSERA_BUILD} --target tessera_for_wheel
  BUILD_ALWAYS ON
  INSTALL_COMMAND ""
  USES_TERMINAL_BUILD ON)
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} --install ${TESSERA_BUILD} --strip
  --prefix \${CMAKE_INSTALL_PREFIX} COMMAND_ERROR_IS_FATAL ANY)")
