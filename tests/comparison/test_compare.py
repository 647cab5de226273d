"""`crayon_hf.compare`, which reads files in pieces: every figure equals that of a plain twin, for any size of
pieces."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from crayon_hf import BadRecordError, Comparison, CorpusError, InvalidUtf8Error, Tokenizer
from crayon_hf.comparison import texts as reading
from crayon_hf.comparison.kinds import kind_of
from tests.comparison import plain

WORDS = (
    *("quick", "isn't", "caf\u00e9", "e\u0301", "\u03b1\u03b2\u03b3", "\u0434\u043e\u043c", "\u4e16\u754c", "\u3042"),
    *("\u30ab\u30bf", "\ud55c\uae00", "\u0e44\u0e17\u0e22", "\u0928\u092e", "\u0633\u0644"),
    *("123", "...", "!", "\u2029"),
    *("\U0001f469\u200d\U0001f680", "\u3000", "\u00a0", "\n", "\r\n", "\t", "  ", "(", "<|endoftext|>", "\u20ac"),
)


def random_text(rng: random.Random, words: int) -> str:
    return "".join(rng.choice(WORDS) + rng.choice((" ", " ", "", "\n")) for _ in range(words))


def check(found: Comparison, paths: dict[str, Path], documents: dict[str, list[str]]) -> None:
    """Check that every count in `found` equals the plain twin's. `paths` are the compared tokenizers, and `documents`
    the documents of each file in order."""
    every = [text for of_file in documents.values() for text in of_file]
    stock = {name: tokenizers.Tokenizer.from_file(str(path)) for name, path in paths.items()}
    unknown = {name: each.token_to_id("[UNK]") for name, each in stock.items()}
    scripts = plain.amounts(every)
    assert {each.name: each.bytes for each in found.scripts} == +scripts["bytes"]
    assert {each.name: each.characters for each in found.scripts} == +scripts["characters"]
    assert +Counter({each.name: each.words for each in found.scripts}) == +scripts["words"]
    assert found.total.words == sum(len(text.split()) for text in every)
    assert [(each.name, each.bytes) for each in found.files] == [
        (name, sum(len(text.encode()) for text in of_file)) for name, of_file in documents.items()
    ]
    for name, each in stock.items():
        counted, ids = plain.tokens(each, every, unknown[name])
        for figure, numbers in counted.items():
            of_scripts = Counter({group.name: getattr(group.figures[name], figure) for group in found.scripts})
            assert +of_scripts == +numbers, (name, figure)
            assert getattr(found.total.figures[name], figure) == numbers.total()
        for group, of_file in zip(found.files, documents.values(), strict=True):
            counts = plain.tokens(each, of_file, unknown[name])[0]
            assert {figure: getattr(group.figures[name], figure) for figure in counts} == {
                figure: numbers.total() for figure, numbers in counts.items()
            }
        of = next(measured for measured in found.tokenizers if measured.name == name)
        assert (of.vocabulary, of.never_used) == (len(each.get_vocab()), len(set(each.get_vocab().values()) - ids))
        total = found.total.figures[name]
        if total.tokens:
            assert total.bytes_per_token == found.total.bytes / total.tokens
            assert total.characters_per_token == found.total.characters / total.tokens
            assert total.byte_token_share == total.byte_tokens / total.tokens
        assert total.tokens_per_word == (total.tokens / found.total.words if found.total.words else None)
    for kind in found.kinds:
        of_kind = [each for each in found.files if kind_of(each.name) == kind.name]
        if of_kind:
            assert kind.bytes == sum(each.bytes for each in of_kind)


@pytest.fixture(scope="module")
def paths(gpt2_like: Path, llama3_like: Path, wordpiece_like: Path) -> dict[str, Path]:
    return {"gpt2": gpt2_like, "llama3": llama3_like, "wordpiece": wordpiece_like}


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 20))])
@pytest.mark.parametrize("piece", [7, 300, 1 << 20])
def test_random_texts(
    piece: int, seed: int, paths: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Characters, words and tokens may cross the ends of pieces."""
    monkeypatch.setattr(reading, "PIECE", piece)
    rng = random.Random(seed)
    documents = {}
    for name in ("a.txt", "b.py", "c.json", "d.html", "e", "f.md.gz", "empty.txt"):
        text = "" if name == "empty.txt" else random_text(rng, rng.randrange(1, 150))
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        documents[str(tmp_path / name)] = [text]
    check(crayon_hf.compare(paths, tmp_path), paths, dict(sorted(documents.items())))


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_a_column(seed: int, paths: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PIECE", 200)  # several batches
    rng = random.Random(seed)
    texts = [random_text(rng, rng.randrange(12)) for _ in range(60)] + ["", " ", "a"]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps({"body": text, "text": text[::-1]}) + "\n" for text in texts))
    check(crayon_hf.compare(paths, file, column="body"), paths, {str(file): texts})
    found = crayon_hf.compare(paths, str(file))
    check(found, paths, {str(file): [text[::-1] for text in texts]})
    assert [kind.name for kind in found.kinds] == ["texts of a column"]
    csv = tmp_path / "b.csv"
    csv.write_text("id,text\n1,one two\n")
    assert crayon_hf.compare(["lite"], csv).total.bytes == len("id,text\n1,one two\n")
    assert crayon_hf.compare(["lite"], csv, column="text").total.bytes == len("one two")
    assert crayon_hf.compare(["lite"], file, format="text").total.bytes == file.stat().st_size
    with pytest.raises(BadRecordError, match="has no 'nope'"):
        crayon_hf.compare(["lite"], file, column="nope")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "arrow", "txt.zst"])
