"""Checks that the installed package works: one example of each feature, with only its required packages.

Run it as ``python -I tools/check_installed.py``, so that Python does not import the sources beside it. It needs no
network and no compiler. It prints one line; if something fails, it ends with exit status 1 and the reason.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from importlib.metadata import requires, version
from pathlib import Path

TEXT = "Hello, world! It's 12345 naïve words — 敏捷的狐狸, 🙂🙂\n\n   and  spaces\t."


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        os.environ["CRAYON_CACHE_DIR"] = str(Path(directory) / "cache")
        os.environ.pop("CRAYON_PROFILE_DIR", None)
        kernels = check(Path(directory))
    print(f"crayon-hf {version('crayon-hf')}: works on {sys.implementation.cache_tag} ({', '.join(kernels)})")


def check(directory: Path) -> list[str]:
    """Use each feature once. Return the instruction sets that give the same ids. Raises AssertionError or another
    exception for a fault."""
    import tokenizers

    import crayon_hf
    from crayon_hf import _core, cli

    package = Path(crayon_hf.__file__).parent
    assert crayon_hf.__version__ == _core.__version__ == version("crayon-hf"), crayon_hf.__version__
    needed = ("click", "numpy", "tokenizers", "tqdm")
    assert all(" extra ==" in need or need.startswith(needed) for need in requires("crayon-hf") or ())
    for name in (
        "py.typed",
        "_core.pyi",
        "util/page/page.css",
        "util/page/page.js",
        "util/page/base.html",
        "parity/report/page.html",
        "playground/page.html",
        "playground/playground.css",
        "playground/playground.js",
    ):
        assert (package / name).is_file(), f"{name} is not installed"
    profiles = sorted(package.glob("profiles/*.json"))
    assert [path.stem for path in profiles] == ["lite", "science", "standard"], profiles
    for path in profiles:
        assert path.with_suffix(".dat").is_file(), f"the profile {path.stem} is not compiled"

    source = package / "profiles" / "lite.json"
    reference = tokenizers.Tokenizer.from_file(str(source)).encode(TEXT).ids
    ours = crayon_hf.Tokenizer.from_profile("lite")
    assert ours.encode(TEXT).ids == reference
    assert ours.decode(reference) == TEXT
    kernels = kernels_that_agree(source, reference)

    text = directory / "text.txt"
    text.write_text(TEXT * 50, encoding="utf-8", newline="")
    whole = [int(i) for chunk in ours.encode_file(str(text)) for i in chunk.ids]
    assert whole == tokenizers.Tokenizer.from_file(str(source)).encode(TEXT * 50).ids
    trained = crayon_hf.train_bpe(str(text), vocab_size=300, output=str(directory / "trained"))
    assert trained.decode(trained.encode(TEXT).ids) == TEXT

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.main(["--version"])
    assert printed.getvalue().split() == ["crayon-hf", version("crayon-hf")], printed.getvalue()
    return kernels


def kernels_that_agree(source: Path, ids: list[int]) -> list[str]:
    """Check that every instruction set of this CPU gives `ids`, and return their names. Each runs in its own process,
    because a process chooses only one."""
    from crayon_hf import _core

    program = (
        "import sys, crayon_hf\ntok = crayon_hf.Tokenizer.from_file(sys.argv[1])\nprint(*tok.encode(sys.argv[2]).ids)"
    )
    command = [sys.executable, "-I", "-X", "utf8", "-c", program, str(source), TEXT]
    levels = _core.cpu_levels()
    for level in levels:
        environment = {**os.environ, "CRAYON_CPU": level}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{level}: {done.stderr}"
        assert [int(i) for i in done.stdout.split()] == ids, f"{level} gives other ids"
    return levels


if __name__ == "__main__":
    main()
