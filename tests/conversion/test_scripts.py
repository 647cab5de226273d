"""The scripts write what `crayon-hf convert` writes, name the script that reads another kind, and lose no file."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken
import tokenizers

from conversion import crayon, gguf, huggingface, script, sentencepiece, tekken
from conversion import tiktoken as of_tiktoken
from conversion.__main__ import scripts
from crayon_hf import AmbiguousNameWarning, Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.cli import main as command_line
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.formats.tiktoken import R50K_PATTERN, read_ranks, write_ranks

MAINS = {
    **{"huggingface": huggingface.main, "tiktoken": of_tiktoken.main, "sentencepiece": sentencepiece.main},
    **{"gguf": gguf.main, "tekken": tekken.main, "crayon": crayon.main},
}
OPTIONS = {"tiktoken": ["--pattern", R50K_PATTERN, "--special", "<|end|>=2000", "--special", "<|pad|>=2001"]}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", MAINS)
def test_the_same_as_the_command(
    name: str, sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, options = sources[name], OPTIONS.get(name, [])
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    assert command_line(["convert", str(source), *options, "-o", f"{tmp_path / 'theirs' / 'made'}/"]) == 0
    assert command_line(["convert", str(source), *options, "-o", str(tmp_path / "theirs" / "x.dat")]) == 0
    count = capsys.readouterr().out.rpartition(": ")[2].removesuffix(" tokens\n")
    MAINS[name]([str(source), *options, "-o", str(tmp_path / "ours" / "made")])
    said = capsys.readouterr().out.splitlines()
    MAINS[name]([str(source), *options, "-o", str(tmp_path / "ours" / "x.dat")])
    again = capsys.readouterr().out.splitlines()
    assert files(tmp_path / "ours" / "made") == files(tmp_path / "theirs" / "made")
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {"made", "x.dat", "x.json"}
    assert all(
        (tmp_path / "ours" / x).read_bytes() == (tmp_path / "theirs" / x).read_bytes() for x in ("x.dat", "x.json")
    )
    made = tmp_path / "ours" / "made"
    assert said[1:] == [
        f"wrote {made / 'tokenizer.json'}",
        f"wrote {made / 'tokenizer_config.json'}",
        f"wrote {made / 'tokenizer.dat'}: {count} ids, sha256 {digest(made / 'tokenizer.dat')}",
    ]
    cartridge = tmp_path / "ours" / "x.dat"
    assert again == [
        said[0],
        f"wrote {cartridge.with_suffix('.json')}",
        f"wrote {cartridge}: {count} ids, sha256 {digest(cartridge)}",
    ]
    read = {"huggingface": [source / "tokenizer.json"], "crayon": [source, source.with_suffix(".json")]}
    parts = read.get(name, [source])
    whole = hashlib.sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()
    assert said[0] == f"read {' and '.join(map(str, parts))}: sha256 {whole}"


def test_stock_transformers_opens_it(sources: dict[str, Path], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    huggingface.main([str(sources["huggingface"]), "-o", str(tmp_path / "made")])
    before, after = (AutoTokenizer.from_pretrained(path) for path in (sources["huggingface"], tmp_path / "made"))
    text = "Hello, wörld! It's <|endoftext|> 日本 🙂"
    assert before(text).input_ids == after(text).input_ids


@pytest.mark.slow
def test_the_profiles_of_crayon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cartridges that CRAYON's release has, as they are."""
    spec = importlib.util.find_spec("crayon")
    found = sorted(Path(spec.origin).parent.glob("resources/dat/*.dat")) if spec and spec.origin else []
    if not found:
        pytest.skip("no xerv-crayon with cartridges")
    for path in found:
        crayon.main([str(path), "-o", str(tmp_path / f"{path.stem}.dat")])
        data = (tmp_path / f"{path.stem}.json").read_text(encoding="utf-8")
        text = "def main(): return 'Hello, world' 日本\n"
        ids = Tokenizer.from_file(tmp_path / f"{path.stem}.dat").encode(text).ids
        assert ids == tokenizers.Tokenizer.from_str(data).encode(text).ids != []


def test_two_files(sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = json.loads((sources["huggingface"] / "tokenizer.json").read_bytes())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])), encoding="utf-8")
    said = []
    for source in (tmp_path, tmp_path / "merges.txt"):
        huggingface.main([str(source), "-o", str(tmp_path / "made")])
        said.append(capsys.readouterr().out.splitlines()[0])
    whole = (tmp_path / "vocab.json").read_bytes() + (tmp_path / "merges.txt").read_bytes()
    expected = f"read {tmp_path / 'vocab.json'} and {tmp_path / 'merges.txt'}: sha256 "
    assert said == [expected + hashlib.sha256(whole).hexdigest()] * 2


