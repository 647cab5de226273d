"""Opening tokenizers for transformers: the resulting class, snapshots (cached results of opening), `install`, and the
registered class name."""

from __future__ import annotations

import copy
import functools
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, BertConfig, LlamaConfig, PreTrainedTokenizerFast

import crayon_hf
from crayon_hf.transformers import loading, snapshots
from crayon_hf.transformers.classes import class_for
from tests.support.sentencepiece_models import trained
from tests.support.versions import since
from tests.transformers.comparing import outcome, plain

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu"


def state(tokenizer: Any) -> dict[str, str]:
    """Every attribute of a tokenizer except its backend."""
    deferred = vars(tokenizer).get("_crayon_deferred")
    attributes = vars(tokenizer) | (deferred.values() if deferred else {})
    return {key: repr(value) for key, value in attributes.items() if key not in ("_tokenizer", "_crayon_deferred")}


def test_the_class_is_that_of_transformers(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    assert isinstance(ours, type(stock))
    assert isinstance(ours, PreTrainedTokenizerFast)
    assert isinstance(ours, crayon_hf.CrayonTokenizerFast)
    assert type(ours).__name__ == type(stock).__name__
    assert type(ours).__module__ == type(stock).__module__
    assert type(ours) in [type(stock)]
    assert type(stock) in [type(ours)]
    assert type(ours) in {type(stock)}
    assert type(ours) not in [crayon_hf.CrayonTokenizerFast, transformers.AutoTokenizer, None, "x"]
    assert isinstance(ours._tokenizer, crayon_hf.Tokenizer)
    assert ours.backend_tokenizer is ours._tokenizer
    assert ours.is_fast
    assert repr(ours) == repr(stock)
    assert len(ours) == len(stock)
    assert "Crayon" in repr(type(ours))
    theirs = state(stock)
    assert {key: value for key, value in state(ours).items() if theirs.get(key) != value} == {}


@pytest.mark.skipif(not hasattr(os, "pread"), reason="no file can be held open here")
def test_the_cache_may_go(
    repository: Path, settled: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(snapshots, "_LARGE", 20)  # more than the special tokens of transformers 4
    stock = AutoTokenizer.from_pretrained(repository)
    load = crayon_hf.AutoTokenizer.from_pretrained
    uses: list[Any] = [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), lambda t: t]
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
    """A repository whose class builds nothing of its own."""
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
    shutil.rmtree(directory)  # the tokenizer no longer needs its files
    saved = first.save_pretrained(tmp_path / "saved")
    assert plain(AutoTokenizer.from_pretrained(tmp_path / "saved")(TEXT)) == plain(stock(TEXT)), saved


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


def replaced(kind: str) -> tuple[Any, str, Any]:
    """A replacement of transformers' code by a program: (object, attribute, new value). One kind of code comes from a
    string."""
    names: dict[str, Any] = {"init": PreTrainedTokenizerFast.__init__}
    exec("def own_init(self, *args, **kwargs):\n    init(self, *args, **kwargs)", names)

    def wrapped(original: Any) -> Any:
        return functools.wraps(original)(lambda *arguments, **keywords: original(*arguments, **keywords))

    base: Any = transformers.tokenization_utils_base
    standing = type("Standing", (), {"__getattr__": lambda _, name: getattr(json, name)})
    inner: Any = PreTrainedTokenizerFast._from_pretrained
    kinds: dict[str, tuple[Any, str, Any]] = {
        "class method": (PreTrainedTokenizerFast, "_from_pretrained", classmethod(wrapped(inner.__func__))),
        "function": (base, "cached_file", functools.partial(wrapped(base.cached_file))),
        "string": (PreTrainedTokenizerFast, "__init__", names["own_init"]),
        "module": (base, "json", standing()),
    }
    return kinds[kind]


@pytest.mark.parametrize("kind", ["class method", "function", "string", "module"])
def test_replaced_code_of_transformers_has_no_part_in_snapshots(
    repository: Path, settled: Path, opened: list[Any], kind: str
) -> None:
    """Results of replaced code are not kept as snapshots, and replaced code gets no snapshot of the original code."""
    load = crayon_hf.AutoTokenizer.from_pretrained
    owner, name, value = replaced(kind)
    for before in (False, True):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(owner, name, value, raising=False)
            load(repository)
        assert len(list((settled / "transformers").glob("*.snapshot"))) == before
        assert opened == []
        if not before:
            load(repository)  # the original code makes a snapshot
    assert plain(load(repository)(TEXT)) == plain(AutoTokenizer.from_pretrained(repository)(TEXT))
    assert len(opened) == 1


def test_snapshots_know_the_values_of_classes(repository: Path, settled: Path, opened: list[Any]) -> None:
    """A tokenizer copies values of its class when it is made. So a snapshot made with other values is not used."""
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
        for arguments in ((), ([], True), (ids[:3], False), (None, None)):
            expected = chunks(before, stock, *arguments)
            assert chunks(both, ours, *arguments) == chunks(both, stock, *arguments) == expected
        for wrong in ((5,), ([], "yes")):
            with pytest.raises(TypeError):
                both(*wrong)
        stream = both()
        stream.step(ours._tokenizer, ids[0])
        with pytest.raises(TypeError, match="another kind"):
            stream.step(stock._tokenizer, ids[1])
    finally:
        crayon_hf.uninstall()
    assert decoders.DecodeStream is before


@pytest.mark.slow
@pytest.mark.parametrize("imports", ["import crayon_hf, transformers", "import transformers, crayon_hf"])
def test_registered_name(repositories: dict[str, Path], tmp_path: Path, imports: str) -> None:
    directory = plain_repository(tmp_path / "named", repositories, tokenizer_class="CrayonTokenizerFast")
    program = (
        f"{imports}\n"
        "import sys\n"
        f"tokenizer = transformers.AutoTokenizer.from_pretrained({str(directory)!r})\n"
        "assert isinstance(tokenizer, crayon_hf.CrayonTokenizerFast), type(tokenizer)\n"
        "assert transformers.CrayonTokenizerFast is crayon_hf.CrayonTokenizerFast\n"
        "waiting = [finder.module for finder in sys.meta_path if 'crayon' in type(finder).__module__]\n"
        "assert {*waiting, 'dill'} == {'datasets.utils._dill', 'dill'}, waiting\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})


def test_delegated(repository: Path, settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> bytes:
        raise crayon_hf.UnsupportedError("a component of this test")

    stock = AutoTokenizer.from_pretrained(repository)
    monkeypatch.setattr(crayon_hf._core, "compile_tokenizer_json", refuse)
    for _ in range(2):
        with pytest.warns(crayon_hf.DelegatedWarning, match="of this test"):
            ours = crayon_hf.AutoTokenizer.from_pretrained(repository)
        report = ours.engine_report()
        assert (report["engine"], report["origin"], report["cartridge"]) == ("delegated", None, None)
        assert "of this test" in report["reason"]
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


def test_target_mode_classes(tmp_path: Path, repositories: dict[str, Path]) -> None:
    """Classes that switch the post-processor for targets (NLLB) do not use the fast paths."""
    config = json.loads((repositories["t5"] / "tokenizer_config.json").read_text())
    kept = {key: config[key] for key in ("eos_token", "unk_token", "pad_token")}
    kept.update(tokenizer_class="MBart50Tokenizer", src_lang="en_XX", tgt_lang="ro_RO")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(kept))
    (tmp_path / "tokenizer.json").write_bytes((repositories["t5"] / "tokenizer.json").read_bytes())
    stock = AutoTokenizer.from_pretrained(tmp_path)
    ours = crayon_hf.AutoTokenizer.from_pretrained(tmp_path)
    assert not ours._crayon_plain_calls
    for arguments in ({"text": TEXT}, {"text": TEXT, "text_target": TEXT}, {"text_target": [TEXT, "a"]}):
        assert plain(ours(**arguments)) == plain(stock(**arguments))


NUMBERS = "w17 w99999 unknown w3"


@pytest.fixture
def mistral(tmp_path: Path) -> Path:
    """A repository that transformers takes for one of Mistral's with a wrong pattern."""
    backend = Tokenizer(models.WordLevel({f"w{id}": id for id in range(100_001)}, unk_token="w0"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)  # BertTokenizerFast of transformers 4 inspects it
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    home = tmp_path / "mistral"
    home.mkdir()
    backend.save(str(home / "tokenizer.json"))
    (home / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    (home / "config.json").write_text(json.dumps({"model_type": "mistral", "transformers_version": "4.50.0"}))
    return home


def test_a_flag_on_the_backend(
    mistral: Path, settled: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.getLogger("transformers").addHandler(caplog.handler)
    stock = AutoTokenizer.from_pretrained(mistral)
    warned = caplog.messages[:]
    assert "incorrect regex" in "".join(warned)
    assert (vars(stock) | vars(stock.backend_tokenizer))["fix_mistral_regex"] is False  # transformers 4: on itself
    first = crayon_hf.AutoTokenizer.from_pretrained(mistral)
    caplog.clear()
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives the second
    second = crayon_hf.AutoTokenizer.from_pretrained(mistral)
    assert caplog.messages == warned
    for ours in (first, second):
        assert vars(ours.backend_tokenizer) == vars(stock.backend_tokenizer)
        assert ours(NUMBERS) == stock(NUMBERS)


def test_a_configuration_that_is_given(
    mistral: Path, settled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A model's configuration may be passed at each opening, as vLLM does; snapshots give the same."""
    opening = crayon_hf.AutoTokenizer.from_pretrained
    (mistral / "tokenizer_config.json").unlink()  # so that the configuration decides the class
    (mistral / "config.json").unlink()
    plain: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    configurations = [LlamaConfig(**plain), BertConfig()]
    stock = [AutoTokenizer.from_pretrained(mistral, config=config) for config in configurations]
    assert type(stock[0]) is not type(stock[1])
    for config in configurations:
        opening(mistral, config=config)
    monkeypatch.setattr(loading, "adopt", None)  # only snapshots give these
    for config, expected in zip(configurations, stock, strict=True):
        ours = opening(mistral, config=config)
        assert isinstance(ours, type(expected))
        assert ours.get_vocab() == expected.get_vocab()
    with pytest.raises(TypeError, match="NoneType"):
        opening(mistral, config=LlamaConfig(**plain, vocab_size=7))


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "tokenizer.dat"}


@pytest.mark.parametrize("count", [7, 1024])
def test_extra_special_tokens(
    repository: Path, settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A tokenizer with any number of extra special tokens is restored from a snapshot. Florence-2 has 1,000 for
    locations."""
    stock = AutoTokenizer.from_pretrained(repository)
    of_4 = "additional_special_tokens"
    named = of_4 if of_4 in stock.SPECIAL_TOKENS_ATTRIBUTES else "extra_special_tokens"
    stock.add_special_tokens({named: [f"<loc_{number}>" for number in range(count)]})
    saved = tmp_path / "saved"
    stock.save_pretrained(saved)
    stock = AutoTokenizer.from_pretrained(saved)
    first = crayon_hf.AutoTokenizer.from_pretrained(saved)
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives the second
    second = crayon_hf.AutoTokenizer.from_pretrained(saved)
    stock.save_pretrained(tmp_path / "stock")
    for number, ours in enumerate((first, second, pickle.loads(pickle.dumps(second)), copy.copy(second))):
        assert getattr(ours, named) == getattr(stock, named)
        assert len(getattr(ours, named)) >= count
        assert ours.special_tokens_map == stock.special_tokens_map
        assert ours.all_special_ids == stock.all_special_ids
        ours.save_pretrained(tmp_path / str(number))
        assert files(tmp_path / str(number)) == files(tmp_path / "stock")


@pytest.mark.parametrize("name", ["AlbertTokenizer", "FNetTokenizer"])
def test_only_a_model_file(
    name: str, settled: Path, tmp_path: Path, training_text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository with only a SentencePiece model is restored from a snapshot, though its classes store the rules of
    the normalizer as bytes."""
    pytest.importorskip("sentencepiece")
    kind = getattr(transformers, name if hasattr(transformers, "TokenizersBackend") else f"{name}Fast")
    home = tmp_path / "home"
    home.mkdir()
    symbols = ["[CLS]", "[SEP]", "<pad>", "[MASK]"]
    (home / "spiece.model").write_bytes(trained(training_text, vocab_size=300, user_defined_symbols=symbols))
    stock = kind.from_pretrained(home)
    ours: Any = class_for(kind)
    first = ours.from_pretrained(home)
    monkeypatch.setattr(loading, "adopt", None)  # only a snapshot gives the second
    second = ours.from_pretrained(home)
    stock.save_pretrained(tmp_path / "stock")
    for number, tokenizer in enumerate((first, second)):
        assert tokenizer("\uff34he déjà w3").input_ids == stock("\uff34he déjà w3").input_ids
        tokenizer.save_pretrained(tmp_path / str(number))
        assert files(tmp_path / str(number)) == files(tmp_path / "stock")
