"""Bytes per token of the `lite` profile beside r50k_base and cl100k_base, and whether it gives every text back.

SHARED (or the environment variable CRAYON_SHARED) is a folder with corpus/*.txt.xz and vocab/NAME/NAME.tiktoken.
"""

from __future__ import annotations

import argparse
import lzma
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import tiktoken
import tiktoken_ext.openai_public as published  # type: ignore[import-untyped]
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

DOCUMENT = 20_000  # characters in each piece that is encoded at once


def reference(name: str, shared: Path) -> tiktoken.Encoding:
    """A published encoding with its pattern from tiktoken and its ranks from a file at hand."""
    download = published.load_tiktoken_bpe
    published.load_tiktoken_bpe = lambda *_, **__: load_tiktoken_bpe(str(shared / "vocab" / name / f"{name}.tiktoken"))
    try:
        return tiktoken.Encoding(**getattr(published, name)())
    finally:
        published.load_tiktoken_bpe = download


def documents(path: Path) -> Iterator[str]:
    """The text in order, cut at line ends."""
    document: list[str] = []
    size = 0
    for line in lzma.decompress(path.read_bytes()).decode().splitlines(keepends=True):
        document.append(line)
        size += len(line)
        if size >= DOCUMENT:
            yield "".join(document)
            document, size = [], 0
    if document:
        yield "".join(document)


def random_texts(count: int, seed: int = 1) -> Iterator[str]:
    """Strings over several alphabets, with controls, unassigned code points and long runs among them."""
    rng = random.Random(seed)
    pools = [(0x00, 0x7F), (0x20, 0x7E), (0x80, 0x24F), (0x300, 0x5FF), (0x900, 0x97F), (0x2000, 0x2BFF),
             (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]  # fmt: skip
    for _ in range(count):
        text = []
        for _ in range(rng.randint(0, 30)):
            low, high = rng.choice(pools)
            text.append(chr(rng.randint(low, high)) * (rng.choice((1, 1, 1, 1, 2, 40))))
        yield "".join(text)


def reachable(tokenizer: Tokenizer) -> int:
    """How many ids of the vocabulary come out when their own text is encoded."""
    size = tokenizer.get_vocab_size(with_added_tokens=False)
    model = tokenizer.model
    return sum([t.id for t in model.tokenize(tokenizer.id_to_token(i))] == [i] for i in range(size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", type=Path, nargs="?", default=Path("crayon_hf/profiles/lite.json"))
    parser.add_argument("--shared", type=Path, default=os.environ.get("CRAYON_SHARED"))
    options = parser.parse_args()

    lite = Tokenizer.from_file(str(options.profile))
    count = 0
    for text in random_texts(20_000):
        assert lite.decode(lite.encode(text).ids, skip_special_tokens=False) == text, repr(text)
        count += 1
    print(f"{count} random strings decoded to themselves")
    trained = lite.get_vocab_size(with_added_tokens=False)
    print(f"{reachable(lite)} of {trained} trained ids are the encoding of their own bytes")
    if not options.shared:
        return

    encoders: dict[str, Callable[[str], int]] = {"lite": lambda text: len(lite.encode(text).ids)}
    for name in ("r50k_base", "cl100k_base"):
        encoding = reference(name, Path(options.shared))
        encoders[name] = lambda text, e=encoding: len(e.encode_ordinary(text))  # type: ignore[misc]
    print("| text | " + " | ".join(encoders) + " | lite against r50k_base |")
    print("|---|" + "---:|" * (len(encoders) + 1))
    for path in sorted((Path(options.shared) / "corpus").glob("*.txt.xz")):
        for note, pattern in (("", None), (", single-spaced", re.compile(r"[ \t]*\n\s*|[ \t]+"))):
            size = 0
            tokens = dict.fromkeys(encoders, 0)
            for text in documents(path):
                # r50k_base spends an id on almost every space of an indent, which would hide how it does on words.
                text = pattern.sub(lambda m: "\n" if "\n" in m[0] else " ", text) if pattern else text
                size += len(text.encode())
                for name, encode in encoders.items():
                    tokens[name] += encode(text)
                assert lite.decode(lite.encode(text).ids, skip_special_tokens=False) == text, path
            rates = [f"{size / n:.3f}" for n in tokens.values()]
            change = tokens["r50k_base"] / tokens["lite"] - 1
            print(f"| {path.name.split('.')[0]}{note} | " + " | ".join(rates) + f" | {change:+.1%} |", flush=True)


if __name__ == "__main__":
    main()
