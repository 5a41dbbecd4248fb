#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# That the wheel in build/wheels works in a fresh virtual environment, with nothing else of ours:
# the tests of python/tests run there, from another folder, with the examples. The command in the
# wheel knows where it was built, so the repository is hidden from it where the system allows that.
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
mkdir "$folder/python"
cp -r "$root/python/tests" "$folder/python/tests"
cp -r "$root/examples" "$folder/examples"
cd "$folder"
hidden=(unshare --user --map-root-user --mount
  bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$root")
if ! "${hidden[@]}" true 2>/dev/null; then
  hidden=()
  echo "the repository is not hidden: unshare fails"
fi
unset TESSERA_ROOT TESSERA_LIBRARY_PATH PYTHONPATH
[ "$(env/bin/tessera --version)" = "tessera $(env/bin/python -c 'import tessera
print(tessera.__version__)')" ]
"${hidden[@]}" env/bin/python -m unittest discover --start-directory python/tests \
  --pattern '*_test.py'