@pytest.mark.parametrize("name", MAINS)
def test_another_kind(name: str, sources: dict[str, Path], tmp_path: Path) -> None:
    """The error names what was found, and the script that reads it."""
    for other, source in sources.items():
        path = source / "tokenizer.json" if other == "huggingface" else source
        if other == name:
            continue
        with pytest.raises(script.WrongKindError) as error:
            MAINS[name]([str(path), "-o", str(tmp_path / "made")])
        assert str(error.value) == f"{path} is {recognise(path).value}: python -m conversion.{other} reads it"
    if name != "huggingface":
        with pytest.raises(script.WrongKindError, match=r"\(with a tokenizer.json\): python -m conversion.huggingface"):
            MAINS[name]([str(sources["huggingface"]), "-o", str(tmp_path / "made")])
    assert list(tmp_path.iterdir()) == []


def test_every_kind_has_a_reader() -> None:
    assert set(script.READERS) == set(Kind)
    listed = {f"python -m {name}" for name, _ in scripts()} | {"crayon-hf convert"}
    assert set(script.READERS.values()) <= listed


def test_errors_are_one_line(sources: dict[str, Path], tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        command = [sys.executable, "-m", "conversion.gguf", *map(str, arguments), "-o", tmp_path / "made"]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    path = sources["sentencepiece"]
    assert run(path) == (
        f"python -m conversion.gguf: error: {path} is a SentencePiece model: "
        "python -m conversion.sentencepiece reads it\n"
    )
    assert run(tmp_path / "none.gguf").endswith("none.gguf: No such file or directory\n")
    (tmp_path / "cut.gguf").write_bytes(sources["gguf"].read_bytes()[:100])
    assert "cut.gguf" in run(tmp_path / "cut.gguf") or "GGUF" in run(tmp_path / "cut.gguf")
    assert not (tmp_path / "made").exists()


def test_no_file_of_the_source_is_lost(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(sources["huggingface"], tmp_path / "mine")
    for path in (sources["crayon"], sources["crayon"].with_suffix(".json")):
        shutil.copy(path, tmp_path)
    before = files(tmp_path / "mine") | {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}
    with pytest.raises(script.OverwriteError, match=r"tokenizer\.json is a file of the source"):
        huggingface.main([str(tmp_path / "mine"), "-o", str(tmp_path / "mine")])
    with pytest.raises(script.OverwriteError, match=r"vocab_lite\.json is a file of the source"):
        crayon.main([str(tmp_path / "vocab_lite.dat"), "-o", str(tmp_path / "vocab_lite.dat")])
    assert before == files(tmp_path / "mine") | {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}


def test_what_fails_leaves_nothing(sources: dict[str, Path], tmp_path: Path) -> None:
    document = json.loads((sources["huggingface"] / "tokenizer.json").read_bytes())
    document["model"]["vocab"]["far"] = 3_000_000
    (tmp_path / "far.json").write_text(json.dumps(document), encoding="utf-8")
    for output in ("made", "made.dat"):
        with pytest.raises(UnsupportedError):
            huggingface.main([str(tmp_path / "far.json"), "-o", str(tmp_path / output)])
    with pytest.raises(VocabularyError, match="pattern"):
        of_tiktoken.main([str(sources["tiktoken"]), "-o", str(tmp_path / "made")])
    with pytest.raises(SystemExit):
        of_tiktoken.main([str(sources["tiktoken"]), "-o", str(tmp_path / "made"), "--special", "<|end|>"])
    assert [path.name for path in tmp_path.iterdir()] == ["far.json"]


def test_a_path_comes_before_a_name(
    sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked of the network, or of tiktoken, for a name that is a path here."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sources["huggingface"], tmp_path / "user" / "name")
    huggingface.main(["user/name", "-o", "made"])
    shutil.copy(sources["tiktoken"], "cl100k_base")
    with pytest.warns(AmbiguousNameWarning, match="or encoding:cl100k_base"):
        of_tiktoken.main(["cl100k_base", *OPTIONS["tiktoken"], "-o", "made.dat"])
    assert f"read cl100k_base: sha256 {digest(sources['tiktoken'])}" in capsys.readouterr().out


def test_an_encoding_of_a_plugin(
    sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = read_ranks(sources["tiktoken"].read_bytes())
    mine = tiktoken.Encoding("mine", pat_str=R50K_PATTERN, mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setattr(tiktoken, "get_encoding", {"mine": mine}.__getitem__)
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: ["mine"])
    of_tiktoken.main(["mine", "-o", str(tmp_path / "made.dat")])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"read mine: sha256 {hashlib.sha256(write_ranks(ranks)).hexdigest()}"
    assert said[2].startswith(f"wrote {tmp_path / 'made.dat'}: {len(ranks)} ids")


def test_the_list_has_every_script() -> None:
    listed = dict(scripts())
    assert {f"conversion.{name}" for name in (*MAINS, "catalogue", "profiles.train")} <= set(listed)
    assert all(listed.values())
    for name in listed:
        if not name.startswith("conversion.profiles."):
            assert callable(importlib.import_module(name).main)
