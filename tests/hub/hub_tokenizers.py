"""Files for repositories of a local Hub: a tokenizer.json with its cartridge, and cartridges that must not be used."""

from __future__ import annotations

import json
import struct
from hashlib import sha256
from pathlib import Path

from crayon_hf import _core
from crayon_hf.cartridges.compiling import compile_json
from tests.support.cartridge_cases import signed


def repository(source: bytes | Path) -> dict[str, bytes]:
    """The files of a repository with a tokenizer.json and its cartridge, by name."""
    data = source if isinstance(source, bytes) else source.read_bytes()
    return {"tokenizer.json": data, "tokenizer.dat": compile_json(data)}


def with_token(source: Path, token: str) -> bytes:
    """The tokenizer.json at `source` with one more added token."""
    document = json.loads(source.read_bytes())
    ids = [token["id"] for token in document["added_tokens"]] + list(document["model"]["vocab"].values())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    document["added_tokens"].append({"id": max(ids) + 1, "content": token, **flags})
    return json.dumps(document, ensure_ascii=False).encode()


def without_a_merge(source: bytes) -> bytes:
    """The tokenizer.json `source` with two merges exchanged, and the ids of their products as well."""
    document = json.loads(source)
    vocab = document["model"]["vocab"]
    merges = document["model"]["merges"]
    merges[40], merges[41] = merges[41], merges[40]
    first, second = (pair.replace(" ", "") if isinstance(pair, str) else "".join(pair) for pair in merges[40:42])
    vocab[first], vocab[second] = vocab[second], vocab[first]
    return json.dumps(document, ensure_ascii=False).encode()


def resigned(cartridge: bytes, source: bytes) -> bytes:
    """A cartridge changed to claim the tokenizer.json `source` as its source, with valid checksums."""
    data = bytearray(cartridge)
    data[32:64] = sha256(source).digest()
    return signed(data)


LIES = ("lying about its tokens", "lying about its merges")
"""Cases of `unsound` that only a comparison with the tokenizer.json finds."""


def unsound(source: bytes, other: bytes) -> dict[str, tuple[bytes, str]]:
    """Cartridges that must not be used for the tokenizer.json `source`, each with the expected message. `other` is the
    tokenizer.json of another tokenizer."""
    good = compile_json(source)
    next_revision = bytearray(good)
    struct.pack_into("<I", next_revision, 20, struct.unpack_from("<I", good, 20)[0] + 1)
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    return {
        "damaged": (bytes(flipped), "checksum"),
        "cut": (good[:-64], "file"),
        "empty": (b"", ""),
        "no cartridge": (b"CRAYON" * 30, ""),
        "another revision": (signed(next_revision), "revision"),
        "of another": (compile_json(other), "another tokenizer.json"),
        "lying about its tokens": (resigned(compile_json(other), source), ""),
        "lying about its merges": (resigned(compile_json(without_a_merge(source)), source), ""),
    }


def pattern_of_tiktoken(source: bytes) -> dict[str, bytes]:
    """A tokenizer whose pattern differs in meaning between tokenizers and tiktoken, with a cartridge for tiktoken."""
    only = sorted(set(_core._testing.known_patterns("rust_regex")) - set(_core._testing.known_patterns("oniguruma")))
    document = json.loads(source)
    split = {"type": "Split", "pattern": {"Regex": only[0]}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
    data = json.dumps(document, ensure_ascii=False).encode()
    return {"tokenizer.json": data, "tokenizer.dat": compile_json(data, '{"reference":"tiktoken"}')}
