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
#   for stem in encoder_layer products integers odd_rows tf32 convolutions \
#               integer_convolutions; do
#     mkdir -p SOURCES/$stem
#     write_sources bench/gpu/$stem.relay SOURCES/$stem [for tf32: "cutlass -use_3xtf32=false"]
#   done
#   quantized_convolutions.py SOURCES/quantized_convolutions.onnx
#   upsampling.py SOURCES/upsampling.onnx
#   check_regions.sh SOURCES INCLUDES CUTLASS [TESSERA]     as gemm.sh has INCLUDES and CUTLASS
# Beside CUTLASS there are its examples/88_hopper_fmha and tools/util/include.
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
# Beside each source are the flags that are its own.
find . -name '*.cu' -o -name '*.cc' | xargs -P "$(nproc)" -I{} sh -c \
  'timeout 240 nvcc $flags $(cat {}.flags) -c {} -o {}.o >{}.log 2>&1 ||
   { echo "failed: {}"; head -5 {}.log; }'
for part in */; do
  nvcc -shared -cudart static "$part"*.o -o "${part%/}.so" || exit 1
done
status=0
timeout 180 python3 "$here/check_regions.py" . || status=1
if [ -n "$command" ]; then
  cutlass_target="cutlass -include=$cutlass"
  timeout 150 "$command" compile "$here/tf32.relay" -o tf32_model.so --target cuda \
    --target "$cutlass_target -use_3xtf32=false" --require cutlass --verify || status=1
  # Without Hopper's own instructions, attention of 16 bits has the kernels of older devices.
  timeout 150 "$command" compile "$here/masked_rows.relay" -o masked_rows_sm90_model.so \
    --target cuda --target "$cutlass_target -arch=sm_90" --require cutlass --verify || status=1
  for stem in masked_rows counted_heads float32_attention broadcasts; do
    timeout 150 "$command" compile "$here/$stem.relay" -o ${stem}_model.so --target cuda \
      --target "$cutlass_target" --require cutlass --verify || status=1
  done
  # Sums of weights in as many parts as the model says, and in three.
  for parts in 1 3; do
    timeout 280 "$command" compile "$here/transposed_convolutions.relay" \
      -o transposed_convolutions_model.so --target cuda \
      --target "$cutlass_target -split_k_slices=$parts" --require cutlass --verify || status=1
  done
  timeout 280 "$command" compile upsampling.onnx -o upsampling_model.so --precision fp16 \
    --target cuda --target "$cutlass_target" --require cutlass --verify || status=1
  timeout 280 "$command" compile quantized_convolutions.onnx -o quantized_model.so \
    --target cuda --target "$cutlass_target" --require cutlass --verify || status=1
  timeout 280 "$command" tune "$here/integers.relay" --target cuda --target "$cutlass_target" \
    --records integers.db --candidates 4 --budget 200 || status=1
  timeout 60 "$command" records integers.db
  timeout 150 "$command" compile "$here/integers.relay" -o integers_model.so --target cuda \
    --target "$cutlass_target" --records integers.db --require cutlass --verify || status=1
fi
exit $status
