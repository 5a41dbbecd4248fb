#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes lossless_product.cu and load_packed.cc, with the packing and the runtime of this build, in a
# folder that needs nothing but a driver and the C and C++ libraries.
#   lossless.sh FOLDER [BUILD]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$1 build=${2:-$root/build/release}
ninja -C "$build" tessera_constants tessera_cuda_runtime >/dev/null
mkdir -p "$out"
rm -f "$out"/libfmt.*  # ldd would find it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
flags=(-std=c++20 -O3 -DNDEBUG "-I$root/include" "-I$root/src" "-I$root/bench/gpu")
for source in lossless_weights load_packed; do
  g++ "${flags[@]}" -c "$root/bench/gpu/$source.cc" -o "$work/$source.o"
done
nvcc "${flags[@]}" -arch=sm_90a -c "$root/bench/gpu/lossless_product.cu" -o "$work/product.o"
link() {  # NAME OBJECT...
  g++ -static-libstdc++ -static-libgcc "${@:2}" \
    -Wl,--start-group "$build"/src/{constants,types,diagnostics,support}/libtessera_*.a \
    "$build"/lib/tessera/libtessera_{runtime,lossless,cuda_runtime}.a -Wl,--end-group \
    "-L$toolkit/lib64" -Wl,-Bstatic -lcudart_static -lxxhash -lz -Wl,-Bdynamic -lfmt -ldl -lrt \
    -lpthread '-Wl,-rpath,$ORIGIN' -o "$out/$1"
}
link lossless_product "$work"/{product,lossless_weights}.o
link load_packed "$work/load_packed.o"
cp "$(ldd "$out/load_packed" | awk '/libfmt/ { print $3 }')" "$out"
