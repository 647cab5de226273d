"""Optional packages: without one, an ImportError names it and the command that installs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crayon_hf import CrayonError, MissingExtraError
from crayon_hf.util.extras import how_to_install, needed
from tests.support.child import child

# Programs that fail without a package, each with the extra that the message must name.
CALLS = {
    "transformers": ("from crayon_hf import AutoTokenizer", "transformers"),
    "transformers.models.auto": ("from crayon_hf import CrayonTokenizerFast", "transformers"),
    "tiktoken": ("from crayon_hf.tiktoken.load import _library; _library()", "tiktoken"),
    "tiktoken_ext.openai_public": ("import crayon_hf; crayon_hf.Tokenizer.from_tiktoken('cl100k_base')", "tiktoken"),
    "tiktoken._educational": ("import crayon_hf.tiktoken._educational", "tiktoken"),
    "huggingface_hub": ("import crayon_hf; crayon_hf.Tokenizer.from_pretrained('user/name')", "hub"),
    "yaml": ("import crayon_hf; crayon_hf.pull('user/name')", "hub"),
    "filelock": ("import crayon_hf; crayon_hf.pull('user/name')", "hub"),
    "jinja2": (
        "from crayon_hf.parity.report.html import to_html; from tests.parity.report_samples import *; "
        "to_html(agreeing())",
        "report",
    ),
    "matplotlib": (
        "from crayon_hf.parity.report.plots import speed_plot as plot; from tests.parity.report_samples import *; "
        "plot(agreeing(), 'svg')",
        "report",
    ),
    "pyarrow": ("import crayon_hf; crayon_hf.train_bpe('x.parquet')", "corpora"),
    "pyarrow.ipc": ("import crayon_hf; crayon_hf.tokenize_corpus('x.arrow', 'o', tokenizer='lite')", "corpora"),
    "fsspec.core": ("import crayon_hf; crayon_hf.tokenize_corpus('s3://x/y.txt', 'o', tokenizer='lite')", "corpora"),
    "datatrove": ("import crayon_hf.corpora.datatrove", "datatrove"),
    "ray": ("from crayon_hf.corpora.ray_corpus import *; tokenize_corpus_on_ray('x', 'o', tokenizer='lite')", "ray"),
    "pyspark": ("from crayon_hf.corpora.spark import *; tokenize_in_arrow(None, 'lite')", "spark"),
    "llama_cpp": ("from crayon_hf.parity import greedy; greedy.llama_cpp('x')", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("package", CALLS)
def test_a_package_that_is_missing(package: str, tmp_path: Path) -> None:
    call, extra = CALLS[package]
    for name in ("x.parquet", "x.arrow", "x.txt"):
        (tmp_path / name).write_bytes(b"x")
    program = f"import sys; sys.modules[{package!r}] = None\n{call}"
    done = child(program, path=Path(__file__).parents[2], cwd=tmp_path, TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert done.returncode == 1, done
    kind, _, message = done.stderr.decode().strip().splitlines()[-1].partition(": ")
    assert kind == "crayon_hf.errors.MissingExtraError", done.stderr
    wanted = how_to_install(extra) if extra else "python -m pip install llama-cpp-python"
    assert re.search(rf"needs [\w-]+, which .*: {re.escape(wanted)}", message), message
    assert package.partition(".")[0].partition("_ext")[0].replace("_", "-") in message.replace("_", "-")


def test_it_is_an_import_error() -> None:
    with pytest.raises(ImportError) as caught, needed("this", "hub"):
        import what_there_is_not  # type: ignore[import-not-found] # noqa: F401
    assert isinstance(caught.value, MissingExtraError)
    assert isinstance(caught.value, CrayonError)
    assert caught.value.name == "what_there_is_not"
    install = "python -m pip install '.[hub]' (in a clone of crayon-hf)"
    assert str(caught.value) == f"this needs what_there_is_not, which is not installed: {install}"


def test_what_is_there_and_broken_says_why() -> None:
    says = r"needs os, which cannot be imported \(cannot import name 'nothing'.*\): python -m pip install '\.\[hub\]'"
    with pytest.raises(MissingExtraError, match=says), needed("this", "hub"):
        from os import nothing  # type: ignore[attr-defined] # noqa: F401
