"""The generators of hostile strings and bytes give the same in every process and with every Python."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

from crayon_hf.parity.inputs.strings import generate


def digest(texts: list[tuple[str, str]]) -> str:
    joined = "\x01".join(f"{category}\x02{text}" for category, text in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def test_processes_agree_whatever_their_hash_seed() -> None:
    program = (
        "import hashlib; from crayon_hf.parity.inputs.strings import generate\n"
        "joined = '\\x01'.join(f'{c}\\x02{t}' for c, t in generate(800, 5, specials=('<s>', '</s>')))\n"
        "print(hashlib.sha256(joined.encode('utf-8', 'surrogatepass')).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(list(generate(800, 5, specials=("<s>", "</s>"))))
