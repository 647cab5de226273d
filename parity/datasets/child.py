"""The cases of one process: ``child.py LIBRARY RUN SEED CASES WORK DIRECTORY...`` prints their rows as JSON.

They run in a process of their own, because a hash must be the same in another process.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import pickle
import random
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import datasets
import dill  # type: ignore[import-untyped]

TEXTS = ["The quick brown fox, jumps over 12 lazy dogs", "déjà vu", "敏捷的棕色狐狸", "", "def f(x):\n    return x"] * 4

CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda tokenizer: None,
    "a pad token": lambda tokenizer: tokenizer.add_special_tokens({"pad_token": "<pad>"}),
    "added tokens": lambda tokenizer: tokenizer.add_tokens(["brown fox", "<x>"]),
    "special tokens": lambda tokenizer: tokenizer.add_special_tokens({"cls_token": "<x>"}),
    "padding on the left": lambda tokenizer: setattr(tokenizer, "padding_side", "left"),
    "truncation on the left": lambda tokenizer: setattr(tokenizer, "truncation_side", "left"),
    "a maximum": lambda tokenizer: setattr(tokenizer, "model_max_length", 5),
    "a chat template": lambda tokenizer: setattr(tokenizer, "chat_template", "{{ messages }}"),
}
OPTIONS: list[dict[str, Any]] = [{}, {"truncation": True}, {"truncation": True, "max_length": 4}]
PADDED: list[dict[str, Any]] = [{"padding": True}, {"padding": "max_length", "max_length": 9, "truncation": True}]


def saved(tokenizer: Any) -> None:
    """Save the tokenizer to a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        tokenizer.save_pretrained(directory)


USES: dict[str, Callable[[Any], object]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda tokenizer: pickle.loads(pickle.dumps(tokenizer)),
    "dill": lambda tokenizer: dill.loads(dill.dumps(tokenizer)),
    "a call": lambda tokenizer: tokenizer("a text", "and another"),
    "a cut call": lambda tokenizer: tokenizer(TEXTS, truncation=True, max_length=3),
    "a padded call": lambda tokenizer: tokenizer.pad_token is not None and tokenizer(TEXTS, padding=True),
    "encode": lambda tokenizer: tokenizer.encode("a text"),
    "decode": lambda tokenizer: tokenizer.decode([5, 6, 7], skip_special_tokens=True),
    "batch_decode": lambda tokenizer: tokenizer.batch_decode([[5], [6, 7]]),
    "get_vocab": lambda tokenizer: tokenizer.get_vocab(),
    "tokenize": lambda tokenizer: tokenizer.tokenize("a text"),
    "repr": repr,
    "len": len,
    "special ids": lambda tokenizer: (tokenizer.all_special_ids, tokenizer.special_tokens_map),
    "to_str": lambda tokenizer: tokenizer.backend_tokenizer.to_str(),
    "save_pretrained": saved,
}
REPLACED = {"the copy": copy.copy, "the deep copy": copy.deepcopy, "what pickle gives": USES["pickle"]}
"""Uses whose result replaces the tokenizer."""


class Holder:
    """A class as users write it: the tokenizer is an attribute, and `datasets` maps a method over the rows."""

    def __init__(self, tokenizer: Any, options: dict[str, Any]) -> None:
        self.tokenizer = tokenizer
        self.options = options

    def encode(self, rows: dict[str, Any]) -> Any:
        """The ids of a batch, or of a row."""
        return self.tokenizer(rows["text"], **self.options)

    __call__ = encode


def encode(rows: dict[str, Any], tokenizer: Any, options: dict[str, Any]) -> Any:
    """The ids of a batch, or of a row."""
    return tokenizer(rows["text"], **options)


SHAPES: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
    "a lambda": lambda tokenizer, options: {"function": lambda rows: tokenizer(rows["text"], **options)},
    "a partial": lambda tokenizer, options: {"function": partial(encode, tokenizer=tokenizer, options=options)},
    "fn_kwargs": lambda tokenizer, options: {
        "function": encode,
        "fn_kwargs": {"tokenizer": tokenizer, "options": options},
    },
    "a method": lambda tokenizer, options: {"function": Holder(tokenizer, options).encode},
    "an object": lambda tokenizer, options: {"function": Holder(tokenizer, options)},
    "the class, too": lambda tokenizer, options: {
        "function": lambda rows: isinstance(tokenizer, type(tokenizer)) and tokenizer(rows["text"], **options)
    },
}


def used(tokenizer: Any, chance: random.Random) -> tuple[Any, list[str]]:
    """Use the tokenizer in random ways, and perhaps replace it by a copy. Return it, and the names of the uses."""
    names = chance.sample(sorted(USES), chance.randint(0, 3))
    for name in names:
        USES[name](tokenizer)
    if chance.random() < 0.3:
        name = chance.choice(sorted(REPLACED))
        tokenizer = REPLACED[name](tokenizer)
        names.append(name)
    return tokenizer, names


def case(load: Callable[[str], Any], seed: int, number: int, work: Path, directories: list[str]) -> dict[str, Any]:
    """Map a random tokenizer over the texts twice. Return whether each result came from the cache, and its ids.

    The seed chooses the case. The run's `number` only chooses how the tokenizer is used before each mapping.
    """
    chance, of_uses = random.Random(seed), random.Random(f"{seed} {number}")
    directory = chance.choice(directories)
    tokenizer = load(directory)
    changes = chance.sample(sorted(CHANGES), chance.randint(1, 3))
    for change in changes:
        CHANGES[change](tokenizer)
    options = chance.choice(OPTIONS + PADDED * (tokenizer.pad_token is not None))
    shape, batched = chance.choice(sorted(SHAPES)), chance.random() < 0.8
    found, ids, uses = [], [], []
    for _ in range(2):
        tokenizer, names = used(tokenizer, of_uses)
        uses += names
        dataset = datasets.load_from_disk(str(work))
        before = set(os.listdir(work))
        with contextlib.redirect_stderr(io.StringIO()):
            mapped = dataset.map(**SHAPES[shape](tokenizer, options), batched=batched)
        found.append(set(os.listdir(work)) == before)
        ids.append(mapped["input_ids"][:])
    digest = sha256(json.dumps(ids).encode()).hexdigest()
    what = ", ".join([Path(directory).name, *changes, shape, str(options), "batches" if batched else "rows"])
    return {"case": what, "uses": uses, "first": found[0], "again": found[1], "ids": digest}


def main() -> None:
    """Run the cases that the arguments name, and print their rows by seed, as JSON."""
    library, number, seed, cases, place, *directories = sys.argv[1:]
    if library == "installed":
        import_module("crayon_hf").install()
    load = import_module("crayon_hf" if library == "ours" else "transformers").AutoTokenizer.from_pretrained
    datasets.disable_progress_bars()
    work = Path(place)
    if not work.exists():
        datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(work)
    seeds = range(int(seed), int(seed) + int(cases))
    print(json.dumps({s: case(load, s, int(number), work, directories) for s in seeds}))


if __name__ == "__main__":
    main()
