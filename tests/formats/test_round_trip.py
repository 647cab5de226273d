"""Any bytes survive encoding and decoding with every complete vocabulary, exact and greedy, from every source."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from crayon_hf import Tokenizer
from crayon_hf.parity.inputs.byte_strings import generate_bytes
from tests.support.libraries import lacking

PACKAGED = (
    ("crayon", "resources/dat/vocab_lite.dat"),
    ("crayon", "resources/dat/vocab_standard.dat"),
    ("mistral_common", "data/tekken_240911.json"),
)


def check(path: Path) -> None:
    exact, greedy = (Tokenizer.from_file(path, mode=mode) for mode in ("exact", "greedy"))
    rng = random.Random(5)
    strings = [data for _, data in generate_bytes(600, seed=5)]
    strings += [rng.randbytes(rng.randrange(1, 400)) for _ in range(300)]
    for data in strings:
        for tokenizer in (exact, greedy):
            assert tokenizer.decode_bytes(tokenizer.encode_bytes(data)) == data, (path, tokenizer.mode, data)


@pytest.mark.slow
@pytest.mark.parametrize(("package", "name"), PACKAGED)
def test_packaged(package: str, name: str) -> None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        lacking(f"{package} is not installed")
    check(Path(spec.origin).parent / name)


def test_lite() -> None:
    import crayon_hf

    check(Path(crayon_hf.__file__).parent / "profiles" / "lite.json")
