#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# That the wheel in build/wheels works in a fresh virtual environment, with nothing else of ours:
# the tests of python/tests run there, from another folder.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(echo "$root"/build/wheels/*.whl)
[ -f "$wheel" ] || { echo "there is no wheel in build/wheels: run make wheel"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/env"
begin=$(date +%s%N)
"$folder/env/bin/pip" install --quiet --disable-pip-version-check "$wheel"
echo "pip install: $((($(date +%s%N) - begin) / 1000000)) ms, $(stat -c %s "$wheel") bytes"
# What the tests compile for comparison.
"$folder/env/bin/pip" install --quiet --disable-pip-version-check onnx
cp -r "$root/python/tests" "$folder/tests"
cd "$folder"
unset TESSERA_ROOT TESSERA_LIBRARY_PATH PYTHONPATH
[ "$(env/bin/tessera --version)" = "tessera $(env/bin/python -c 'import tessera
print(tessera.__version__)')" ]
env/bin/python -m unittest discover --start-directory tests --pattern '*_test.py'
