#!/usr/bin/env bash
# Times of the build, for the table in CONTRIBUTING: tools/time_build.sh, on a machine that does nothing else, where
# `make build` has run. The engine for the CPU alone, without ccache, in a build directory of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
export CRAYON_BUILD=cpu CCACHE_DISABLE=1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

measure() { # WHAT [FILE TO EDIT]
    [ -z "${2:-}" ] || touch "$2"
    start=$(date +%s.%N)
    "$python" setup.py build --build-base="$room" --build-lib="$room/lib" >"$room/log"
    compiled=$(grep -c '^\[.*\.cpp$' "$room/log" || true) # ninja names them
    awk "BEGIN { printf \"%-50s %6.1f s  %3d files compiled\\n\", \"$1\", $(date +%s.%N) - $start, $compiled }"
}

measure "clean build"
measure "nothing changed"
measure "a source: cpp/src/bpe/char_pairs.cpp" cpp/src/bpe/char_pairs.cpp
measure "a large one: cpp/src/engine/engine.cpp" cpp/src/engine/engine.cpp
measure "a binding: bindings/components/bind_models.cpp" cpp/bindings/components/bind_models.cpp
measure "a hot one: bindings/engine/bind_encoding.cpp" cpp/bindings/engine/bind_encoding.cpp
measure "a header: cpp/src/bpe/char_pairs.h" cpp/src/bpe/char_pairs.h
