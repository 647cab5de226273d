"""Files that run code if they are loaded the wrong way. The code would write the file `canary`, which tests look
for."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODULES = ("evil_tokenizer", "tokenization_evil", "tokenizers", "transformers", "json", "regex", "sitecustomize")
"""Python modules in a model's directory: some that its configuration names, some whose names an import might find."""

CHAT_TEMPLATE = "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ cycler.__init__.__globals__.os.system('true') }}"


class _Call:
    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return exec, (self.code,)


def code(canary: Path) -> str:
    return f"open({str(canary)!r}, 'a').write('ran\\n')\n"


def pickled(canary: Path) -> bytes:
    return pickle.dumps(_Call(code(canary)))


def model_directory(directory: Path, tokenizer_json: bytes, canary: Path, *, own_class: bool = False) -> Path:
    """A directory that transformers opens, with code and pickles beside its tokenizer.json.

    With `own_class`, only the code in the directory could make the tokenizer.
    """
    directory.mkdir(parents=True)
    (directory / "tokenizer.json").write_bytes(tokenizer_json)
    auto_map = {"AutoTokenizer": ["evil_tokenizer.EvilTokenizer", "evil_tokenizer.EvilTokenizerFast"]}
    name = "EvilTokenizerFast" if own_class else "GPT2TokenizerFast"
    config = {
        "tokenizer_class": name,
        "auto_map": auto_map,
        "chat_template": CHAT_TEMPLATE,
        "extra": {"__class__": "x"},
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    model = {"auto_map": {"AutoConfig": "evil_tokenizer.EvilConfig"}} if own_class else {"model_type": "gpt2"}
    (directory / "config.json").write_text(json.dumps(model), encoding="utf-8")
    classes = (
        "from transformers import GPT2Config as EvilConfig, GPT2Tokenizer as EvilTokenizer\n"
        "from transformers import PreTrainedTokenizerFast\n"
        "class EvilTokenizerFast(PreTrainedTokenizerFast): pass\n"
    )
    for module in MODULES:
        (directory / f"{module}.py").write_text(code(canary) + classes * (module == "evil_tokenizer"), encoding="utf-8")
    (directory / "__init__.py").write_text(code(canary), encoding="utf-8")
    for name in ("tokenizer.pkl", "pytorch_model.bin", "training_args.bin", "vocab.pkl", "tokenizer.pt", "vocab.npy"):
        (directory / name).write_bytes(pickled(canary))
    return directory


def sources(directory: Path, canary: Path) -> list[Path]:
    """Write pickles under the file names that our readers look for, and JSON that refers to the pickles."""
    directory.mkdir(parents=True)
    names = (
        *("tokenizer.json", "tekken.json", "vocab.json", "merges.txt", "vocab.txt", "cl100k_base.tiktoken"),
        *("tokenizer.model", "spiece.model", "model.gguf", "tokenizer.dat", "lite.dat", "vocab.pkl", "vocab.npy"),
    )
    objects = {"__reduce__": ["os.system", "true"], "py/object": "subprocess.Popen", "!!python/object": "os.system"}
    made = []
    for name in names:
        for kind, data in (("pickle", pickled(canary)), ("object", json.dumps({"model": objects}).encode())):
            path = directory / kind / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            made.append(path)
    return made
