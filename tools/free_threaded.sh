#!/usr/bin/env bash
# The tests of the engine, of the face and of training on a free-threaded CPython (3.13t or later), without the GIL:
#
#     tools/free_threaded.sh PYTHON [PYTEST ARGUMENT...]
#
# It makes a virtual environment, installs the package with what those tests import, and runs them. Where the references
# have no wheels for that Python (3.13t), it runs what needs none: what threads share.
set -euo pipefail
python=$1
shift
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' ||
    { echo "$python is not free-threaded" >&2; exit 2; }
cd "$(dirname "$0")/.."
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q . "pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100"
# `tests` is imported from here, crayon_hf from where it was installed.
echo "$PWD" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
if "$venv/bin/python" -m pip install -q --only-binary :all: "tokenizers==0.23.3" "tiktoken==0.14.0"; then
    [ $# -gt 0 ] || set -- -n auto --dist worksteal -m "not measures_memory" \
        tests/{batch,bpe,cartridge,compiler,components,engine,loading,scan,state,tokenizer,training}
else
    echo "tokenizers has no wheel for this Python: only tests/tokenizer/test_unlocked.py runs" >&2
    set -- --noconftest "$@" tests/tokenizer/test_unlocked.py
fi
PYTHONSAFEPATH=1 PYTHON_GIL=0 "$venv/bin/python" -m pytest "$@"
