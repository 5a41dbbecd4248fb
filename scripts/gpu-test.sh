#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that need a GPU, in shards of eight minutes at most, each by itself and offline.
#   gpu-test.sh SHARD...      runs them; exit status 77 where there is no GPU
#   gpu-test.sh --shards      names them all
#   gpu-test.sh --prepare     compiles the libraries that they run, which needs nvcc and no GPU; a
#                             shard compiles what is missing
#   gpu-test.sh --pack FILE   a build, with what is prepared, as .tar.xz for a machine that cannot
#                             build
# TESSERA_BUILD names a build, build/release otherwise; what --pack wrote unpacks to one.
# TESSERA_ZOO_PART=K/N is the part of the zoo, another one each day otherwise. Of what a shard says,
# lines that begin with WRONG are findings.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=$(realpath -m "${TESSERA_BUILD:-build/release}")
folder=$build/gpu
tessera=$build/bin/tessera
shards=(repeat few_rows lossless mixed_products racecheck memcheck synccheck conformance libraries
  collage abi python regions-{1..6} zoo fuzz)
seconds=480

[ -d "$build/deps" ] && export LD_LIBRARY_PATH=$build/deps${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
python=.deps/python/bin/python3
[ -x $python ] || python=python3
# Vendors' libraries that PyTorch brings.
if [ -z "${TESSERA_LIBRARY_PATH:-}" ]; then
  TESSERA_LIBRARY_PATH=$($python -c 'from importlib.util import find_spec
from os.path import isdir, realpath
brought = find_spec("torch").submodule_search_locations[0] + "/../nvidia/"
print(":".join(realpath(brought + f) for f in ("cu13/lib", "cudnn/lib") if isdir(brought + f)))' \
    2>/dev/null)
  export TESSERA_LIBRARY_PATH
fi
cutlass=$build/cutlass/include
[ -d "$cutlass" ] ||
  cutlass=$(echo .deps/python/lib/python3*/site-packages/cutlass_library/source/include)
with_cutlass=(--target cuda --target "cutlass -include=$(realpath -m "$cutlass")")

# NAME MODEL OPTIONS of `tessera compile`: a library that is older than the command is made anew.
library() {
  local name=$1 model=$2
  shift 2
  [ "$folder/$name.so" -nt "$tessera" ] ||
    "$tessera" compile "$model" -o "$folder/$name.so" "$@" >"$folder/$name.log" 2>&1 ||
    { echo "WRONG $name does not compile:"; tail -5 "$folder/$name.log"; return 1; }
}

models=(conv quantized whisper distilbert unet)
prepare() {
  local status=0 name
  mkdir -p "$folder"
  library native tests/gpu/native.relay --target cuda || status=1
  [ "$folder/race" -nt tests/gpu/race.cu ] ||
    nvcc -arch=sm_90 -cudart static tests/gpu/race.cu -o "$folder/race" || status=1
  for name in "${models[@]}"; do
    [ "$folder/$name.so" -nt "$tessera" ] && continue
    $python tests/gpu/models.py "$folder" "$name" || return 1
    if [ $name = conv ] || [ $name = quantized ]; then
      library $name "$folder/$name.onnx" --target cuda || status=1
    else
      library $name "$folder/$name.onnx" "${with_cutlass[@]}" --precision fp16 ||
        status=1
    fi
    rm "$folder/$name.onnx"
  done
  prepare_few_rows || status=1
  prepare_lossless || status=1
  return $status
}

# Weights packed without loss, sent to a GPU as they are unpacked.
in_lossless() {
  $python bench/lossless.py --tessera "$tessera" --targets cuda --width 1024 --layers 3 \
    --libraries "$folder/lossless" "$@"
}
prepare_lossless() {
  [ "$folder/lossless/load_packed" -nt "$tessera" ] && return
  rm -rf "$folder/lossless"
  bench/gpu/lossless.sh "$folder/lossless" "$build" && in_lossless --rounds 0 >/dev/null
}
lossless() {
  prepare_lossless || return 1
  "$folder/lossless/load_packed" 1 && in_lossless --rounds 1
}

# Products of few rows in each type, in generated code.
few_rows_types=(float32 float16 bfloat16)
prepare_few_rows() {
  local status=0 name type
  for type in "${few_rows_types[@]}"; do
    for name in few_rows plain; do
      [ "$folder/$name-$type.so" -nt "$tessera" ] && continue
      [ -f "$folder/$name.onnx" ] || $python tests/gpu/few_rows.py "$folder" --models || return 1
      case $type in
        float32) library $name-$type "$folder/$name.onnx" --target cuda ;;
        float16) library $name-$type "$folder/$name.onnx" --target cuda --precision fp16 ;;
        bfloat16) library $name-$type "$folder/$name.onnx" --target cuda --precision bf16 ;;
      esac || status=1
    done
  done
  rm -f "$folder"/{few_rows,plain}.onnx
  return $status
}