def test_formats_of_the_extra(ending: str, paths: dict[str, Path], tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [random_text(random.Random(n), 20) for n in range(30)]
    file = tmp_path / f"a.{ending}"
    table = pa.table({"text": texts})
    if ending == "parquet":
        parquet.write_table(table, file)
    elif ending == "arrow":
        with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    else:
        texts = ["".join(texts)]
        file.write_bytes(bytes(pa.Codec("zstd").compress(texts[0].encode())))
    check(crayon_hf.compare(paths, file), paths, {str(file): texts})


def sentencepiece_like(path: Path) -> Path:
    """Write the tokenizer.json of a vocabulary with byte fallback."""
    pieces = [chr(code) for code in range(0x20, 0x7F)] + ["\u2581", "\u4e16"]
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    model = tokenizers.models.BPE(
        {token: id for id, token in enumerate(tokens)}, [], unk_token="<unk>", byte_fallback=True, fuse_unk=True
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Replace(" ", "\u2581")
    tokenizer.save(str(path))
    return path


def test_byte_fallback(tmp_path: Path) -> None:
    """Tokens for the bytes of a multi-byte character count as single-byte tokens; the byte token of a newline does
    not."""
    path = sentencepiece_like(tmp_path / "tokenizer.json")
    (tmp_path / "a.txt").write_text("a\u4e16\u754c\n\u00e9", newline="")
    figures = crayon_hf.compare({"sp": path}, tmp_path / "a.txt").total.figures["sp"]
    assert (figures.tokens, figures.byte_tokens, figures.unknown_tokens) == (1 + 1 + 3 + 1 + 2, 5, 0)


@pytest.mark.usefixtures("refusing")
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_delegated(wordpiece_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delegated tokenizer gets each text whole, although files are read in pieces."""
    monkeypatch.setattr(reading, "PIECE", 50)
    tokenizer = Tokenizer.from_file(wordpiece_like)
    assert tokenizer.engine == "delegated"
    text = random_text(random.Random(4), 80)
    (tmp_path / "a.txt").write_bytes(text.encode())
    found = crayon_hf.compare({"wordpiece": tokenizer}, [tmp_path / "a.txt"])
    check(found, {"wordpiece": wordpiece_like}, {str(tmp_path / "a.txt"): [text]})


# -- inputs


def test_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not text adds nothing to the counts, even if its first pieces are text."""
    monkeypatch.setattr(reading, "PIECE", 100)
    for name, data in {
        "a.txt": b"one two",
        "b.png": b"\x89PNG\0",
        "late.txt": b"\xc3\xa9 zebra " * 200 + b"\xff",
        "cut.txt": b"x" * 99 + b"\xc3",
        "x.log": b"log",
        "y.txt": b"two",
        "build/c.txt": b"c",
        ".hidden": b"h",
        ".gitignore": b"*.log\nbuild/\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    told: list[tuple[str, int, int]] = []
    found = crayon_hf.compare(["lite"], tmp_path, progress=lambda *said: told.append(said))
    assert {Path(each.name): each.bytes for each in found.files} == {tmp_path / "a.txt": 7, tmp_path / "y.txt": 3}
    assert list(found.passed_over) == [str(tmp_path / name) for name in ("b.png", "cut.txt", "late.txt")]
    named = crayon_hf.compare(["lite"], [tmp_path / "a.txt", tmp_path / "y.txt"])
    assert (asdict(found.total), found.kinds) == (asdict(named.total), named.kinds)
    lite = Tokenizer.from_profile("lite")
    used = {*lite.encode("one two").ids, *lite.encode("two").ids}
    assert found.tokenizers[0].never_used == lite.get_vocab_size() - len(used)
    assert told[0] == (str(tmp_path / "a.txt"), 7, sum((tmp_path / f).stat().st_size for f in
                       ("a.txt", "b.png", "late.txt", "cut.txt", "y.txt")))  # fmt: skip
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    every = crayon_hf.compare(["lite"], tmp_path, ignore=False)
    assert [Path(each.name).name for each in every.files] == ["a.txt", "c.txt", "x.log", "y.txt"]


def test_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"abc\xff")
    (tmp_path / "zero.txt").write_bytes(b"abc\0")
    with pytest.raises(InvalidUtf8Error, match=r"bad\.txt: .* offset 3"):
        crayon_hf.compare(["lite"], tmp_path / "bad.txt")
    with pytest.raises(InvalidUtf8Error, match=r"zero.txt is a binary file"):
        crayon_hf.compare(["lite"], tmp_path / "zero.txt")
    with pytest.raises(CorpusError, match=r"none.txt"):
        crayon_hf.compare(["lite"], tmp_path / "none.txt")
    with pytest.raises(ValueError, match="no tokenizer is given"):
        crayon_hf.compare([], tmp_path)
    with pytest.raises(ValueError, match="format is 'docx'"):
        crayon_hf.compare(["lite"], tmp_path, format="docx")
    with pytest.raises(TypeError, match="tokenizer 'a' is int"):
        crayon_hf.compare({"a": 1}, tmp_path)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("a.txt", "b/README", "c.MD", "d.tex.gz"), "prose"),
        (("a.py", "b.c", "Makefile", "x/Dockerfile", "c.d.ts"), "code"),
        (("a.json", "b.html", "c.csv.zst", "d.yml"), "data and markup"),
        (("a", "b.xyz", ".py", "c.gz"), "other"),
    ],
)
def test_kinds(names: Iterable[str], kind: str) -> None:
    assert {name: kind_of(name) for name in names} == dict.fromkeys(names, kind)


CHILD = """
import sys, crayon_hf

def peak():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) / 1024

crayon_hf.compare(["lite", "standard"], sys.argv[1])
before = peak()
crayon_hf.compare(["lite", "standard"], sys.argv[2])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.measures_memory
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("ending", ["txt", "txt.gz", "jsonl"])
def test_memory(ending: str, tmp_path: Path) -> None:
    """Comparing on 32 MB of text takes as much memory as on 4 MB."""
    line = "Ask, and it shall be given you; \u4e16\u754c seek, and ye shall find.\n"
    made = []
    for megabytes in (4, 32):
        file = tmp_path / f"{megabytes}.{ending}"
        data = (json.dumps({"text": line * 10}) + "\n" if ending == "jsonl" else line).encode()
        data *= megabytes * 1_000_000 // len(data)
        file.write_bytes(gzip.compress(data, 1) if ending == "txt.gz" else data)
        made.append(file)
    done: Any = subprocess.run([sys.executable, "-c", CHILD, *made], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 24
