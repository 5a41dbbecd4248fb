#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes lossless_product.cu, with the packing of this build, in a folder that needs a driver only.
#   lossless_product.sh FOLDER [BUILD]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$1 build=${2:-$root/build/release}
ninja -C "$build" tessera_constants >/dev/null
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -O3 "-I$root/include" "-I$root/src" "-I$root/bench/gpu")
g++ "${flags[@]}" -c "$root/bench/gpu/lossless_weights.cc" -o "$work/weights.o"
nvcc "${flags[@]}" -arch=sm_90a -c "$root/bench/gpu/lossless_product.cu" -o "$work/product.o"
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
g++ -static-libstdc++ -static-libgcc "$work"/*.o \
  -Wl,--start-group "$build"/src/{constants,types,diagnostics,support}/libtessera_*.a \
  "$build/lib/tessera/libtessera_runtime.a" -Wl,--end-group "-L$toolkit/lib64" \
  -Wl,-Bstatic -lcudart_static -lxxhash -lz -Wl,-Bdynamic -lfmt -ldl -lrt -lpthread \
  '-Wl,-rpath,$ORIGIN' -o "$out/lossless_product"
cp "$(ldd "$out/lossless_product" | awk '/libfmt/ { print $3 }')" "$out"
