"""Building tokenizers of transformers with our engine: every class gives the same as with the library."""

from __future__ import annotations

import json
import pickle
import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from tokenizers import models
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.auto import tokenization_auto

import crayon_hf
from crayon_hf import _core
from crayon_hf.formats import convert, write
from crayon_hf.transformers import construction
from crayon_hf.util.reference import reference_class
from tests.hub.hub_tokenizers import pattern_of_tiktoken, repository, unsound, with_token
from tests.support.sampling import sampled
from tests.support.versions import before_1
from tests.transformers.comparing import Raised, outcome, plain
from tests.transformers.test_loading import state

TEXTS = ("The quick brown <pad> fox </s> [SEP] déjà vu", "Hello  WORLD ▁ 123 <mask> ", "", "日本 crayon")


def fast_classes() -> list[str]:
    """The names of all fast classes of `AutoTokenizer` that can be imported here."""
    names = set()
    for value in tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        names.update(value if isinstance(value, (tuple, list)) else (value,))
    found = []
    for name in sorted(filter(None, names)):
        try:
            cls = tokenization_auto.tokenizer_class_from_name(name)
        except Exception:  # it needs a missing library
            continue
        if cls is not None and issubclass(cls, PreTrainedTokenizerFast):
            found.append(name)
    return found


@pytest.fixture(scope="module")
def kinds(
    repositories: dict[str, Path], training_text: list[str], tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """Directories with a tokenizer.json and its cartridge: of the families, and of CLIP, whose words end in </w>."""
    clip = tmp_path_factory.mktemp("clip")
    backend = tokenizers.Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>", fuse_unk=False))
    backend.normalizer = tokenizers.normalizers.Lowercase()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=900,
        show_progress=False,
        end_of_word_suffix="</w>",
        initial_alphabet=alphabet,
        special_tokens=["<|startoftext|>", "<|endoftext|>", *alphabet, *(f"{one}</w>" for one in alphabet)],
    )
    backend.train_from_iterator(training_text, trainer)
    document = json.loads(backend.to_str())
    document["added_tokens"] = document["added_tokens"][:2]
    (clip / "tokenizer.json").write_text(json.dumps(document))
    made = []
    for source in (*repositories.values(), clip):
        place = tmp_path_factory.mktemp("kind") / source.name
        place.mkdir()
        data = (source / "tokenizer.json").read_bytes()
        (place / "tokenizer.json").write_bytes(data)
        (place / "tokenizer.dat").write_bytes(_core.compile_tokenizer_json(data, '{"reference":"tokenizers"}'))
        made.append(place)
    return made


def facts(tokenizer: Any) -> dict[str, Any]:
    """All properties of a tokenizer that a user sees."""
    encoded = [tokenizer(text) for text in TEXTS]
    return {
        "class": type(tokenizer).__name__,
        "attributes": state(tokenizer),
        "file": tokenizer._tokenizer.to_str(),
        "texts": [plain(each) for each in encoded],
        "pair": tokenizer(TEXTS[0], TEXTS[1])["input_ids"],
        "decoded": [tokenizer.decode(each["input_ids"]) for each in encoded],
        "size": len(tokenizer),
    }


