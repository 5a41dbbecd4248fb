#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles what write_candidates wrote, as many at a time as there are cores, and runs gemm.cu on
# it.
#   gemm.sh SOURCES INCLUDES CUTLASS OUT
# SOURCES: the folder that write_candidates filled; INCLUDES: src/ and include/ of tessera, a colon
# between them; CUTLASS: its include/; OUT: where logs and results go.
set -uo pipefail
sources=$1 tessera=${2%%:*} headers=${2##*:} cutlass=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp "$sources"/*.cu "$sources"/list.txt "$work"
cd "$work" || exit 1
flags="-O3 -DNDEBUG --expt-relaxed-constexpr -diag-suppress=20012,20013,20015,2908"
flags+=" -gencode=arch=compute_90a,code=sm_90a -Xcompiler=-fPIC,-w -I$tessera -I$headers"
began=$SECONDS
timeout 100 nvcc -std=c++17 -O2 $flags "$here/gemm.cu" -o gemm -lcublasLt -ldl 2>&1 | tail -5 &
compile() {
  timeout 240 nvcc -std=c++20 $flags "-I$cutlass" -shared -cudart static "$1" -o "${1%.cu}.so" \
    >"${1%.cu}.log" 2>&1 || echo "failed: $1"
}
export -f compile
export flags cutlass
ls tessera_gemm_*.cu | xargs -P "$(nproc)" -I{} bash -c 'compile {}' | tee "$out/failed.txt"
wait
echo "compiled in $((SECONDS - began)) s; C7510 in $(cat ./*.log | grep -c C7510) messages"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv
timeout 240 ./gemm list.txt > "$out/gemm.txt" 2>&1
echo "gemm: exit $?, $((SECONDS - began)) s"
nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv
grep -E "RESULT|error" "$out/gemm.txt"