# With what nvcc reads, and what the command needs beside the C and C++ libraries.
pack() {
  local stage source
  stage=$(mktemp -d) && trap 'rm -rf "$stage"' RETURN
  mkdir -p "$stage"/{bin,lib,deps,cutlass/examples,cutlass/tools/util,regions}
  cp "$tessera" "$build"/bin/tessera_fuzz "$build"/tests/conformance/tessera_conformance_test \
    "$stage/bin"
  strip "$stage"/bin/*
  cp -rL "$build/lib/tessera" "$stage/lib"
  cp -rL "$build/include" "$stage"
  ldd "$stage"/bin/* | awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|libgomp)\.so' |
    xargs -I{} cp -L {} "$stage/deps"
  source=$(dirname "$cutlass")
  cp -r "$source/include" "$stage/cutlass"
  cp -r "$source/examples/88_hopper_fmha" "$stage/cutlass/examples"
  cp -r "$source/tools/util/include" "$stage/cutlass/tools/util"
  pack_python "$stage" || return 1
  mkdir "$stage/gpu"
  cp -a "$folder"/{*.so,race,lossless} "$stage/gpu"
  touch "$stage"/gpu/*.so "$stage/gpu/lossless/load_packed"
  regions_sources "$stage/regions" || return 1
  tar -C "$stage" -cf - . | xz -3 -T0 >"$1" && ls -l "$1"
}

# What runs models from Python, of a wheel for Python 3.12 and later, beside the command.
pack_python() {
  local part wheel
  wheel=$(echo build/wheels/tessera-*-abi3-*.whl)
  [ -f "$wheel" ] || { echo "no package for Python: PYTHON=python3.12 make wheel"; return 0; }
  mkdir -p "$1/python"
  $python -m zipfile -e "$wheel" "$1/python"
  rm -rf "$1"/python/tessera.libs "$1"/python/tessera/{bin,lib,include}
  for part in bin lib include; do ln -s "../../$part" "$1/python/tessera/$part"; done
}

repeat() { $python tests/gpu/repeat.py "$folder" "${models[@]}"; }
few_rows() { $python tests/gpu/few_rows.py "$folder"; }
# Products of many rows by weights of 4 and 8 bits in each form that CUTLASS decodes in registers.
mixed_products() {
  $python -c 'import torch' 2>/dev/null || { echo "there is no torch here"; return 77; }
  TESSERA_CUTLASS_INCLUDE=$(realpath "$cutlass") \
    $python bench/gpu/mixed_products.py --check --prepare "$folder/mixed_products" \
    --tessera "$tessera" --jobs "$(nproc)" --run "$folder/mixed_products"
}

# One tool of compute-sanitizer over native and CUTLASS's kernels: whole models, and all samples of
# all operators. A known race is the proof that it works here.
sanitize() {
  local tool=$1 name status=0
  if ! command -v compute-sanitizer >/dev/null; then
    echo "compute-sanitizer is not available here"
    return 0
  fi
  if compute-sanitizer "$folder/race" | grep -q 'Device not supported'; then
    echo "compute-sanitizer does not support this device"
    return 0
  fi
  if [ "$tool" = racecheck ] && sanitized racecheck 60 race "$folder/race" >/dev/null; then
    echo "WRONG racecheck does not find a race that is there"
    return 1
  fi
  for name in native "${models[@]}" few_rows-float16; do
    sanitized "$tool" 60 $name "$tessera" run "$folder/$name.so" || status=1
  done
  TESSERA_ROOT=$build sanitized "$tool" 150 samples "$(conformance_test)" \
    --gtest_brief=1 --gtest_filter='*NativeAgreesWithTheReferenceOnCuda' || status=1
  return $status
}

# TOOL SECONDS NAME COMMAND: its summary. What has no time is said, and no finding.
sanitized() {
  local tool=$1 limit=$2 name=$3 log=$folder/$1-$3.log result summary
  shift 3
  timeout "$limit" compute-sanitizer --tool "$tool" --print-limit 4 --error-exitcode 9 \
    --target-processes application-only "$@" >"$log" 2>&1
  result=$?
  summary=$(grep -h 'SUMMARY' "$log" | tail -1)
  if [ $result = 124 ]; then
    echo "no time: $tool $name has not ended in $limit s"
  elif [ $result = 0 ] && [ -n "$summary" ] && ! [[ $summary =~ [^0-9][1-9][0-9]*\ errors? ]]; then
    echo "ok $tool $name: ${summary#*=========}"
  else
    echo "WRONG $tool $name (status $result): ${summary#*=========}"
    tail -25 "$log"
    return 1
  fi
}

conformance_test() {
  local name
  for name in "$build"/{tests/conformance,bin}/tessera_conformance_test; do
    [ -x "$name" ] && echo "$name" && return
  done
}
# Every back end that compiles for CUDA: native, and those with regions of their own.
conformance() {
  TESSERA_ROOT=$build TESSERA_CUTLASS_INCLUDE=$(realpath "$cutlass") "$(conformance_test)" \
    --gtest_filter='*OnCuda*'
}

# Back ends of a vendor's library: all that one takes, with its own choice and with the fastest on
# record, against the reference.
libraries() {
  local name target model status=77
  for name in cublas cublas_float8 cudnn cudnn_compiled; do
    target=${name%_*}
    "$tessera" backends | grep -q "^$target *available" ||
      { echo "$target is not available here"; continue; }
    [ $status = 77 ] && status=0
    [ $name = cudnn_compiled ] && target="$target -runtime_engines"
    model=tests/gpu/$name.relay
    rm -f "$folder/$name.db"
    "$tessera" compile "$model" -o "$folder/$name.so" --target cuda --target "$target" --verify &&
      "$tessera" tune "$model" --target cuda --target "$target" --records "$folder/$name.db" &&
      "$tessera" compile "$model" -o "$folder/$name.so" --target cuda --target "$target" \
        --records "$folder/$name.db" --no-measure --verify ||
      { echo "WRONG $name"; status=1; }
  done
  return $status
}

# Measured placement among all back ends that are here: numbers against the reference, and the same
# bytes once more from what was measured.
collage() {
  local targets=("${with_cutlass[@]}") name model status=0
  for name in cublas cudnn; do
    "$tessera" backends | grep -q "^$name *available" && targets+=(--target $name)
  done
  for model in tests/gpu/cudnn.relay bench/gpu/encoder_layer.relay; do
    name=$folder/collage-$(basename "$model" .relay)
    rm -rf "$name".{db,so} "$folder/again"
    mkdir "$folder/again"  # a library knows its own name
    "$tessera" compile "$model" -o "$name.so" "${targets[@]}" --partition collage --candidates 1 \
      --budget 120 --evolve 0 --records "$name.db" --verify &&
      "$tessera" compile "$model" -o "$folder/again/${name##*/}.so" "${targets[@]}" \
        --partition collage --records "$name.db" --no-measure &&
      cmp "$name.so" "$folder/again/${name##*/}.so" || { echo "WRONG $model"; status=1; }
  done
  return $status
}

