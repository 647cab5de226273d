"""The generators of hostile strings and bytes give the same in every process and with every Python."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

from crayon_hf.parity.inputs.byte_strings import generate_bytes
from crayon_hf.parity.inputs.strings import CATEGORIES, generate

SPECIALS = ("<|endoftext|>", "<|im_start|>", "   ")


def digest(texts: list[tuple[str, str]]) -> str:
    joined = "\x01".join(f"{category}\x02{text}" for category, text in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def test_every_string_is_as_it_was() -> None:
    """The digest changes if a Python generates other strings, or if a category is edited: check its strings then."""
    strings = list(generate(400 * len(CATEGORIES), 7, specials=SPECIALS))
    assert digest(strings)[:16] == "dbbdc477402d9581"


def test_processes_agree_whatever_their_hash_seed() -> None:
    program = (
        "import hashlib; from crayon_hf.parity.inputs.strings import generate\n"
        "joined = '\\x01'.join(f'{c}\\x02{t}' for c, t in generate(800, 5, specials=('<s>', '</s>')))\n"
        "print(hashlib.sha256(joined.encode('utf-8', 'surrogatepass')).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(list(generate(800, 5, specials=("<s>", "</s>"))))


def test_every_byte_string_is_as_it_was() -> None:
    made = list(generate_bytes(2000, 7))
    assert hashlib.sha256(b"\x01".join(data for _, data in made)).hexdigest()[:16] == "ad5ca07f0e921747"
