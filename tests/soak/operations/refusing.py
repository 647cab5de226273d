"""Input that is no good: the typed error, and nothing left behind."""

from __future__ import annotations

import json
import shutil

from crayon_hf import CartridgeError, InvalidUtf8Error, TokenIdError, Tokenizer, VocabularyError, _core
from tests.soak.world import Run


def bad_text(run: Run) -> None:
    """Invalid UTF-8 among good texts, surrogates, things that are no text."""
    of, tokenizer = run.material, run.subject.tokenizer
    texts: list[str | bytes] = [text.encode() for text in of.texts]
    texts[run.rng.randrange(len(texts))] = run.rng.choice([b"\xff", b"abc\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"])
    with run.refused(InvalidUtf8Error):
        tokenizer.encode_ragged(texts)
    with run.refused(TypeError):
        tokenizer.encode_batch([*of.texts, None])
    bad = run.place() / "bad.txt"
    bad.write_bytes(of.large.encode()[:100_000] + b" \xff")
    with run.refused(InvalidUtf8Error):
        for _ in tokenizer.encode_file(bad, chunk_bytes=10_000):
            pass
    shutil.rmtree(bad.parent)
    run.check(tokenizer)


def unknown_ids(run: Run) -> None:
    """Ids that no token has."""
    tokenizer = run.subject.tokenizer
    for id in (-1, 1 << 21, 1 << 40, 1 << 70):
        with run.refused(TokenIdError):
            tokenizer.decode([*run.material.whole[0], id], unknown_ids="error")
    with run.refused(TypeError):
        tokenizer.decode(["a"])  # type: ignore[list-item]
    run.same(tokenizer.decode([1 << 21]), "", "an unknown id that is skipped")


def damaged_cartridge(run: Run) -> None:
    """A byte that is another one, an end that is missing, more at the end."""
    data = bytearray(run.subject.cartridge.read_bytes())
    for _ in range(3):
        damaged, at = bytearray(data), run.rng.randrange(len(data))
        way = run.rng.randrange(3)
        if way == 0:
            damaged[at] ^= run.rng.randrange(1, 256)
        elif way == 1:
            del damaged[at:]
        else:
            damaged += bytes(run.rng.randrange(1, 200))
        place = run.place()
        (place / "damaged.dat").write_bytes(damaged)
        with run.refused(CartridgeError):
            _core.Engine.open(str(place / "damaged.dat"), verify=True)
        with run.refused(CartridgeError):
            _core.Engine.from_bytes(bytes(damaged))
        shutil.rmtree(place)


def damaged_source(run: Run) -> None:
    """A tokenizer.json that is cut, or says what cannot be."""
    source = run.material.source
    with run.refused(VocabularyError):
        Tokenizer.from_buffer(source[: run.rng.randrange(len(source))])
    document = json.loads(source)
    document["model"]["vocab"] = run.rng.choice([None, 5, {"a": -1}, {"a": "b"}])
    with run.refused(VocabularyError):
        Tokenizer.from_buffer(json.dumps(document).encode())
    with run.refused(FileNotFoundError):
        Tokenizer.from_file(run.subject.directory / "nothing.json")
    with run.refused(IsADirectoryError, VocabularyError, FileNotFoundError):
        Tokenizer.from_file(run.world.home / "profiles")