abi() {
  local libraries=$folder/abi
  $python -c 'import torch' 2>/dev/null || { echo "there is no torch here"; return 77; }
  TESSERA_CUTLASS_INCLUDE=$(realpath "$cutlass") \
    $python tests/abi/cuda_client.py compile "$tessera" "$libraries" &&
    $python tests/abi/cuda_client.py check "$libraries"
}

python() {
  local libraries=$folder/python
  [ -d "$build/python/tessera" ] || { echo "there is no package for Python here"; return 77; }
  $python tests/gpu/python_streams.py compile "$tessera" "$libraries" &&
    PYTHONPATH=$build/python $python tests/gpu/python_streams.py check "$tessera" "$libraries"
}

# Sources of CUTLASS's kernels, of which bench/gpu/check_regions.sh makes libraries.
regions_sources() {
  local stem writer=$build/src/backends/cutlass/tessera_write_cutlass_sources
  [ -x "$writer" ] || cmake --build "$build" --target tessera_write_cutlass_sources >/dev/null
  for stem in encoder_layer products integers float8 odd_rows tf32 convolutions \
    integer_convolutions; do
    mkdir -p "$1/$stem"
    "$writer" bench/gpu/$stem.relay "$1/$stem" \
      "cutlass$([ $stem = tf32 ] && echo ' -use_3xtf32=false')" >/dev/null || return 1
  done
  $python bench/gpu/quantized_convolutions.py "$1/quantized_convolutions.onnx" &&
    $python bench/gpu/upsampling.py "$1/upsampling.onnx"
}
regions() {
  local sources=$build/regions
  [ -d "$sources" ] || regions_sources "$sources" || return 1
  TESSERA_PART=$1/6 bench/gpu/check_regions.sh "$sources" "$PWD/src:$PWD/include" \
    "$(realpath "$cutlass")" "$tessera"
}

