#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles what tessera_write_cutlass_sources wrote and runs check_regions.py on it. With the
# command, which needs nvcc and a C++ compiler, it also compiles tf32.relay, masked_rows.relay,
# counted_heads.relay, float32_attention.relay, broadcasts.relay, transposed_convolutions.relay,
# integers.relay, upsampling.onnx and quantized_convolutions.onnx with `--verify`, masked_rows.relay
# for sm_90 as well, and measures the kernels of integers.relay: each is checked before its time
# counts, so that `wrong` in the list of records is a kernel with wrong numbers. 16 cores take
# fifteen minutes.
# Before, on the machine that builds:
#   for stem in encoder_layer products integers float8 odd_rows tf32 convolutions \
#               integer_convolutions; do
#     mkdir -p SOURCES/$stem
#     write_sources bench/gpu/$stem.relay SOURCES/$stem [for tf32: "cutlass -use_3xtf32=false"]
#   done
#   quantized_convolutions.py SOURCES/quantized_convolutions.onnx
#   upsampling.py SOURCES/upsampling.onnx
#   check_regions.sh SOURCES INCLUDES CUTLASS [TESSERA]     as gemm.sh has INCLUDES and CUTLASS
# Beside CUTLASS there are its examples/88_hopper_fmha and tools/util/include. TESSERA_PART=K/N does
# the K-th, N+K-th, ... of the folders of sources, and of the compilations, alone.
set -uo pipefail
sources=$1 tessera=${2%%:*} headers=${2##*:} cutlass=$3 command=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp -r "$sources"/. "$work"
cd "$work" || exit 1
flags="-O3 -DNDEBUG --expt-relaxed-constexpr -diag-suppress=20012,20013,20015,2908 -std=c++20"
flags+=" -Xcompiler=-fPIC,-w -I$tessera -I$headers -I$cutlass"
flags+=" -I$cutlass/../examples/88_hopper_fmha -I$cutlass/../tools/util/include"
export flags
part=${TESSERA_PART:-1/1}
steps=0 status=0
# Is the next step one of this part?
mine() { [ $((steps++ % ${part#*/})) = $((${part%/*} - 1)) ]; }
for folder in */; do
  mine || rm -r "$folder"
done
# Beside each source are the flags that are its own.
find . -name '*.cu' -o -name '*.cc' | xargs -P "$(nproc)" -I{} sh -c \
  'timeout 240 nvcc $flags $(cat {}.flags) -c {} -o {}.o >{}.log 2>&1 ||
   { echo "failed: {}"; head -5 {}.log; }'
for folder in $(find . -mindepth 1 -maxdepth 1 -type d); do
  nvcc -shared -cudart static "$folder"/*.o -o "$folder.so" || exit 1
done
timeout 180 python3 "$here/check_regions.py" . || status=1
[ -n "$command" ] || exit $status

# SECONDS MODEL OPTIONS of the target cutlass, other options: compiles and verifies.
verify() {
  local seconds=$1 model=$2 target="cutlass -include=$cutlass $3" started=$SECONDS
  shift 3
  mine || return 0
  if timeout "$seconds" "$command" compile "$model" -o model.so --target cuda --target "$target" \
    --require cutlass --verify "$@"; then
    echo "ok ${model##*/} ${target#* -include=* }, $((SECONDS - started)) s"
  else
    echo "WRONG ${model##*/} ${target#* -include=* }: status $?, $((SECONDS - started)) s"
    status=1
  fi
}
verify 150 "$here/tf32.relay" -use_3xtf32=false
# Without Hopper's own instructions, attention of 16 bits has the kernels of older devices.
verify 150 "$here/masked_rows.relay" -arch=sm_90
for stem in masked_rows counted_heads float32_attention broadcasts; do
  verify 150 "$here/$stem.relay" ""
done
# Sums of weights in as many parts as the model says, and in three.
for parts in 1 3; do
  verify 280 "$here/transposed_convolutions.relay" -split_k_slices=$parts
done
verify 280 upsampling.onnx "" --precision fp16
verify 280 quantized_convolutions.onnx ""
if mine; then
  timeout 280 "$command" tune "$here/integers.relay" --target cuda \
    --target "cutlass -include=$cutlass" --records integers.db --candidates 4 --budget 200 ||
    status=1
  timeout 60 "$command" records integers.db
  steps=$((steps - 1))
  verify 150 "$here/integers.relay" "" --records integers.db
fi
exit $status
