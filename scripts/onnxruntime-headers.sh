#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Headers of onnxruntime into .deps/onnxruntime, where CMake finds them: only the execution provider
# needs them (docs/python.md). They are those of Debian's package libonnxruntime-dev, which has the
# interface for providers from 1.23 on; where this Debian's is older, those of its next release.
# Nothing is installed, and it needs no root.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/.deps/onnxruntime
package=libonnxruntime-dev
least=1.23

[ ! -e "$folder/usr/include/onnxruntime/onnxruntime_ep_c_api.h" ] || exit 0
fail() {
  echo "onnxruntime-headers: $1: name a folder that has them in ONNXRUNTIME_ROOT" >&2
  exit 1
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "there is no apt here"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# Is what apt offers now, by its configuration APT_CONFIG, new enough? It is downloaded then.
take() {
  local offered
  offered=$(apt-cache policy $package | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }')
  [ -n "$offered" ] && dpkg --compare-versions "$offered" ge $least || return 1
  # apt downloads as another user, unless only this one can write there.
  (cd "$stage" && apt-get -o APT::Sandbox::User=root download -qq $package)
}

# The lists of another release of Debian, beside those of the system: from the mirror that it uses.
use_release() {
  local mirror=$1 keys=$2 release=$3
  mkdir -p "$stage/$release"/{lists/partial,cache/archives/partial}
  echo "deb [signed-by=$keys] $mirror $release main" >"$stage/$release/sources.list"
  cat >"$stage/$release/apt.conf" <<END
Dir::State::lists "$stage/$release/lists";
Dir::Cache "$stage/$release/cache";
Dir::Etc::sourcelist "$stage/$release/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
  export APT_CONFIG=$stage/$release/apt.conf
  apt-get update -qq
}

if ! take; then
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' \
    'Created-By: Packages' | awk '$1 == "Debian" && $2 == "main" { print $3; exit }')
  keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' 2>/dev/null | sort | head -1)
  [ -n "$mirror" ] && [ -n "$keys" ] ||
    fail "this system has no $package of $least, and is no Debian that could have a newer one"
  for release in testing unstable; do
    use_release "$mirror" "$keys" $release && take && break
  done
fi
file=$(find "$stage" -maxdepth 1 -name "${package}_*.deb")
[ -n "$file" ] || fail "no $package of $least or newer can be had here"
mkdir -p "$root/.deps"
dpkg-deb -x "$file" "$stage/unpacked"
rm -rf "$folder"
mv "$stage/unpacked" "$folder"
echo "onnxruntime-headers: $(basename "$file") in ${folder#"$root"/}"
