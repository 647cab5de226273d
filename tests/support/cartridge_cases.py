"""Helpers for tests of cartridge files: texts, a vocabulary that fills every section, functions that edit a cartridge,
and a separate process that opens dangerous files."""

from __future__ import annotations

import json
import struct
import subprocess
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, processors

from crayon_hf import _core
from crayon_hf.tokenizer_json.parts import byte_level
from tests.support import cartridge_reader as plain
from tests.support import families
from tests.support.cartridge_reader import Section
from tests.support.child import child as child

PAGE = Path(__file__).parents[2] / "docs" / "cartridge-format.md"
TEXTS = (
    "",
    " ",
    "The quick brown fox; it's what they've said, isn't it? We'LL see 12345 of them in 2024.\r\n\n  Yes.",
    "Größe, déjà vu, e\u0301te\u0301, Быстрая лиса, 敏捷的棕色狐狸, 안녕하세요, तेज़ भूरी, 🙂👩‍👩‍👧‍👦",
    "def encode(self, text: str) -> list[int]:\n    return [self.vocab[t]  for t in text.split()]\n",
    "crayon crayons [L]  [L] [R]  x<|endoftext|> a\u00e9| e\u0301!  \u3000<mask>\u2003<mask> [X] 中文 _crayon",
    "internationalization " * 3 + "a" * 200 + " " * 40 + "0" * 70,
)


def structure(document: dict[str, Any]) -> dict[str, Any]:
    """Change a byte-level tokenizer.json so that its cartridge has every case of the format.

    The result has raw tokens, an id without a token, a token that its merges never make, and two merges of one pair.
    It also has NFC, a prefix space, and added tokens with every flag.
    """
    model = document["model"]
    vocab: dict[str, int] = model["vocab"]
    model["merges"] = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    model["merges"].append(model["merges"][20])
    for token in ("中文", "", "theq", "internationalizationalism"):
        vocab[token] = len(vocab)
    vocab["[hole before]"] = len(vocab) + 20
    document["normalizer"] = {"type": "NFC"}
    document["pre_tokenizer"] = byte_level(add_prefix_space=True, use_regex=True)
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_tokens(
        [
            AddedToken("crayon", single_word=True),
            AddedToken("[L]", lstrip=True),
            AddedToken("[R]", rstrip=True, normalized=False),
            AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False, special=True),
            AddedToken("\u00e9!", normalized=True),
            AddedToken("a\u00e9|", normalized=False),
            AddedToken("\u2003[X]\u2003", normalized=False),
            AddedToken("Ġd", normalized=False),
        ]
    )
    template = families.template(tokenizer, "<mask> $A", "$A <mask> $B:1")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), template])
    changed: dict[str, Any] = json.loads(tokenizer.to_str())
    return changed


def longest_match(document: dict[str, Any]) -> dict[str, Any]:
    """Replace the model of a byte-level document by the WordPiece model that means longest match, with the same
    tokens."""
    model = {
        "type": "WordPiece",
        "unk_token": "the",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 2**53 - 1,
        "vocab": document["model"]["vocab"],
    }
    return document | {"model": model}


@cache
def compiled(source: bytes) -> bytes:
    return _core.compile_tokenizer_json(source, '{"reference":"tokenizers"}')


@lru_cache(8)
def parsed(data: bytes) -> tuple[list[Section], bytes]:
    return plain.read_sections(data)


def until_times_differ(path: Path) -> None:
    """Wait until a change of the file would get another time. A file system's clock ticks every few milliseconds."""
    probe = path.with_name(f"{path.name}.probe")
    while True:
        probe.touch()
        changed = probe.stat().st_ctime_ns
        probe.unlink()
        if changed > path.stat().st_ctime_ns:
            return


def sections_of(data: bytes) -> dict[int, bytes]:
    return {section.type: section.data for section in parsed(data)[0]}


def rewritten(data: bytes, changes: dict[str, bytes | None]) -> bytes:
    """Return the cartridge `data` with other contents in the sections that `changes` names, and valid checksums. The
    changed sections come last, in the order of `changes`; None removes a section."""
    sections, digest = parsed(data)
    kept = [section for section in sections if plain.NAMES[section.type] not in changes]
    new = [Section(plain.TYPES[name], 1, content) for name, content in changes.items() if content is not None]
    return plain.write_cartridge(kept + new, digest)


