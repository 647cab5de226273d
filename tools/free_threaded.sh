#!/usr/bin/env bash
# Runs the tests of the engine, of the Python package and of training on a free-threaded CPython (3.13t or later):
#
#     tools/free_threaded.sh PYTHON [PYTEST ARGUMENT...]
#
# It makes a virtual environment in build/, installs the package and the packages that those tests import, and runs them.
# If tokenizers and tiktoken have no wheels for that Python (3.13t), it only runs the tests of shared state.
set -euo pipefail
python=$1
shift
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' ||
    { echo "$python is not free-threaded" >&2; exit 2; }
cd "$(dirname "$0")/.."
venv=$PWD/build/free-threaded # a fixed path, so that compiled objects can be reused
# A CPython built from source may lack pip: install it with another Python's.
"$python" -m venv --clear --without-pip "$venv"
python3 -m pip --python "$venv/bin/python" install -q pip
"$venv/bin/python" -m pip install -q numpy "pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100"
"$venv/bin/python" -m pip install -q --no-deps .
# `tests` is imported from here, crayon_hf from the installed package.
echo "$PWD" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
if "$venv/bin/python" -m pip install -q --only-binary :all: \
    "tokenizers==0.23.3" "tiktoken==0.14.0" "transformers==5.23.0" pyarrow; then
    [ $# -gt 0 ] || set -- -n auto --dist worksteal -m "not measures_memory" \
        tests/{batch,bpe,cartridge,compiler,components,engine,loading,scan,state,tokenizer,training}
else
    echo "the references have no wheels for this Python: only tests/tokenizer/test_unlocked.py runs" >&2
    set -- --noconftest "$@" tests/tokenizer/test_unlocked.py
fi
PYTHONSAFEPATH=1 PYTHON_GIL=0 "$venv/bin/python" -m pytest "$@"
