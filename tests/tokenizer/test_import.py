"""The cost of importing the package, and the modules that it imports."""

from __future__ import annotations

import sysconfig

import pytest

from tests.support.child import child, said_by

free_threaded = pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="for free-threaded Python: tools/free_threaded.sh"
)


def test_import_is_light():
    heavy = "numpy", "tokenizers", "tiktoken", "transformers", "torch", "json", "argparse", "click", "tqdm"
    loaded = said_by(f"import sys, crayon_hf; print([name for name in {heavy} if name in sys.modules])")
    assert loaded == "[]"


def test_the_command_starts_without_what_it_may_not_need():
    heavy = "numpy", "tokenizers", "tiktoken", "transformers", "torch", "pyarrow", "fsspec", "tqdm", "rich"
    loaded = said_by(f"import sys, crayon_hf.cli.parser; print([name for name in {heavy} if name in sys.modules])")
    assert loaded == "[]"


def test_encoding_lists_needs_no_numpy(gpt2_like):
    program = (
        "import sys, crayon_hf\n"
        f"tokenizer = crayon_hf.Tokenizer.from_file({str(gpt2_like)!r})\n"
        "ids = tokenizer.encode('Hello').ids\n"
        "assert tokenizer.decode(ids) == 'Hello' and tokenizer.count_tokens(['Hello']) == [len(ids)]\n"
        "print('numpy' in sys.modules, 'tokenizers' in sys.modules)\n"
    )
    assert said_by(program) == "False False"


@free_threaded
def test_a_free_threaded_python_stays_without_the_gil():
    program = (
        "import sys, crayon_hf; from crayon_hf.device import devices\n"
        "for kind in ('cuda', 'rocm'):\n"
        "    devices._is_built(kind)  # their extension modules, where there are any\n"
        "print(sys._is_gil_enabled())"
    )
    ran = child(program, PYTHONWARNINGS="error")
    assert (ran.stdout.strip(), ran.stderr) == (b"False", b"")
