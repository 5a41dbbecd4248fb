#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What scripts/gpu-test.sh makes of compute-sanitizer's words: a stand-in for it says what
# FAKE_ERRORS and FAKE_RACE tell it to.
#   findings_test.sh FOLDER
set -euo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/gpu-test.sh
rm -rf "$1"
mkdir -p "$1"/{fake,build/bin,build/gpu}
cd "$1"
cat >fake/nvidia-smi <<'EOF'
#!/bin/sh
echo "GPU 0: a stand-in"
EOF
cat >fake/compute-sanitizer <<'EOF'
#!/bin/sh
errors=${FAKE_ERRORS:-0}
case "$*" in *build/gpu/race) errors=${FAKE_RACE:-20} ;; esac
case "$*" in
  *racecheck*)
    echo "========= RACECHECK SUMMARY: $errors hazards displayed ($errors errors, 3 warnings)" ;;
  *) echo "========= ERROR SUMMARY: $errors errors" ;;
esac
[ "$errors" = 0 ] || exit 9
EOF
printf '#!/bin/sh\n' | tee build/bin/tessera >build/bin/tessera_conformance_test
chmod +x fake/* build/bin/*
touch -d '1 hour ago' build/bin/*
touch build/gpu/{native,conv,quantized,whisper,distilbert,unet}.so build/gpu/race
touch build/gpu/{few_rows,plain}-{float32,float16,bfloat16}.so
mkdir build/gpu/lossless
touch build/gpu/lossless/load_packed
export TESSERA_BUILD=$PWD/build PATH=$PWD/fake:$PATH

# STATUS TEXT SHARD: its exit status, and a line that it prints.
expect() {
  local status=0 text
  text=$("$script" "$3") || status=$?
  if [ $status != "$1" ] || ! grep -q "$2" <<<"$text"; then
    echo "$3 ended with $status instead of $1, or did not say '$2':"
    echo "$text"
    exit 1
  fi
}
expect 0 '^ok racecheck native' racecheck
expect 0 '^ok memcheck samples' memcheck
FAKE_ERRORS=7 expect 1 '^WRONG racecheck conv' racecheck
FAKE_ERRORS=7 expect 1 '^WRONG memcheck unet' memcheck
FAKE_RACE=0 expect 1 '^WRONG racecheck does not find a race' racecheck
rm fake/nvidia-smi
PATH=$PWD/fake:/usr/bin:/bin
command -v nvidia-smi >/dev/null || expect 77 'there is no GPU here' memcheck
echo "all as expected"
