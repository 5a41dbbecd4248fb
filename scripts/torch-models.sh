#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch.compile(backend="tessera") on the modules of tests/torch_models, the tests of python/tests
# that need torch, and the pages that show it. They run with TORCH_PYTHON, which has what
# tests/torch_models/requirements.txt lists, else in an environment in build/torch, which takes
# gigabytes. Arguments are those of run.py.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${TORCH_PYTHON:-$root/build/torch/bin/python}
if [ -z "${TORCH_PYTHON:-}" ] && [ ! -x "$python" ]; then
  "${PYTHON:-python3}" -m venv "$root/build/torch"
  "$python" -m pip install --quiet --disable-pip-version-check \
    --extra-index-url https://download.pytorch.org/whl/cpu \
    --requirement "$root/tests/torch_models/requirements.txt"
fi
export PYTHONPATH=$root/build/release/python PYTHONDONTWRITEBYTECODE=1 TESSERA_TESTS_REQUIRE=torch
"$python" -m unittest discover --start-directory "$root/python/tests" --pattern 'torch*_test.py'
"$python" "$root/tests/docs/docs_test.py" "$root/build/release" \
  Docs.test_the_page_about_python \
  Docs.test_the_readme_and_that_the_patterns_of_a_user_stay_composites
"$python" "$root/tests/torch_models/run.py" "$@"
