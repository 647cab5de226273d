"""Makes directories with tokenizers, like repositories on the Hub: `python -m clients.vocabularies DIRECTORY`.

The tokenizers come from CRAYON_SHARED.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

MODEL_TYPES = {
    "gpt2": "gpt2",
    "llama3": "llama",
    "qwen": "qwen2",
    "llama2": "llama",
    "bert-cased": "bert",
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "gpt2": {
        "tokenizer_class": "GPT2Tokenizer",
        "model_max_length": 1024,
        **dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>"),
    },
}
"""The Hub's tokenizer_config.json of vocabularies that have none in CRAYON_SHARED."""


def make(directory: Path) -> None:
    """Make the tokenizers' directories that `directory` lacks."""
    shared = os.environ["CRAYON_SHARED"]
    for name, model_type in MODEL_TYPES.items():
        home = directory / name
        if (home / "config.json").exists():
            continue
        home.mkdir(parents=True, exist_ok=True)
        for file in Path(shared, "vocab", name).iterdir():
            shutil.copy(file, home / file.name)
        if name in CONFIGURATIONS and not (home / "tokenizer_config.json").exists():
            _write(home / "tokenizer_config.json", CONFIGURATIONS[name])
        _write(home / "config.json", {"model_type": model_type})


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
