#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing and nothing else: Debian packages, and PyPI packages into .deps/python.
#   scripts/install-deps.sh           what building, testing and the demo need
#   scripts/install-deps.sh --check   also what `make check` needs (clang, clang-tidy, clang-format)
#   scripts/install-deps.sh --docs    also what makes the site of documents; --check does so, too
#   scripts/install-deps.sh --onnxruntime  also headers of onnxruntime, for its execution provider
set -euo pipefail
source "$(dirname "$0")/dependencies.sh"

packages=("${build_packages[@]}")
case "${1:-}" in
  "" | --docs | --onnxruntime) ;;
  --check) packages+=("${check_packages[@]}") ;;
  *) echo "usage: $0 [--check | --docs | --onnxruntime]" >&2; exit 2 ;;
esac

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "install-deps: these packages are missing and need root: ${missing[*]}" >&2
    echo "install-deps: run as root: apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
}

mapfile -t missing < <(missing_packages "${packages[@]}")
if [ "${#missing[@]}" -gt 0 ]; then
  echo "install-deps: apt packages: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# Brings the environment to the list in file $1; $2 is a copy of the list that it was brought to.
install_python() {
  local wanted=$1 stamp=$2 dropped
  if python_env_is_current "$wanted" "$stamp"; then return; fi
  echo "install-deps: PyPI packages into ${python_env#"$root"/}:" \
    "$(grep -v '^#' "$wanted" | tr '\n' ' ')"
  [ -x "$python_env/bin/pip" ] || python3 -m venv "$python_env"
  # What is not wanted any more goes first: other builds of a library have the same files.
  mapfile -t dropped < <(no_longer_required "$wanted" "$stamp")
  [ "${#dropped[@]}" -eq 0 ] ||
    "$python_env/bin/pip" uninstall --quiet --disable-pip-version-check --yes "${dropped[@]}"
  "$python_env/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    --requirement "$wanted"
  cp "$wanted" "$stamp"
}

all=$(mktemp)
trap 'rm -f "$all"' EXIT
python_requirements > "$all"
install_python "$all" "$installed_stamp"
case "${1:-}" in
  --check | --docs) install_python "$docs_requirements" "$docs_stamp" ;;
  --onnxruntime) "$root/scripts/onnxruntime-headers.sh" ;;
esac
