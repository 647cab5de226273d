"""Greedy mode over published vocabularies, and over those of CRAYON what CRAYON gives."""

from __future__ import annotations

import importlib
import importlib.util
import json
import lzma
import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from tests.support import greedy_reference as twin
from tests.support import reference_impl
from tests.support.greedy_reference import assert_ids, byte_offsets, word_piece

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


# -- published vocabularies


def published(shared: Path, name: str) -> str:
    return (shared / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def slices(shared: Path) -> list[str]:
    """From the middle of each corpus."""
    texts = []
    for name in ("english", "multi", "code"):
        with lzma.open(shared / "corpus" / f"{name}.txt.xz") as file:
            texts.append(file.read(3_000_000)[-15_000:].decode(errors="ignore"))
    return texts


@pytest.mark.slow
@on_every_cpu
@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_published_byte_level_vocabularies(name: str, shared: Path, slices: list[str]) -> None:
    source = published(shared, name)
    engine = reference_impl.open_engine(source).greedy()
    specials = [row["content"] for row in engine.added_tokens() if row["special"]]
    tokens = twin.byte_tokens(json.loads(source)["model"]["vocab"], specials)
    for text in slices:
        cut = tokens.cut(text.encode())
        ids = [i for i, _, _ in cut]
        assert engine.encode_ids(text, add_special_tokens=False) == ids
        assert engine.encode_bytes(text.encode()) == ids
        assert engine.decode(ids) == text
        encoding = engine.encode(text, add_special_tokens=False)
        assert encoding.ids == ids
        assert encoding.offsets == byte_offsets(text, cut, 0)


@on_every_cpu
@pytest.mark.parametrize("name", ["llama2", "t5-small"])
def test_published_vocabularies_on_text(name: str, shared: Path, slices: list[str]) -> None:
    source = published(shared, name)
    engine, reference = reference_impl.open_engine(source).greedy(), Tokenizer.from_str(source)
    model = json.loads(source)["model"]
    listed = model["vocab"]
    vocab = listed if isinstance(listed, dict) else {token: i for i, (token, _) in enumerate(listed)}
    unk_id = model["unk_id"] if "unk_id" in model else vocab[model["unk_token"]]
    specials = [row["content"] for row in engine.added_tokens() if row["special"]]
    fuses = model.get("fuse_unk", True)
    rules = twin.TextRules(vocab, unk_id, fuses, model.get("byte_fallback", False), specials)
    for text in slices:
        pieces = twin.pieces_of(text, reference.normalizer, reference.pre_tokenizer)
        ids = [i for piece in pieces for i, _, _ in rules.cut(piece)]
        assert engine.encode_ids(text, add_special_tokens=False) == ids
        encoding = engine.encode(text, add_special_tokens=False)
        assert encoding.ids == ids
        if name == "llama2":
            assert engine.decode(ids) == text


# -- CRAYON


def crayon_files() -> list[Path]:
    """The cartridges that the package xerv-crayon ships."""
    spec = importlib.util.find_spec("crayon")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return sorted(path for folder in folders for path in Path(folder, "resources", "dat").glob("*.dat"))


def crayon_tokens(path: Path) -> tuple[dict[bytes, int], int]:
    """The tokens of a version 2 cartridge, and how many ids it has."""
    keys = dict(_core.list_double_array(*_core.read_cartridge_v2(path.read_bytes())))
    return keys, max(max(keys.values()) + 1, len(json.loads(path.with_suffix(".json").read_bytes())))


def crayon_loop(tokens: twin.Tokens, data: bytes) -> list[int]:
    """Longest match; a byte with which no token begins is id 1."""
    ids, at = [], 0
    while at < len(data):
        found, size = tokens.match(data, at)
        ids.append(found if size else 1)
        at += size or 1
    return ids


CRAYON_TEXTS = (
    "",
    "The quick brown fox; it's what they've said, isn't it? " * 3,
    "def encode(self, text: str) -> list[int]:\n\treturn [self.vocab[t]  for t in text.split()]\n",
    "Größe, déjà vu, Быстрая лиса, 敏捷的棕色狐狸, 안녕하세요, तेज़ भूरी, 🙂👩\u200d👩\u200d👧 \x00\x01\x7f",
    "<PAD><UNK><BOS><EOS> <unk> <|endoftext|>",
    " " * 300 + "a" * 300 + "\r\n\t" * 30,
)


@pytest.mark.skipif(not crayon_files(), reason="xerv-crayon is not installed")
@pytest.mark.parametrize("path", crayon_files(), ids=lambda path: path.stem)
def test_what_crayon_gives(path: Path) -> None:
    """Bit for bit, with the bytes that it does not know as id 1."""
    try:
        crayon = importlib.import_module("crayon.c_ext.crayon_cpu")
    except ImportError as error:
        pytest.skip(f"the compiled engine of xerv-crayon cannot be imported: {error}")
    keys, count = crayon_tokens(path)
    vocab = {reference_impl.spell(key): id for key, id in keys.items()}
    rest = [char for char in reference_impl.BYTE_CHARS if char not in vocab]
    document = word_piece([])
    document["model"]["vocab"] = vocab | {char: count + i for i, char in enumerate(rest)}
    document["model"]["unk_token"] = next(iter(vocab))
    engine = reference_impl.open_engine(document)
    assert engine.info()["longest_match"]
    named, whole = engine.greedy((count, 1)), engine.greedy()
    crayon.load_dat(path.read_bytes())
    tokens = twin.Tokens(keys)
    rng = random.Random(5)
    pieces = [key.decode(errors="ignore") for key in rng.sample(sorted(keys), min(len(keys), 2000))]
    noise = [
        "".join(rng.choices(pieces, k=40)) + "".join(map(chr, rng.choices(range(1, 0xD800), k=20))) for _ in "12345"
    ]
    for text in (*CRAYON_TEXTS, *noise):
        ids = crayon_loop(tokens, text.encode())
        assert crayon.tokenize(text) == ids
        assert_ids(named, text, ids)
        assert named.encode_bytes(text.encode()) == ids
        assert whole.decode(whole.encode_ids(text)) == text
