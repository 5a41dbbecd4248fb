#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles what tessera_write_cutlass_sources wrote and runs check_regions.py on it.
#   check_regions.sh LAYER PRODUCTS INCLUDES CUTLASS     as gemm.sh has INCLUDES and CUTLASS
set -uo pipefail
layer=$1 products=$2 tessera=${3%%:*} headers=${3##*:} cutlass=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp -r "$layer" "$work/layer"
cp -r "$products" "$work/products"
cd "$work" || exit 1
flags="-O3 -DNDEBUG --expt-relaxed-constexpr -diag-suppress=20012,20013,20015,2908 -std=c++20"
flags+=" -gencode=arch=compute_90a,code=sm_90a -Xcompiler=-fPIC,-w -I$tessera -I$headers -I$cutlass"
flags+=" -I$cutlass/../examples/88_hopper_fmha"
export flags
find . -name '*.cu' -o -name '*.cc' | xargs -P "$(nproc)" -I{} sh -c \
  'timeout 240 nvcc $flags -c {} -o {}.o >{}.log 2>&1 || { echo "failed: {}"; head -5 {}.log; }'
for part in layer products; do
  nvcc -shared -cudart static "$part"/*.o -o "$part.so" || exit 1
done
timeout 60 python3 "$here/check_regions.py" ./layer.so ./products.so
