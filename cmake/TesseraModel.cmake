# SPDX-License-Identifier: Apache-2.0
# For programs that embed a model: find_package(tessera) reads this file.
#
# tessera_add_model(TARGET MODEL [OPTIONS option...] [DEPENDS file...])
# Compiles MODEL (ONNX, or Relay text) to lib<TARGET>.so while the project is built, and again when
# the model, a file with its data, a file of DEPENDS or the compiler has changed. OPTIONS are those
# of `tessera compile`. TARGET is a shared library to link with; it has the folder of
# tessera/model.h. Relative paths start at the current source folder.
#
# A program links with one model: all of them have the same functions. One that uses several opens
# $<TARGET_FILE:TARGET> of each, and links with tessera::headers.
#
#   TESSERA_COMMAND   the compiler; that beside this file if not said

# The folder of an installation: lib/cmake/tessera lies below it, in a wheel as well.
get_filename_component(tessera_PREFIX ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)

if(EXISTS ${tessera_PREFIX}/__main__.py)
  # In a wheel the script knows where packages beside it have vendors' libraries; it lies in the bin
  # of the environment, or of `pip install --target`.
  find_program(TESSERA_COMMAND tessera DOC "compiler of models" NO_DEFAULT_PATH
    PATHS ${tessera_PREFIX}/../../../../bin ${tessera_PREFIX}/../bin)
endif()
find_program(TESSERA_COMMAND tessera DOC "compiler of models"
  PATHS ${tessera_PREFIX}/bin NO_DEFAULT_PATH)

if(NOT TARGET tessera::headers)
  add_library(tessera::headers INTERFACE IMPORTED)
  target_include_directories(tessera::headers INTERFACE ${tessera_PREFIX}/include)
endif()

function(tessera_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OPTIONS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tessera_add_model(${target}): \"${arg_UNPARSED_ARGUMENTS}\" is neither "
      "OPTIONS nor DEPENDS; options of the compiler follow OPTIONS")
  endif()
  if(NOT TESSERA_COMMAND)
    message(FATAL_ERROR "tessera_add_model(${target}): there is no compiler in ${tessera_PREFIX}; "
      "install tessera again, or say -DTESSERA_COMMAND=PATH")
  endif()
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "tessera_add_model(${target}): models are compiled for the processor of "
      "this machine (${CMAKE_HOST_SYSTEM_PROCESSOR}), not for ${CMAKE_SYSTEM_PROCESSOR}; compile "
      "the model on such a machine, and link with its library")
  endif()
  get_filename_component(model ${model} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  set(library ${CMAKE_CURRENT_BINARY_DIR}/lib${target}.so)
  set(command ${TESSERA_COMMAND})
  if(CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    set(command ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} ${command})
  endif()
  add_custom_command(OUTPUT ${library}
    COMMAND ${command} compile ${model} -o ${library} --depfile ${library}.d ${arg_OPTIONS}
    DEPENDS ${model} ${arg_DEPENDS} ${TESSERA_COMMAND}
    DEPFILE ${library}.d
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Compiling the model ${target}"
    VERBATIM)
  add_custom_target(${target}_library DEPENDS ${library})
  add_library(${target} SHARED IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_library)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${library}
    IMPORTED_SONAME lib${target}.so
    # Two models in one program disagree on this, and CMake refuses them; the linker would let the
    # first answer for both.
    INTERFACE_TESSERA_MODEL ${target}
    COMPATIBLE_INTERFACE_STRING TESSERA_MODEL)
  target_link_libraries(${target} INTERFACE tessera::headers)
endfunction()
