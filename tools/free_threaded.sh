#!/usr/bin/env bash
# The tests of the engine, of the face and of training on a free-threaded CPython (3.13t or later):
#
#     tools/free_threaded.sh PYTHON [PYTEST ARGUMENT...]
#
# It makes a virtual environment, installs the package with what those tests import, and runs them: all of them where
# the references have wheels for that Python (3.14t), else pip builds what it can (Rust is needed for tokenizers).
set -euo pipefail
python=$1
shift
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' ||
    { echo "$python is not free-threaded" >&2; exit 2; }
cd "$(dirname "$0")/.."
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q . "tokenizers==0.23.3" "tiktoken==0.14.0" "pytest>=8" "pytest-xdist>=3.6" \
    "hypothesis>=6.100"
# `tests` is imported from here, crayon_hf from where it was installed.
echo "$PWD" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
[ $# -gt 0 ] || set -- -n auto --dist worksteal -m "not measures_memory" \
    tests/{batch,bpe,cartridge,compiler,components,engine,loading,scan,state,tokenizer,training}
PYTHONSAFEPATH=1 "$venv/bin/python" -m pytest "$@"
