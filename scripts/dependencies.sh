# SPDX-License-Identifier: Apache-2.0
# What tessera needs, read by install-deps.sh and check-deps.sh. Debian 12 and Ubuntu 24.04.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python_env=$root/.deps/python
requirements=$root/scripts/requirements.txt
gpu_requirements=$root/scripts/requirements-gpu.txt  # what nvcc reads: only where there is nvcc
installed_stamp=$python_env/requirements.installed
docs_requirements=$root/scripts/requirements-docs.txt  # what makes the site
docs_stamp=$python_env/requirements-docs.installed

build_packages=(
  g++ make cmake ninja-build ccache
  protobuf-compiler libprotobuf-dev libfmt-dev libcli11-dev nlohmann-json3-dev libsqlite3-dev
  libxxhash-dev zlib1g-dev libgtest-dev libbenchmark-dev
  libopenblas-openmp-dev libonnx-testdata
  python3 python3-venv python3-dev
)

# clang 14 is what the project is written against; it cannot read the standard library of g++ 13,
# so newer distributions take their own clang. The formatter is 14 everywhere: its output differs.
clang_version=14
if [ -r /etc/os-release ] && ! grep -q '^VERSION_ID="12"' /etc/os-release; then
  clang_version=18
fi
check_packages=(
  clang-$clang_version clang-tidy-$clang_version libclang-rt-$clang_version-dev clang-format-14 git
)

# Prints those of its arguments that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      echo "$package"
  done
}

has_nvcc() {
  command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]
}

# All PyPI requirements of this machine.
python_requirements() {
  cat "$requirements"
  if has_nvcc; then cat "$gpu_requirements"; fi
}

# Names that the last installation required, by its list $2, and the list in file $1 does not.
no_longer_required() {
  [ -f "$2" ] || return 0
  comm -23 <(requirement_names "$2") <(requirement_names "$1")
}
requirement_names() { grep -v '^#' "$1" | sed 's/==.*//' | sort; }

# Is what file $1 lists what the last installation, by its list $2, required?
python_env_is_current() {
  [ -x "$python_env/bin/python3" ] && cmp -s "$1" "$2"
}