@before_1("the classes of transformers")
@pytest.mark.parametrize("name", sampled(fast_classes(), 4))
def test_every_class_is_that_of_transformers(name: str, kinds: list[Path], tmp_path: Path) -> None:
    """Every class gives the tokenizer that transformers makes, with and without a cartridge, and for vocabularies of
    its own and of other classes."""
    for kind in kinds:
        place = tmp_path / kind.name
        shutil.copytree(kind, place)
        (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
        expected = outcome(lambda: facts(AutoTokenizer.from_pretrained(place)))  # noqa: B023
        seen: list[Any] = []

        def load(place: Path = place, seen: list[Any] = seen) -> dict[str, Any]:
            seen.append(crayon_hf.AutoTokenizer.from_pretrained(place))
            return facts(seen[-1])

        assert outcome(load) == expected, kind.name
        own = json.loads((place / "tokenizer.json").read_bytes())["model"]["type"]
        wanted = getattr(getattr(type(seen[-1]), "model", None), "__name__", None) if seen else None
        if not isinstance(expected, Raised) and wanted in (None, own) and USES.get(name, kind.name) == kind.name:
            assert seen[-1].engine_report()["origin"] == "repository", (kind.name, seen[-1].engine_report())
        elif not isinstance(expected, Raised) and seen[-1].engine_report()["origin"] != "repository":
            assert "another vocabulary" in seen[-1].engine_report()["refused"]
        (place / "tokenizer.dat").unlink()
        assert outcome(load) == expected, f"{kind.name} without a cartridge"


USES = {"CLIPTokenizer": "clip"} | dict.fromkeys(("EsmcTokenizer", "MBart50Tokenizer", "Tipsv2Tokenizer"), "")
"""Classes that build a model with other options or another vocabulary than in these files, except the named one."""


FAMILIES = {"bert": "BertTokenizer", "llama": "LlamaTokenizer", "t5": "T5Tokenizer"}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_file_is_parsed(
    family: str, repositories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a cartridge, the tokenizer.json is parsed neither by our compiler, nor by `json`, nor by the library. No
    other file has the vocabulary."""
    place = tmp_path / family
    write(convert(repositories[family]), place, cartridge=True)
    expected = facts(AutoTokenizer.from_pretrained(place))

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("the tokenizer.json was read")

    load = json.load

    def load_small(file: Any, *arguments: Any, **named: Any) -> Any:
        assert not file.name.endswith("/tokenizer.json")
        return load(file, *arguments, **named)

    monkeypatch.setattr(_core, "compile_tokenizer_json", refuse)
    monkeypatch.setattr(json, "load", load_small)
    monkeypatch.setattr(construction._StandIn, "__call__", refuse)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    ours = crayon_hf.AutoTokenizer.from_pretrained(place)
    assert ours.engine_report()["origin"] == "repository"
    assert ours.engine_report()["cartridge"] == str(place / "tokenizer.dat")
    assert facts(ours) == expected
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".dat", ".json")]


def test_what_our_engine_cannot_do_over_the_vocabulary(
    repositories: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If our engine does not support a class's components, transformers builds the tokenizer again with the library."""
    expected = facts(AutoTokenizer.from_pretrained(repositories["bert"]))
    with_components, compile_json = _core.Engine.with_components, _core.compile_tokenizer_json
    compiled: list[bytes] = []

    def refuse(self: Any, components: str, added: Any) -> Any:
        if json.loads(components)["normalizer"] != json.loads(self.components)["normalizer"]:
            raise crayon_hf.UnsupportedError("a component of this test")
        return with_components(self, components, added)

    def note(data: bytes, *arguments: Any) -> bytes:
        compiled.append(data)
        return compile_json(data, *arguments)

    monkeypatch.setattr(_core.Engine, "with_components", refuse)
    monkeypatch.setattr(_core, "compile_tokenizer_json", note)
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["bert"], do_lower_case=False, strip_accents=True)
    stock = AutoTokenizer.from_pretrained(repositories["bert"], do_lower_case=False, strip_accents=True)
    assert facts(ours) == facts(stock) != expected
    assert json.loads(compiled[-1])["normalizer"]["strip_accents"] is True


def test_a_vocabulary_that_the_class_changes(
    repositories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with another vocabulary is the library's own, even if the class modified the object that it received."""
    if transformers.__version__.startswith("4."):
        pytest.skip("classes of transformers 4 open the file")
    from transformers.models.bert.tokenization_bert import BertTokenizer

    stock_init = BertTokenizer.__init__

    def init(self: Any, vocab: Any = None, **named: Any) -> None:
        vocab["brandnew"] = len(vocab)
        stock_init(self, vocab=vocab, **named)

    monkeypatch.setattr(BertTokenizer, "__init__", init)
    stock = AutoTokenizer.from_pretrained(repositories["bert"])
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["bert"])
    assert ours.convert_tokens_to_ids("brandnew") == stock.convert_tokens_to_ids("brandnew") == len(stock) - 1
    assert plain(ours("a brandnew fox")) == plain(stock("a brandnew fox"))


def rewritten(repository: Path, place: Path, change: Any) -> Path:
    """A copy of a repository with its cartridge, whose tokenizer.json `change` has changed."""
    shutil.copytree(repository, place)
    document = json.loads((place / "tokenizer.json").read_bytes())
    change(document)
    data = json.dumps(document, ensure_ascii=False).encode()
    (place / "tokenizer.json").write_bytes(data)
    (place / "tokenizer.dat").write_bytes(_core.compile_tokenizer_json(data, '{"reference":"tokenizers"}'))
    return place


def unsorted(document: dict[str, Any]) -> None:
    vocab = document["model"]["vocab"]
    document["model"]["vocab"] = dict(sorted(vocab.items(), key=lambda item: -item[1]))


def with_version_line(document: dict[str, Any]) -> None:
    merges = document["model"]["merges"]
    document["model"]["merges"] = ["#version: 0.2", *(" ".join(pair) for pair in merges)]


def with_merge_twice(document: dict[str, Any]) -> None:
    document["model"]["merges"].append(document["model"]["merges"][3])


def with_whole_scores(document: dict[str, Any]) -> None:
    document["model"]["vocab"][5][1] = -3


def without_added(document: dict[str, Any]) -> None:
    del document["added_tokens"]


def with_other_ids(document: dict[str, Any]) -> None:
    document["added_tokens"].append({**document["added_tokens"][0], "content": "<late>", "id": 7000})


@pytest.mark.parametrize(
    ("family", "change"),
    [
        *(("bert", unsorted), ("llama", unsorted), ("llama", with_version_line), ("llama", with_merge_twice)),
        *(("t5", with_whole_scores), ("bert", without_added), ("llama", without_added), ("bert", with_other_ids)),
    ],
)
def test_files_that_list_otherwise(repositories: dict[str, Path], tmp_path: Path, family: str, change: Any) -> None:
    """If a tokenizer.json lists its vocabulary in an unusual way, Python reads the file, so order, types and errors are
    those of the file."""
    place = rewritten(repositories[family], tmp_path / "place", change)
    assert not _core.Engine.open(str(place / "tokenizer.dat")).reads_alike

    def seen(load: Any) -> Any:
        made = facts(load(place))
        del made["file"]  # a repeated merge
        return made

    expected = outcome(lambda: seen(AutoTokenizer.from_pretrained))
    assert outcome(lambda: seen(crayon_hf.AutoTokenizer.from_pretrained)) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_that_is_rewritten_in_place(repositories: dict[str, Path], tmp_path: Path, family: str) -> None:
    place = rewritten(repositories[family], tmp_path / "place", lambda document: None)
    stock, ours = (load.from_pretrained(place) for load in (AutoTokenizer, crayon_hf.AutoTokenizer))
    assert ours.engine_report()["origin"] == "repository"
    with open(place / "tokenizer.json", "a") as file:
        file.write("\n")
    assert facts(ours) == facts(stock)
    assert facts(pickle.loads(pickle.dumps(ours))) == facts(stock)
    for tokenizer, name in ((stock, "stock"), (ours, "ours")):
        tokenizer.save_pretrained(tmp_path / name)
    saved = [(tmp_path / name / "tokenizer.json").read_bytes() for name in ("stock", "ours")]
    assert saved[0] == saved[1]
    ours.add_tokens(["<new>"])
    assert ours.convert_tokens_to_ids("<new>") == len(stock)


def test_what_is_opened_meanwhile_has_the_library(
    repositories: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a class opens another tokenizer for itself, that one is stock, and so is its backend."""
    init = PreTrainedTokenizerFast.__init__

    def nested(self: Any, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        if str(named.get("name_or_path", "")).endswith("bert"):
            self.inner = AutoTokenizer.from_pretrained(repositories["byte_level"])

    monkeypatch.setattr(PreTrainedTokenizerFast, "__init__", nested)
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["bert"])
    assert isinstance(ours._tokenizer, crayon_hf.Tokenizer)
    assert isinstance(ours.inner._tokenizer, reference_class())


@before_1("scores that Python reads")
def test_scores_are_those_that_python_reads(repositories: dict[str, Path], tmp_path: Path) -> None:
    """transformers 5 builds a Unigram model from the scores that Python reads. The library's file reader misreads one
    score in four as a neighbouring double."""
    document = json.loads((repositories["t5"] / "tokenizer.json").read_bytes())
    rng = random.Random(41)
    for piece in document["model"]["vocab"]:
        piece[1] = -rng.uniform(1, 20)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer"}')
    stock, ours = (load.from_pretrained(tmp_path) for load in (AutoTokenizer, crayon_hf.AutoTokenizer))
    assert ours.backend_tokenizer.to_str() == stock.backend_tokenizer.to_str()
    if not transformers.__version__.startswith("4."):
        assert json.loads(ours.backend_tokenizer.to_str())["model"]["vocab"] == document["model"]["vocab"]


def test_other_threads_have_the_library(repositories: dict[str, Path]) -> None:
    """Threads open the same files with stock transformers and with ours at the same time; each gets its own kind."""
    places = [repositories[family] for family in FAMILIES]
    expected = [facts(AutoTokenizer.from_pretrained(place)) for place in places]

    def work(load: Any, kind: type) -> bool:
        opened = [load(place) for _ in range(6) for place in places]
        return [facts(each) for each in opened] == expected * 6 and all(isinstance(e._tokenizer, kind) for e in opened)

    loads = AutoTokenizer.from_pretrained, crayon_hf.AutoTokenizer.from_pretrained
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, loads * 2, (tokenizers.Tokenizer, crayon_hf.Tokenizer) * 2))


# -- a cartridge in a tokenizer's directory is used if it matches the tokenizer.json

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu; it's what they've said 12345"
CONFIG = '{"tokenizer_class": "PreTrainedTokenizerFast"}'


@pytest.fixture
def directory(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """A function that puts files into a directory with a tokenizer_config.json, and returns the directory."""

    def put(files: dict[str, bytes]) -> Path:
        place = tmp_path / "repository"
        place.mkdir(exist_ok=True)
        (place / "tokenizer_config.json").write_text(CONFIG)
        for name, data in files.items():
            (place / name).write_bytes(data)
        return place

    return put


def origin_of(tokenizer: Any) -> tuple[Any, Any]:
    report = tokenizer.engine_report()
    assert report == tokenizer.backend_tokenizer.engine_report()
    assert report["engine"] == "native"
    return report["origin"], report["refused"]


def test_it_is_used(
    directory: Any, gpt2_like: Path, settled: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = directory(repository(gpt2_like))
    stock = AutoTokenizer.from_pretrained(place)
    monkeypatch.setattr(_core, "compile_tokenizer_json", None)
    for load in (crayon_hf.AutoTokenizer.from_pretrained, crayon_hf.CrayonTokenizerFast.from_pretrained):
        for _ in range(2):
            ours = load(place)
            assert origin_of(ours) == ("repository", None)
            assert ours.engine_report()["cartridge"] == str(place / "tokenizer.dat")
            assert plain(ours(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
            assert ours.backend_tokenizer.to_str() == stock.backend_tokenizer.to_str()
    assert len(opened) == 2  # the second opening of each


CASES = ("damaged", "cut", "empty", "no cartridge", "another revision", "of another")


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(
    directory: Any, gpt2_like: Path, llama3_like: Path, settled: Path, opened: list[Any], case: str
) -> None:
    source = gpt2_like.read_bytes()
    cartridge, reason = unsound(source, llama3_like.read_bytes())[case]
    place = directory({"tokenizer.json": source, "tokenizer.dat": cartridge})
    stock = AutoTokenizer.from_pretrained(place)
    said = set()
    for _ in range(2):
        ours = crayon_hf.AutoTokenizer.from_pretrained(place)
        origin, refused = origin_of(ours)
        assert origin == "cache"
        assert reason in refused
        said.add(refused)
        assert plain(ours(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
    assert len(said) == 1
    assert len(opened) == 1


def test_files_that_change(directory: Any, gpt2_like: Path, settled: Path) -> None:
    files = repository(gpt2_like)
    place = directory(files)
    load = crayon_hf.AutoTokenizer.from_pretrained
    assert origin_of(load(place)) == ("repository", None)
    directory({"tokenizer.json": with_token(gpt2_like, "<new>")})
    origin, refused = origin_of(load(place))
    assert origin == "cache"
    assert "another tokenizer.json" in refused
    assert load(place).convert_tokens_to_ids("<new>") is not None
    directory(repository(with_token(gpt2_like, "<new>")))
    assert origin_of(load(place)) == ("repository", None)
    (place / "tokenizer.dat").unlink()
    assert origin_of(load(place)) == ("cache", None)
    directory(files)
    assert origin_of(load(place)) == ("repository", None)


def test_the_reading_of_tiktoken(directory: Any, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cartridge with tiktoken's ids is used for tokenizers' only if both surely read the pattern alike."""
    place = directory(pattern_of_tiktoken(gpt2_like.read_bytes()))
    ours = crayon_hf.AutoTokenizer.from_pretrained(place)
    assert origin_of(ours)[0] != "repository"
    assert "regular expressions of tiktoken" in origin_of(ours)[1]
    assert plain(ours(TEXT)) == plain(AutoTokenizer.from_pretrained(place)(TEXT))


def test_a_cartridge_in_memory(
    directory: Any, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = directory({"tokenizer.json": gpt2_like.read_bytes()})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert origin_of(crayon_hf.AutoTokenizer.from_pretrained(place)) == ("memory", None)


def test_a_cartridge_that_is_there_is_made_anew(pair: tuple[Any, Any], tmp_path: Path) -> None:
    _, ours = pair
    for prefix in ("", "mine-"):
        ours.backend_tokenizer.save(tmp_path / f"{prefix}tokenizer.dat")
    ours.add_tokens(["quick"])
    for prefix in ("", "mine-"):
        names = ours.save_pretrained(tmp_path, filename_prefix=prefix[:-1] or None)
        cartridge = tmp_path / f"{prefix}tokenizer.dat"
        assert names[-1] == str(cartridge)
        assert crayon_hf.Tokenizer.from_file(cartridge).encode(TEXT).ids == ours.backend_tokenizer.encode(TEXT).ids
