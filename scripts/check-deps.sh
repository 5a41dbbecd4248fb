#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reports what is installed and what is missing; changes nothing. Exit 1 if building needs more.
set -euo pipefail
source "$(dirname "$0")/dependencies.sh"

report() {
  local package version
  for package in "$@"; do
    if [ -z "$(missing_packages "$package")" ]; then
      version=$(dpkg-query -W -f '${Version}' "$package")
      printf '  %-26s %s\n' "$package" "$version"
    else
      printf '  %-26s missing\n' "$package"
    fi
  done
}

echo "to build, test and run the demo:"
report "${build_packages[@]}"
echo "for make check:"
report "${check_packages[@]}"
echo "PyPI packages in ${python_env#"$root"/}:"
python_missing=
while read -r requirement; do
  name=${requirement%%==*}
  distribution=$(echo "$name" | tr - _)
  if compgen -G "$python_env/lib/python3*/site-packages/$distribution-*.dist-info" >/dev/null; then
    printf '  %-26s %s\n' "$name" "${requirement##*==}"
  else
    printf '  %-26s missing\n' "$name"
    python_missing=yes
  fi
done < <(python_requirements | grep -v '^#')
has_nvcc ||
  echo "  nvcc is not there: no GPU back ends ($(grep -v '^#' "$gpu_requirements") is not needed)"
[ -e "$root/.deps/onnxruntime" ] ||
  echo "  no headers of onnxruntime: no execution provider (scripts/install-deps.sh --onnxruntime)"

if [ -n "$(missing_packages "${build_packages[@]}")$python_missing" ]; then
  echo "missing: run scripts/install-deps.sh"
  exit 1
fi
