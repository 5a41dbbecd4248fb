#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles what tessera_write_cutlass_sources wrote and runs check_regions.py on it; with the
# command, which needs nvcc and a C++ compiler, `--verify` of tf32.relay, too. Before, on the
# machine that builds:
#   for stem in encoder_layer products integers odd_rows tf32; do
#     mkdir -p SOURCES/$stem
#     write_sources bench/gpu/$stem.relay SOURCES/$stem [for tf32: "cutlass -use_3xtf32=false"]
#   done
#   check_regions.sh SOURCES INCLUDES CUTLASS [TESSERA]     as gemm.sh has INCLUDES and CUTLASS
set -uo pipefail
sources=$1 tessera=${2%%:*} headers=${2##*:} cutlass=$3 command=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp -r "$sources"/. "$work"
cd "$work" || exit 1
flags="-O3 -DNDEBUG --expt-relaxed-constexpr -diag-suppress=20012,20013,20015,2908 -std=c++20"
flags+=" -Xcompiler=-fPIC,-w -I$tessera -I$headers -I$cutlass"
flags+=" -I$cutlass/../examples/88_hopper_fmha"
export flags
# Beside each source are the flags that are its own.
find . -name '*.cu' -o -name '*.cc' | xargs -P "$(nproc)" -I{} sh -c \
  'timeout 240 nvcc $flags $(cat {}.flags) -c {} -o {}.o >{}.log 2>&1 ||
   { echo "failed: {}"; head -5 {}.log; }'
for part in */; do
  nvcc -shared -cudart static "$part"*.o -o "${part%/}.so" || exit 1
done
status=0
timeout 120 python3 "$here/check_regions.py" . || status=1
if [ -n "$command" ]; then
  timeout 300 "$command" compile "$here/tf32.relay" -o tf32_model.so --target cuda \
    --target "cutlass -use_3xtf32=false" --require cutlass --verify || status=1
fi
exit $status
