"""Opening: which class comes out, what a snapshot may stand in for, `install`, and the registered name."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import decoders
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import crayon_hf
from crayon_hf.transformers import construction, loading, snapshots
from tests.support.versions import since
from tests.transformers.comparing import Raised, outcome, plain

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu"


def state(tokenizer: Any) -> dict[str, str]:
    """Every attribute but the backend."""
    deferred = vars(tokenizer).get("_crayon_deferred")
    attributes = vars(tokenizer) | (deferred.values() if deferred else {})
    return {key: repr(value) for key, value in attributes.items() if key not in ("_tokenizer", "_crayon_deferred")}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was restored from a snapshot."""
    seen: list[Any] = []
    restore = snapshots.restore

    def spy(made_of: Any) -> Any:
        found = restore(made_of)
        if found is not None:
            seen.append(found)
        return found

    monkeypatch.setattr(loading.snapshots, "restore", spy)  # type: ignore[attr-defined]
    return seen


def test_the_class_is_that_of_transformers(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    assert isinstance(ours, type(stock))
    assert isinstance(ours, PreTrainedTokenizerFast)
    assert isinstance(ours, crayon_hf.CrayonTokenizerFast)
    assert type(ours).__name__ == type(stock).__name__
    assert type(ours).__module__ == type(stock).__module__
    assert isinstance(ours._tokenizer, crayon_hf.Tokenizer)
    assert ours.backend_tokenizer is ours._tokenizer
    assert ours.is_fast
    assert repr(ours) == repr(stock)
    assert len(ours) == len(stock)
    assert "Crayon" in repr(type(ours))
    theirs = state(stock)
    assert {key: value for key, value in state(ours).items() if theirs.get(key) != value} == {}


def test_attributes(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    for name in (
        *("all_special_tokens", "all_special_ids", "special_tokens_map", "vocab_size", "vocab", "added_tokens_encoder"),
        *("pad_token_id", "eos_token", "unk_token_id", "bos_token", "model_max_length", "max_len_single_sentence"),
        *("padding_side", "truncation_side", "model_input_names", "name_or_path", "max_len_sentences_pair"),
    ):
        assert getattr(ours, name) == getattr(stock, name), name
    assert {key: str(value) for key, value in ours.added_tokens_decoder.items()} == {
        key: str(value) for key, value in stock.added_tokens_decoder.items()
    }
    assert ours.get_vocab() == stock.get_vocab()
    assert ours.get_added_vocab() == stock.get_added_vocab()
    assert ours.num_special_tokens_to_add(True) == stock.num_special_tokens_to_add(True)
    for ids in (5, [5, 6], [10**6]):
        assert outcome(lambda: ours.convert_ids_to_tokens(ids)) == outcome(lambda: stock.convert_ids_to_tokens(ids))  # noqa: B023
    for tokens in ("the", ["the", "nothing like it"]):
        assert ours.convert_tokens_to_ids(tokens) == stock.convert_tokens_to_ids(tokens)
    assert ours.convert_tokens_to_string(["a", "b"]) == stock.convert_tokens_to_string(["a", "b"])
    with pytest.raises(AttributeError):
        _ = ours.no_such_attribute


def test_snapshot_gives_the_same(repository: Path, settled: Path, opened: list[Any]) -> None:
    stock = AutoTokenizer.from_pretrained(repository)
    first = crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert not opened
    second = crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert opened == [second]
    assert type(second) is type(first)
    assert vars(first).keys() == vars(second).keys()
    assert state(second) == state(stock) == state(first)
    assert list(vars(second)) != []
    assert second.backend_tokenizer.to_str() == first.backend_tokenizer.to_str()
    assert plain(second(TEXT, TEXT)) == plain(stock(TEXT, TEXT))


@pytest.mark.skipif(not hasattr(os, "pread"), reason="no file can be held open here")
def test_the_cache_may_go(
    repository: Path, settled: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(snapshots, "_LARGE", 20)  # more than transformers 4 has special tokens
    stock = AutoTokenizer.from_pretrained(repository)
    load = crayon_hf.AutoTokenizer.from_pretrained
    uses: list[Any] = [
        lambda t: copy.deepcopy(t),
        lambda t: pickle.loads(pickle.dumps(t)),
        lambda t: load(t.save_pretrained(tmp_path / "saved")[0].rpartition(os.sep)[0]),
        lambda t: t,
    ]
    for use in uses:
        first = load(repository)
        second = load(repository)
        assert opened[-1] is second
        shutil.rmtree(settled)
        for ours in (first, second):
            twin = use(ours)
            assert plain(twin(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
            assert twin.backend_tokenizer.to_str() == ours.backend_tokenizer.to_str()
            assert state(twin).keys() >= state(ours).keys()
    assert getattr(second, "_vocab", None) == getattr(stock, "_vocab", None)


def plain_repository(directory: Path, repositories: dict[str, Path], **config: Any) -> Path:
    """One whose class builds nothing of its own."""
    directory.mkdir()
    shutil.copy(repositories["byte_level"] / "tokenizer.json", directory)
    written = {"tokenizer_class": "PreTrainedTokenizerFast"} | config
    (directory / "tokenizer_config.json").write_text(json.dumps(written))
    return directory


def test_the_first_opening_shares_its_cartridge(repositories: dict[str, Path], settled: Path, tmp_path: Path) -> None:
    of_file = crayon_hf.Tokenizer.from_file(repositories["byte_level"] / "tokenizer.json")
    directory = plain_repository(tmp_path / "plain", repositories)
    stock = AutoTokenizer.from_pretrained(directory)
    first, second = (crayon_hf.AutoTokenizer.from_pretrained(directory) for _ in range(2))
    for ours in (first, second):
        assert ours.backend_tokenizer.engine_report()["cartridge"] == of_file.engine_report()["cartridge"]
        assert json.loads(ours.backend_tokenizer.to_str()) == json.loads(stock.backend_tokenizer.to_str())
    assert len(list(settled.glob("*.dat"))) == 1
    assert pickle.dumps(first.backend_tokenizer) == pickle.dumps(second.backend_tokenizer)
    shutil.rmtree(directory)  # the tokenizer needs none of its files
    saved = first.save_pretrained(tmp_path / "saved")
    assert plain(AutoTokenizer.from_pretrained(tmp_path / "saved")(TEXT)) == plain(stock(TEXT)), saved
    assert construction._home.TokenizerFast is type(stock.backend_tokenizer)


@pytest.mark.parametrize(
    "config",
    [
        {"added_tokens_decoder": {"900": {"content": "<late>", "special": True}}, "pad_token": "<late>"},
        pytest.param(
            {"extra_special_tokens": ["<one>", "<two>"], "add_bos_token": True, "bos_token": "<one>"},
            marks=pytest.mark.skipif(
                transformers.__version__.startswith("4."), reason="transformers 4 wants extra_special_tokens by name"
            ),
        ),
        {"model_max_length": 4, "split_special_tokens": True, "padding_side": "left", "eos_token": "<s>"},
    ],
)
def test_the_first_opening_of_what_transformers_changes(
    config: dict[str, Any], repositories: dict[str, Path], settled: Path, opened: list[Any], tmp_path: Path
) -> None:
    directory = plain_repository(tmp_path / "plain", repositories, **config)
    stock = AutoTokenizer.from_pretrained(directory)
    first, second = (crayon_hf.AutoTokenizer.from_pretrained(directory) for _ in range(2))
    assert opened == [second]
    text = TEXT + "<late> <one><two><s>"
    assert state(first) == state(stock) == state(second)
    for ours in (first, second):
        assert plain(ours(text, text)) == plain(stock(text, text))
        assert ours.decode(ours(text).input_ids, skip_special_tokens=True) == stock.decode(
            stock(text).input_ids, skip_special_tokens=True
        )
        assert json.loads(ours.backend_tokenizer.to_str()) == json.loads(stock.backend_tokenizer.to_str())


def test_a_file_that_only_the_reference_reads(repositories: dict[str, Path], settled: Path, tmp_path: Path) -> None:
    directory = plain_repository(tmp_path / "plain", repositories)
    path = directory / "tokenizer.json"
    document = json.loads(path.read_text())
    document["model"]["vocab"][next(iter(document["model"]["vocab"]))] = 2_500_000
    path.write_text(json.dumps(document))
    with pytest.warns(crayon_hf.DelegatedWarning):
        ours = crayon_hf.AutoTokenizer.from_pretrained(directory)
    assert plain(ours(TEXT)) == plain(AutoTokenizer.from_pretrained(directory)(TEXT))
    path.write_text("{}")
    of_ours = outcome(lambda: crayon_hf.AutoTokenizer.from_pretrained(directory))
    of_stock = outcome(lambda: AutoTokenizer.from_pretrained(directory))
    assert of_ours.kind is of_stock.kind


def test_a_snapshot_that_lost_its_other_half(
    repository: Path, settled: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_LARGE", 2)
    load = crayon_hf.AutoTokenizer.from_pretrained
    load(repository)
    for late in (settled / "transformers").glob("*.late"):
        late.unlink()
        assert state(load(repository)) == state(AutoTokenizer.from_pretrained(repository))
        assert not opened


def test_snapshot_sees_changes(repository: Path, settled: Path, opened: list[Any], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy)
    load = crayon_hf.AutoTokenizer.from_pretrained
    load(copy)
    load(copy)
    assert len(opened) == 1
    config = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps({**config, "model_max_length": 7}))
    assert load(copy).model_max_length == 7
    assert len(opened) == 1
    (copy / "chat_template.jinja").write_text("{{ messages }}")
    assert load(copy).chat_template == "{{ messages }}"
    assert load(copy, model_max_length=9).model_max_length == 9
    assert load(copy, padding_side="left").padding_side == "left"
    assert len(opened) == 1
    assert load(copy, padding_side="left").padding_side == "left"
    assert len(opened) == 2
    document = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))
    document["added_tokens"].append({**document["added_tokens"][0], "id": len(load(copy)), "content": "<new>"})
    (copy / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    assert plain(load(copy)("a <new> b")) == plain(AutoTokenizer.from_pretrained(copy)("a <new> b"))


def test_snapshots_are_only_believed_when_sound(
    repository: Path, settled: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    load = crayon_hf.AutoTokenizer.from_pretrained
    expected = plain(load(repository)(TEXT))
    (snapshot,) = (settled / "transformers").glob("*.snapshot")
    good = snapshot.read_bytes()
    for bad in (b"", b"{", b"[]", b'{"class":["os","path"]}', good.replace(b"transformers.", b"os.path.")):
        snapshot.write_bytes(bad)
        assert plain(load(repository)(TEXT)) == expected
    assert not opened
    made = json.loads(good)
    made["class"] = ["snapshot_module", made["class"][1]]
    (settled / "snapshot_module.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(settled)
    snapshot.write_text(json.dumps(made), encoding="utf-8")
    assert plain(load(repository)(TEXT)) == expected
    os.chmod(settled / "transformers", 0o777)
    assert plain(load(repository)(TEXT)) == expected
    assert not opened


@pytest.mark.parametrize("flags", [{"special": False}, {"normalized": True}, {"special": False, "lstrip": True}])
def test_flags_that_two_files_give_in_two_ways(
    repositories: dict[str, Path], settled: Path, opened: list[Any], tmp_path: Path, flags: dict[str, bool]
) -> None:
    """What is special in one of them is left out by `decode`, whatever the other says; with a snapshot, too."""
    directory = tmp_path / "repository"
    directory.mkdir()
    shutil.copy(repositories["byte_level"] / "tokenizer.json", directory)
    token = {"content": "<|endoftext|>", "special": True, "normalized": False, "lstrip": False, "rstrip": False}
    id = crayon_hf.Tokenizer.from_file(directory / "tokenizer.json").token_to_id("<|endoftext|>")
    config = {"added_tokens_decoder": {str(id): token | {"single_word": False} | flags}}
    config["tokenizer_class"] = "PreTrainedTokenizerFast"  # which transformers 4 has to be told
    (directory / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    stock = AutoTokenizer.from_pretrained(directory)
    ids = [*stock("The fox")["input_ids"], id]
    for restored in (False, True):
        ours = crayon_hf.AutoTokenizer.from_pretrained(directory)
        assert len(opened) == restored
        for one in (ours, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            same = stock if one is ours else copy.deepcopy(stock)
            for skip in (True, False):
                assert one.decode(ids, skip_special_tokens=skip) == same.decode(ids, skip_special_tokens=skip)
            assert plain(one("The <|endoftext|> fox")) == plain(same("The <|endoftext|> fox"))


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (PreTrainedTokenizerFast, "_from_pretrained"),
        (transformers.PreTrainedTokenizerBase, "init_kwargs_of_mine"),
        (transformers.tokenization_utils_base, "cached_file"),
        (transformers.models.auto.tokenization_auto, "get_tokenizer_config"),
    ],
)
def test_replaced_code_of_transformers_has_no_part_in_snapshots(
    repository: Path, settled: Path, opened: list[Any], owner: Any, name: str
) -> None:
    """Neither is what it made kept for others, nor what the original made given to it."""

    def count() -> int:
        return len(list((settled / "transformers").glob("*.snapshot")))

    original = getattr(owner, name, None)

    def replaced(*arguments: Any, **keywords: Any) -> Any:
        return (
            original.__func__(*arguments, **keywords)
            if hasattr(original, "__func__")
            else original(*arguments, **keywords)
        )

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            owner, name, classmethod(replaced) if hasattr(original, "__func__") else replaced, raising=False
        )
        crayon_hf.AutoTokenizer.from_pretrained(repository)
        assert count() == 0
    expected = crayon_hf.AutoTokenizer.from_pretrained(repository)(TEXT)["input_ids"]
    assert count() == 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            owner, name, classmethod(replaced) if hasattr(original, "__func__") else replaced, raising=False
        )
        crayon_hf.AutoTokenizer.from_pretrained(repository)
        assert opened == []
    assert crayon_hf.AutoTokenizer.from_pretrained(repository)(TEXT)["input_ids"] == expected
    assert len(opened) == 1


@pytest.mark.parametrize("kind", ["string", "descriptor", "module", "json"])
def test_replaced_code_of_any_kind_has_no_part_in_snapshots(
    repository: Path, settled: Path, opened: list[Any], kind: str
) -> None:
    """Code that was run out of a string, objects with `__get__`, and what stands for a module."""
    usual = AutoTokenizer.from_pretrained(repository).padding_side
    other = "left" if usual == "right" else "right"
    names: dict[str, Any] = {"first": PreTrainedTokenizerFast.__init__, "load": json.load, "other": other}
    exec("def init(self, *args, **kwargs):\n    first(self, *args, **kwargs)\n    self.padding_side = other", names)
    exec(
        "def read(file):\n    it = load(file)\n    return it if 'model' in it else it | {'padding_side': other}", names
    )
    base: Any = transformers.tokenization_utils_base

    class Bound:
        def __get__(self, instance: Any, owner: type) -> Any:
            return names["init"].__get__(instance, owner)

    standing = type(
        "Standing", (), {"__getattr__": lambda _, name: getattr(json, name), "load": staticmethod(names["read"])}
    )
    owner, name, value = {
        "string": (PreTrainedTokenizerFast, "__init__", names["init"]),
        "descriptor": (PreTrainedTokenizerFast, "__init__", Bound()),
        "module": (base, "json", standing()),
        "json": (json, "load", names["read"]),
    }[kind]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, value)
        assert crayon_hf.AutoTokenizer.from_pretrained(repository).padding_side == other
    assert not list((settled / "transformers").glob("*.snapshot"))
    assert crayon_hf.AutoTokenizer.from_pretrained(repository).padding_side == usual
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, value)
        assert crayon_hf.AutoTokenizer.from_pretrained(repository).padding_side == other
    assert opened == []


def test_snapshots_know_the_values_of_classes(repository: Path, settled: Path, opened: list[Any]) -> None:
    """They are taken over when a tokenizer is made, so one that was made with others is not given out."""
    stock = AutoTokenizer.from_pretrained(repository)
    usual = stock.padding_side
    other = "left" if usual == "right" else "right"
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(stock), "padding_side", other, raising=False)
            assert crayon_hf.AutoTokenizer.from_pretrained(repository).padding_side == other
        assert crayon_hf.AutoTokenizer.from_pretrained(repository).padding_side == usual
    assert opened == []
    assert crayon_hf.AutoTokenizer.from_pretrained(repository).padding_side == usual
    assert len(opened) == 1


def test_fresh_files_get_no_snapshot(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(snapshots.cache, "SETTLED_NS", 10**18)  # type: ignore[attr-defined]
    crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert not list(tmp_path.rglob("*.snapshot"))


def test_a_cache_that_cannot_be_written(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    ours = crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert plain(ours(TEXT)) == plain(AutoTokenizer.from_pretrained(repository)(TEXT))


def test_arguments_of_from_pretrained(repository: Path, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    shutil.copytree(repository, inner)
    for path, arguments in (
        (str(repository), {"use_fast": True}),
        (str(repository), {"additional_special_tokens": ["<extra>"]}),
        (str(repository), {"eos_token": "<end>"}),
        (str(repository), {"revision": "main", "trust_remote_code": False, "local_files_only": True}),
        (str(repository), {"split_special_tokens": True}),
        (str(tmp_path / "outer"), {"subfolder": "inner"}),
        (str(repository / "tokenizer.json"), {}),
        (str(tmp_path / "nowhere"), {}),
        (str(tmp_path), {}),
        (str(repository), {"tokenizer_type": "bert"}),
        (str(repository), {"tokenizer_type": "nothing"}),
        (3, {}),
    ):
        expected = outcome(lambda: state(AutoTokenizer.from_pretrained(path, **arguments)))  # noqa: B023
        assert outcome(lambda: state(crayon_hf.AutoTokenizer.from_pretrained(path, **arguments))) == expected  # noqa: B023
    with pytest.raises(OSError, match="designed to be instantiated"):
        crayon_hf.AutoTokenizer()


def test_crayon_tokenizer_fast(repository: Path, tmp_path: Path) -> None:
    stock = PreTrainedTokenizerFast.from_pretrained(repository)
    ours = crayon_hf.CrayonTokenizerFast.from_pretrained(repository)
    assert state(ours) == state(stock)
    assert plain(ours(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
    ours.backend_tokenizer.save(tmp_path / "tokenizer.dat")
    cartridge = crayon_hf.CrayonTokenizerFast.from_pretrained(tmp_path / "tokenizer.dat", eos_token="<end>")
    assert cartridge.eos_token == "<end>"
    assert cartridge(TEXT)["input_ids"] == stock(TEXT)["input_ids"]
    assert isinstance(
        crayon_hf.AutoTokenizer.from_pretrained(tmp_path / "tokenizer.dat"), crayon_hf.CrayonTokenizerFast
    )


def test_building_one(repository: Path) -> None:
    path = str(repository / "tokenizer.json")
    made = crayon_hf.CrayonTokenizerFast(tokenizer_file=path)
    twin = PreTrainedTokenizerFast(tokenizer_file=path)
    assert isinstance(made._tokenizer, crayon_hf.Tokenizer)
    assert plain(made(TEXT)) == plain(twin(TEXT))
    for backend in (twin._tokenizer, crayon_hf.Tokenizer.from_file(path)):
        other = crayon_hf.CrayonTokenizerFast(tokenizer_object=backend)
        assert isinstance(other._tokenizer, crayon_hf.Tokenizer)
        assert other(TEXT)["input_ids"] == twin(TEXT)["input_ids"]
    other._tokenizer = copy.deepcopy(twin._tokenizer)
    assert isinstance(other._tokenizer, crayon_hf.Tokenizer)
    assert isinstance(outcome(PreTrainedTokenizerFast), Raised)
    assert outcome(crayon_hf.CrayonTokenizerFast) == outcome(PreTrainedTokenizerFast)


def test_a_class_derived_from_ours(repository: Path) -> None:
    class Mine(crayon_hf.CrayonTokenizerFast):  # type: ignore[misc, name-defined]
        def shout(self, text: str) -> Any:
            return self(text.upper())

    mine = Mine.from_pretrained(repository)
    stock = PreTrainedTokenizerFast.from_pretrained(repository)
    assert type(mine) is Mine
    assert isinstance(mine._tokenizer, crayon_hf.Tokenizer)
    assert plain(mine.shout("abc")) == plain(stock("ABC"))


def test_install(repository: Path) -> None:
    before = AutoTokenizer.__dict__["from_pretrained"]
    try:
        crayon_hf.install()
        crayon_hf.install()
        assert isinstance(AutoTokenizer.from_pretrained(repository), crayon_hf.CrayonTokenizerFast)
        assert isinstance(crayon_hf.AutoTokenizer.from_pretrained(repository), crayon_hf.CrayonTokenizerFast)
        assert AutoTokenizer.from_pretrained.__doc__ == before.__func__.__doc__
    finally:
        crayon_hf.uninstall()
    crayon_hf.uninstall()
    assert AutoTokenizer.__dict__["from_pretrained"] is before
    assert not isinstance(AutoTokenizer.from_pretrained(repository), crayon_hf.CrayonTokenizerFast)


@since((0, 23), "copies no DecodeStream")
def test_installed_decode_stream(repository: Path) -> None:
    before = decoders.DecodeStream
    stock = AutoTokenizer.from_pretrained(repository)
    ours = crayon_hf.AutoTokenizer.from_pretrained(repository)
    ids = stock(TEXT)["input_ids"]

    def chunks(kind: Any, tokenizer: Any, *arguments: Any) -> list[Any]:
        stream = kind(*arguments)
        said = [stream.step(tokenizer._tokenizer, id) for id in ids]
        twin = copy.deepcopy(copy.copy(stream))
        return [*said, *(twin.step(tokenizer._tokenizer, id) for id in ids), stream.step(tokenizer._tokenizer, ids[0])]

    crayon_hf.install()
    try:
        both = decoders.DecodeStream
        assert both is not before
        for arguments in ((), ([], True), (ids[:3], False), (None, None)):
            expected = chunks(before, stock, *arguments)
            assert chunks(both, ours, *arguments) == expected
            assert chunks(both, stock, *arguments) == expected
        assert repr(both()).startswith("<tokenizers.decoders.DecodeStream object at 0x")
        for wrong in (
            lambda kind: kind(5),
            lambda kind: kind([], "yes"),
            lambda kind: kind(no=1),
            lambda kind: kind().step(None, 1),
            lambda kind: kind().step(stock._tokenizer, "x"),
            lambda kind: pickle.dumps(kind()),
        ):
            assert isinstance(outcome(lambda: wrong(both)), Raised)  # noqa: B023
            assert outcome(lambda: wrong(both)).kind is outcome(lambda: wrong(before)).kind  # noqa: B023
        stream = both()
        stream.step(ours._tokenizer, ids[0])
        with pytest.raises(TypeError, match="another kind of tokenizer than Tokenizer"):
            stream.step(stock._tokenizer, ids[1])
    finally:
        crayon_hf.uninstall()
    assert decoders.DecodeStream is before


@pytest.mark.concurrency
def test_install_in_threads(repository: Path) -> None:
    before = AutoTokenizer.__dict__["from_pretrained"]

    def turn() -> None:
        for _ in range(200):
            crayon_hf.install()
            crayon_hf.uninstall()

    threads = [threading.Thread(target=turn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert AutoTokenizer.__dict__["from_pretrained"] is before


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import crayon_hf, transformers",
        "import transformers, crayon_hf",
        "import transformers.models.auto.tokenization_auto, crayon_hf, transformers",
    ],
)
def test_registered_name(repositories: dict[str, Path], tmp_path: Path, imports: str) -> None:
    directory = tmp_path / "named"
    shutil.copytree(repositories["byte_level"], directory)
    config = json.loads((directory / "tokenizer_config.json").read_text())
    config["tokenizer_class"] = "CrayonTokenizerFast"
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    program = (
        f"{imports}\n"
        "import sys\n"
        f"tokenizer = transformers.AutoTokenizer.from_pretrained({str(directory)!r})\n"
        "assert isinstance(tokenizer, crayon_hf.CrayonTokenizerFast), type(tokenizer)\n"
        "assert transformers.CrayonTokenizerFast is crayon_hf.CrayonTokenizerFast\n"
        "waiting = [finder.module for finder in sys.meta_path if 'crayon' in type(finder).__module__]\n"
        "assert waiting == ['datasets.utils._dill'], waiting\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})


def test_import_brings_neither_transformers_nor_torch() -> None:
    program = "import sys, crayon_hf; print([name for name in ('transformers', 'torch') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_slow_repository(tmp_path: Path, training_text: list[str]) -> None:
    spm = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf", reason="transformers reads the models with it")
    (tmp_path / "text").write_text("\n".join(training_text[:200]), encoding="utf-8")
    repository = tmp_path / "slow"
    repository.mkdir()
    spm.SentencePieceTrainer.train(
        input=str(tmp_path / "text"), model_prefix=str(repository / "tokenizer"), vocab_size=520, model_type="bpe",
        byte_fallback=True, hard_vocab_limit=False, minloglevel=2, character_coverage=0.99,
    )  # fmt: skip
    (repository / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')
    stock = AutoTokenizer.from_pretrained(repository)
    ours = crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert isinstance(ours._tokenizer, crayon_hf.Tokenizer)
    assert type(ours).__name__ == type(stock).__name__
    for text in (TEXT, "", "敏捷的棕色 🙂"):
        assert plain(ours(text)) == plain(stock(text))


def test_delegated(repository: Path, settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> bytes:
        raise crayon_hf.UnsupportedError("a component of this test")

    stock = AutoTokenizer.from_pretrained(repository)
    monkeypatch.setattr(crayon_hf._core, "compile_tokenizer_json", refuse)
    for _ in range(2):
        with pytest.warns(crayon_hf.DelegatedWarning, match="of this test"):
            ours = crayon_hf.AutoTokenizer.from_pretrained(repository)
        assert ours._tokenizer.engine == "delegated"
        for inputs in ((TEXT,), ([TEXT, "a"],), (TEXT, TEXT), ([TEXT, "a"], ["b", TEXT])):
            for arguments in ({}, {"padding": True, "return_tensors": "np"}, {"truncation": True, "max_length": 6}):
                assert plain(ours(*inputs, **arguments)) == plain(stock(*inputs, **arguments))
        ids = stock(TEXT)["input_ids"]
        assert ours.decode([*ids, 10**6]) == stock.decode([*ids, 10**6])
        assert ours.batch_decode([ids]) == stock.batch_decode([ids])


def test_python_tokenizers_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"<pad>": 0, "<unk>": 1, "|": 2, "a": 3}))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "Wav2Vec2CTCTokenizer"}')
    ours = crayon_hf.AutoTokenizer.from_pretrained(tmp_path)
    assert type(ours) is transformers.Wav2Vec2CTCTokenizer
