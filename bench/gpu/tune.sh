#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the convolutions, and the products and the attention of an encoder layer, with the
# command, which needs nvcc and a C++ compiler. Each candidate is compared with a plain kernel
# before its time counts, so that a failure among the records is a kernel with wrong numbers; where
# all candidates of a task fail, it is the plain kernel. 16 cores take six minutes.
#   tune.sh TESSERA CUTLASS OUT [CANDIDATES]    CUTLASS: its include/; OUT: where the records go
# Exit status 1, and `fault:` in a line, where something failed or was not measured.
set -uo pipefail
tessera=$1 cutlass=$2 out=$3 candidates=${4:-5}
here=$(cd "$(dirname "$0")" && pwd)
status=0
fault() {
  echo "fault: $1"
  status=1
}
for model in encoder_layer convolutions; do
  options=("$here/$model.relay" --target cuda --target "cutlass -include=$cutlass"
    --records "$out/$model.db")
  timeout 280 "$tessera" tune "${options[@]}" --candidates "$candidates" --budget 240 \
    >"$out/$model.txt" 2>"$out/$model.err" || fault "$model: tune ended with $?"
  cat "$out/$model.txt"
  grep -E "not measured|no configuration|^  the |[1-9][0-9]* failed" "$out/$model.txt" &&
    fault "$model: lines above"
  timeout 60 "$tessera" records "$out/$model.db" >"$out/$model.records.txt" ||
    fault "$model: records"
  # What failed has a reason in place of a time.
  grep -E "^  sm[0-9]+_.*: " "$out/$model.records.txt" && fault "$model: candidates above"
done
# Nothing is measured or compiled by nvcc once there are records.
timeout 100 "$tessera" compile "$here/encoder_layer.relay" -o "$out/encoder_layer.so" \
  --target cuda --target "cutlass -include=$cutlass" --records "$out/encoder_layer.db" \
  --no-measure --require cutlass >"$out/compile.txt" 2>&1 || fault "compile ended with $?"
cat "$out/compile.txt"
exit $status
