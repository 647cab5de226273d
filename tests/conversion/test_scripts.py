"""The conversion scripts write the same files as `crayon-hf convert`, name the right script for other formats, and lose
no file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers

from conversion import crayon, gguf, huggingface, script, sentencepiece, tekken
from conversion import tiktoken as of_tiktoken
from conversion.__main__ import main as list_scripts
from crayon_hf import AmbiguousNameWarning, Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.cli import main as command_line
from crayon_hf.errors import CrayonError
from crayon_hf.formats.recognise import recognise
from crayon_hf.formats.tiktoken import R50K_PATTERN
from tests.hub.local_hub import LocalHub

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
    for x in ("x.dat", "x.json"):
        assert (tmp_path / "ours" / x).read_bytes() == (tmp_path / "theirs" / x).read_bytes()
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


@pytest.mark.parametrize("name", MAINS)
def test_another_kind(name: str, sources: dict[str, Path], tmp_path: Path) -> None:
    """Each script's error for another script's source names the format that was found, and the script that reads it."""
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


def test_no_file_of_the_source_is_lost(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(sources["huggingface"], tmp_path / "mine")
    for path in (sources["crayon"], sources["crayon"].with_suffix(".json")):
        shutil.copy(path, tmp_path)
    before = files(tmp_path / "mine") | {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}
    with pytest.raises(CrayonError, match=r"tokenizer\.json is a file of the source"):
        huggingface.main([str(tmp_path / "mine"), "-o", str(tmp_path / "mine")])
    with pytest.raises(CrayonError, match=r"vocab_lite\.json is a file of the source"):
        crayon.main([str(tmp_path / "vocab_lite.dat"), "-o", str(tmp_path / "vocab_lite.dat")])
    for output in ("mine", "vocab_lite.dat"):  # of another tokenizer
        with pytest.raises(CrayonError, match=f"{output} has another tokenizer: give another -o"):
            tekken.main([str(sources["tekken"]), "-o", str(tmp_path / output)])
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
    """If an argument is an existing path, the scripts ask neither the network nor tiktoken for this name."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sources["huggingface"], tmp_path / "user" / "name")
    huggingface.main(["user/name", "-o", "made"])
    shutil.copy(sources["tiktoken"], "cl100k_base")
    with pytest.warns(AmbiguousNameWarning, match="or encoding:cl100k_base"):
        of_tiktoken.main(["cl100k_base", *OPTIONS["tiktoken"], "-o", "made.dat"])
    assert f"read cl100k_base: sha256 {digest(sources['tiktoken'])}" in capsys.readouterr().out


def test_a_repository(sources: dict[str, Path], tmp_path: Path) -> None:
    """A Hub repository is converted, from a local Hub that the client reaches over a socket. A failure is one line."""
    pytest.importorskip("huggingface_hub")
    with LocalHub() as hub:
        data = (sources["huggingface"] / "tokenizer.json").read_bytes()
        hub.commit("user/name", {"tokenizer.json": data, "model.safetensors": b"weights"})
        environment = hub.environment(tmp_path / "home")
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), environment["PYTHONPATH"]])
        for source, code in (("user/name", 0), ("user/other", 1)):
            command = [sys.executable, "-m", "conversion.huggingface", source, "-o", "made"]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert (done.returncode, len(done.stderr.splitlines())) == (code, code), done
        assert not hub.asked("GET", "model.safetensors")
    expected = tokenizers.Tokenizer.from_buffer(data).encode("Hello").ids
    assert Tokenizer.from_file(tmp_path / "made").encode("Hello").ids == expected


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    list_scripts()
    listed = {line.split()[2] for line in capsys.readouterr().out.splitlines()}
    assert listed >= {f"conversion.{name}" for name in (*MAINS, "catalogue")}