def signed(data: bytes | bytearray) -> bytes:
    """Return a cartridge with the checksum of its header and section table corrected, even if the table is cut."""
    out = bytearray(data)
    (count,) = struct.unpack_from("<I", out, 16)
    end = min(64 + 32 * count, len(out))
    struct.pack_into("<Q", out, 24, plain.xxh64(bytes(out[:24] + bytes(8) + out[32:end])))
    return bytes(out)


def word_table(words: dict[bytes, tuple[int, ...]], buckets: int) -> bytes:
    table = [[bytes(32), bytes(32)] for _ in range(buckets)]
    for word, ids in words.items():
        at = plain.word_home(word, buckets)
        while table[at][1] != bytes(32):
            at = (at + 1) % buckets
        entry = word.ljust(15, b"\0") + bytes([len(word) | len(ids) << 4]) + struct.pack("<4I", *[*ids, 0, 0, 0][:4])
        table[at][table[at][0] != bytes(32)] = entry
    return b"".join(entry for bucket in table for entry in bucket)


# Opens cartridges in its own process, so that a crash or a hang is a verdict and does not end the tests. Reads lines of
# JSON: a case's name, a way to judge the file, and the arguments of that way. Writes one line for each.
JUDGE = """
import json, sys
from crayon_hf import _core
from crayon_hf.errors import CartridgeError
base = open(sys.argv[1], "rb").read() if len(sys.argv) > 1 else b""
for line in sys.stdin:
    name, way, *rest = json.loads(line)
    try:
        if way in ("flip", "cut"):
            at, bit, path = rest
            data = bytearray(base[:at] if way == "cut" else base)
            if way == "flip":
                data[at] ^= 1 << bit
            if path:
                with open(path, "wb") as file:
                    file.write(data)
                _core.Engine.open(path)
            else:
                _core.Engine.from_bytes(bytes(data))
        else:
            engine = _core.Engine.open(rest[0], verify={"open": False, "memory": "memory"}.get(way, True))
        verdict = "accepted"
        if way in ("use", "memory"):
            encodings = [engine.encode(text) for text in rest[1]]
            verdict += " " + json.dumps([[e.ids, e.offsets, engine.encode_ids(t)] for e, t in zip(encodings, rest[1])])
    except CartridgeError as error:
        verdict = "CartridgeError: " + str(error)
    except BaseException as error:
        verdict = type(error).__name__ + ": " + str(error)
    print(json.dumps([name, verdict]), flush=True)
"""


def judged(cases: dict[str, tuple[Any, ...]], base: str = "") -> dict[str, str]:
    """Return the verdict on every case."""
    found = answers([[name, *case] for name, case in cases.items()], JUDGE, *([base] if base else []))
    return {name: verdict for name, (verdict,) in found.items()}


def answers(requests: list[list[Any]], code: str, *arguments: str, **environment: str) -> dict[Any, list[Any]]:
    """Send requests, each a line of JSON, to a process that answers each by a line with the request's first element.

    Returns the rest of each answer. If a request kills the process, or it hangs, the answer says so.
    """
    found: dict[Any, list[Any]] = {}
    while left := [request for request in requests if request[0] not in found]:
        lines = "".join(json.dumps(request) + "\n" for request in left)
        try:
            done = child(code, *arguments, lines=lines.encode(), **environment)
            output, end = done.stdout, f"died with {done.returncode}: {done.stderr.decode()[-500:]}"
            assert output or done.returncode < 0, end  # the process has answered nothing
        except subprocess.TimeoutExpired as expired:
            output, end = expired.stdout or b"", "hangs"
        rows = (json.loads(line) for line in output.splitlines() if line.endswith(b"]"))
        found |= {name: rest for name, *rest in rows}
        guilty = next((request[0] for request in left if request[0] not in found), None)
        if guilty is not None:
            found[guilty] = [end]
    return found