zoo() {
  local part=${TESSERA_ZOO_PART:-$(($(date +%s) / 86400 % 10 + 1))/10}
  [ -f tests/zoo/run.py ] || { echo "there is no zoo here"; return 77; }
  echo "part $part"
  $python tests/zoo/run.py --device cuda --tessera "$tessera" --part "$part"
}

# Random graphs with open sizes and without: native code against the reference evaluation.
fuzz() {
  local half=$((seconds * 2 / 5)) status=0 sizes
  for sizes in --open ''; do
    # shellcheck disable=SC2086 # no option where sizes are numbers
    TESSERA_FUZZ_SECONDS=$half "$build/bin/tessera_fuzz" --cuda $sizes --jobs "$(nproc)" \
      --failures "$folder/fuzz" || status=1
  done
  return $status
}

run() {
  case $1 in
    repeat | few_rows | lossless | mixed_products | conformance | libraries | collage | abi | \
      python | zoo | fuzz) $1 ;;
    memcheck | racecheck | synccheck) sanitize "$1" ;;
    regions-*) regions "${1#regions-}" ;;
    *) echo "no shard $1: ${shards[*]}"; return 2 ;;
  esac
}

case ${1:-} in
  --shards) printf '%s\n' "${shards[@]}"; exit ;;
  --prepare) prepare; exit ;;
  --pack) pack "$(realpath -m "$2")"; exit ;;
  --run) prepare && run "$2"; exit ;;
  '') echo "gpu-test.sh SHARD..., of ${shards[*]}"; exit 2 ;;
esac
if ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
  echo "there is no GPU here: gpu-test was not run"
  exit 77
fi
status=77  # until something was run
for shard in "$@"; do
  started=$SECONDS
  echo "== $shard"
  timeout --kill-after=5 $seconds scripts/gpu-test.sh --run "$shard"
  result=$?
  case $result in
    0) verdict=passed ;;
    77) verdict="not run" ;;
    124 | 137) verdict="out of time" ;;
    *) verdict=FAILED ;;
  esac
  case $result in
    77) ;;
    0) [ $status = 1 ] || status=0 ;;
    *) status=1 ;;
  esac
  echo "-- $shard: $verdict, $((SECONDS - started)) s"
done
exit $status
