#!/usr/bin/env bash
# Builds the sdist, and the wheel from it, into dist/. Uses the build tools that tools/build.txt pins, and sets the time
# of all files to the commit's.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "$(git status --porcelain)" ]; then
    echo "tools/dist.sh: commit or remove what git status lists: a release is built from a commit" >&2
    exit 1
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
export CRAYON_BUILD=cpu # even with a GPU here: GPU engines are built at installation
umask 022

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"${PYTHON:-python3}" -m venv "$room/venv"
"$room/venv/bin/python" -m pip install -q --require-hashes -r tools/build.txt
rm -rf dist
git archive --prefix=source/ HEAD | tar -x -C "$room"
"$room/venv/bin/python" -m build --no-isolation --outdir dist "$room/source"
