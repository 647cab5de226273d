"""The same script on `tokenizers.Tokenizer` and on ours gives the same, for everything that the class has."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
import sys
import types
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

import crayon_hf
from crayon_hf import DelegatedWarning, Tokenizer
from tests.support.stand_in_cases import CORPUS, KINDS, TEXTS, fields, outcome, plain, trained
from tests.support.versions import IS_BESIDE_1, before_1, since

pytestmark = pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")


def both(kind: str) -> tuple[tokenizers.Tokenizer, Tokenizer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DelegatedWarning)
        return tokenizers.Tokenizer.from_str(trained(kind)), Tokenizer.from_str(trained(kind))


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[tokenizers.Tokenizer, Tokenizer]:
    return both(request.param)


def check(reference: Any, ours: Any) -> None:
    """Hold two tokenizers against each other in everything but saving."""
    for text in TEXTS:
        for add_special_tokens in (True, False):
            expected = fields(reference.encode(text, add_special_tokens=add_special_tokens))
            assert fields(ours.encode(text, add_special_tokens=add_special_tokens)) == expected, text
    assert fields(ours.encode(*TEXTS[2:4])) == fields(reference.encode(*TEXTS[2:4]))
    batch = [*TEXTS, TEXTS[2:4]]
    assert plain(ours.encode_batch(batch)) == plain(reference.encode_batch(batch))
    ids = reference.encode(TEXTS[3]).ids
    for skip in (True, False):
        assert ours.decode(ids, skip) == reference.decode(ids, skip)
        assert ours.decode_batch([ids, []], skip) == reference.decode_batch([ids, []], skip)
    for with_added_tokens in (True, False):
        assert ours.get_vocab(with_added_tokens) == reference.get_vocab(with_added_tokens)
        assert ours.get_vocab_size(with_added_tokens) == reference.get_vocab_size(with_added_tokens)
    assert plain(ours.get_added_tokens_decoder()) == plain(reference.get_added_tokens_decoder())
    for is_pair in (True, False):
        assert ours.num_special_tokens_to_add(is_pair) == reference.num_special_tokens_to_add(is_pair)
    for name in ("truncation", "padding", "encode_special_tokens"):
        assert getattr(ours, name) == getattr(reference, name)
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        assert type(getattr(ours, name)).__name__ == type(getattr(reference, name)).__name__
        assert IS_BESIDE_1 or type(getattr(ours, name)) is type(getattr(reference, name))
        assert plain(getattr(ours, name)) == plain(getattr(reference, name))


def check_saving(reference: Any, ours: Any) -> None:
    for pretty in (False, True):
        assert ours.to_str(pretty) == reference.to_str(pretty)
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), copy.copy(ours)):
        assert twin.to_str() == ours.to_str()
        assert plain(twin.encode_batch(list(TEXTS))) == plain(ours.encode_batch(list(TEXTS)))


def test_names():
    missing = [name for name in dir(tokenizers.Tokenizer) if not hasattr(Tokenizer, name)]
    assert missing == []


def test_signatures():
    for name in dir(tokenizers.Tokenizer):
        text = getattr(getattr(tokenizers.Tokenizer, name), "__text_signature__", None)
        if name.startswith("_") or text is None:
            continue
        expected = [part.split("=") for part in re.sub(r"[\s()\"']", "", text).split(",")]
        parameters = inspect.signature(getattr(Tokenizer, name)).parameters.values()
        for (argument, *default), parameter in zip(expected, parameters, strict=False):
            assert parameter.name == argument, name
            assert [str(parameter.default)] == default or (not default and parameter.default is parameter.empty)
        assert len(parameters) >= len(expected)
        assert all(
            more.default is not more.empty or more.kind is more.VAR_KEYWORD
            for more in list(parameters)[len(expected) :]
        )


def test_from_pretrained(monkeypatch, tmp_path):
    (tmp_path / "tokenizer.json").write_text(trained("unigram"), encoding="utf-8")
    asked: list[dict[str, Any]] = []

    def hf_hub_download(**arguments: Any) -> str:
        if arguments["filename"] == "tokenizer.dat":
            raise FileNotFoundError("no cartridge")
        asked.append(arguments)
        return str(tmp_path / "tokenizer.json")

    client = types.SimpleNamespace(hf_hub_download=hf_hub_download, try_to_load_from_cache=lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)
    ours = Tokenizer.from_pretrained("someone/something", revision="v2", token="secret")
    check(tokenizers.Tokenizer.from_str(trained("unigram")), ours)
    Tokenizer.from_pretrained("someone/something")
    request = {"repo_id": "someone/something", "filename": "tokenizer.json"}
    assert asked == [request | {"revision": "v2", "token": "secret"}, request | {"revision": "main", "token": None}]


def test_as_loaded(pair):
    check(*pair)
    check_saving(*pair)


@pytest.mark.parametrize("kind", KINDS)
def test_made_of_the_library_s_objects(kind):
    reference = tokenizers.Tokenizer.from_str(trained(kind))
    ours = Tokenizer.from_tokenizers(reference)
    check(reference, ours)
    built, bare = Tokenizer(reference.model), tokenizers.Tokenizer(reference.model)
    for tokenizer in (built, bare):
        for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            setattr(tokenizer, name, getattr(reference, name))
        tokenizer.add_special_tokens(list(reference.get_added_tokens_decoder().values()))
    check(bare, built)
    check_saving(bare, built)


@pytest.mark.slow
def test_truncation_and_padding(pair):
    for truncation in ({"max_length": 6}, {"max_length": 9, "stride": 1, "direction": "left"}, {"max_length": 4}):
        for padding in ({}, {"direction": "left", "pad_id": 3, "pad_token": "<pad>"}, {"pad_to_multiple_of": 4}):
            for tokenizer in pair:
                tokenizer.enable_truncation(**truncation)
                tokenizer.enable_padding(**padding)
            check(*pair)
        check_saving(*pair)
    for tokenizer in pair:
        tokenizer.no_padding()
        tokenizer.no_truncation()
    check(*pair)


def test_settings_that_the_file_has(pair):
    reference = pair[0]
    reference.enable_truncation(7, stride=1, strategy="only_first", direction="left")
    reference.enable_padding(length=9, pad_id=2, pad_type_id=1, pad_token="é", pad_to_multiple_of=5)
    ours = Tokenizer.from_str(reference.to_str())
    assert (ours.truncation, ours.padding) == (reference.truncation, reference.padding)
    for text in TEXTS:
        assert fields(ours.encode(text)) == fields(reference.encode(text))
    assert ours.to_str() == reference.to_str()
    assert ours.count_tokens(TEXTS[3]) == len(pair[1].encode(TEXTS[3]).ids)


@pytest.mark.parametrize("offset", range(2))
def test_refused_settings(offset, pair):
    calls = [
        ("enable_truncation", {"max_length": value})
        for value in (-1, 2**64, 2**64 - 1, 1.5, None, "5", True, np.int64(4), 0)
    ]
    calls += [("enable_truncation", {"max_length": 8 + offset, "stride": value}) for value in range(5, 12)]
    calls += [("enable_truncation", {"max_length": 1, "stride": 5}), ("enable_truncation", {"stride": 1})]
    calls += [
        ("enable_truncation", {"max_length": 5, name: value})
        for name in ("stride", "strategy", "direction", "foo")
        for value in (None, -1, "x", "left", "only_second", "Right", "do_not_truncate")
    ]
    calls += [
        ("enable_padding", {name: value})
        for name in ("direction", "pad_id", "pad_type_id", "pad_token", "length", "max_length", "pad_to_multiple_of")
        for value in (None, -1, 0, 7, 2**32, 2**32 - 1, 2**64, "left", "Left", "é", 1.0, b"x")
    ]
    for name, arguments in calls:
        results = [outcome(partial(getattr(tokenizer, name), **arguments)) for tokenizer in pair]
        assert results[0] == results[1], (name, arguments)
        assert (pair[0].truncation, pair[0].padding) == (pair[1].truncation, pair[1].padding), (name, arguments)


def test_refused_arguments(pair):
    odd: list[Any] = [None, b"a", 1.5, -1, 2**40, "a", True, [1], ("a",), np.int64(1), 5, [5], [b"a"], ["\ud800"]]
    odd.append("\ud800")
    methods = (
        "token_to_id",
        "id_to_token",
        "get_vocab_size",
        "num_special_tokens_to_add",
        "add_tokens",
        "encode_batch",
    )
    for name in (*methods, "from_buffer", "to_str", "post_process", "encode"):
        for value in odd:
            results = [outcome(partial(getattr(tokenizer, name), value)) for tokenizer in pair]
            assert results[0] == results[1], (name, value)
    calls: list[tuple[str, tuple[Any, ...]]] = [("decode", ([1], value)) for value in (None, 1, "x", True)]
    calls += [("decode_batch", ([[1]], value)) for value in (None, 1, "x", False)]
    calls += [("encode", ("a", None, *flags)) for flags in ((None, True), (False, 1), (1, False), (False, np.bool_(1)))]
    calls += [("encode_batch", (["a"], *flags)) for flags in ((None, True), (False, 1), (1, False), (False, None))]
    for name, arguments in calls:
        results = [outcome(partial(getattr(tokenizer, name), *arguments)) for tokenizer in pair]
        assert results[0] == results[1], (name, arguments)
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model", "encode_special_tokens"):
        for value in (5, "x", normalizers.NFC() if name != "normalizer" else decoders.Fuse()):
            with pytest.raises(TypeError):
                setattr(pair[1], name, value)
    for value in ({"model": None}, {"truncation": {}}, {"padding": {}}):
        ((name, nothing),) = value.items()
        with pytest.raises((TypeError, AttributeError)):
            setattr(pair[1], name, nothing)
    check(*pair)


@since((0, 23), "decodes an added token as it was added, not as the normalizer spells it")
def test_added_tokens(pair):
    steps: list[tuple[str, list[Any]]] = [
        ("add_tokens", ["[NEW]", "newword", "[NEW]", ""]),
        ("add_tokens", ["[NEW]"]),
        ("add_special_tokens", ["[NEW]", AddedToken("xx", lstrip=True)]),
        ("add_tokens", [AddedToken("fox", single_word=True, normalized=False), "fox", "Zoë"]),
        ("add_tokens", [AddedToken("xx", rstrip=True, special=False)]),
        ("add_special_tokens", []),
        ("add_tokens", ["e\u0301", "狐", "QUICK", AddedToken("", special=True)]),
        ("add_special_tokens", [AddedToken(" over", normalized=True), "<s>", "</s>"]),
    ]
    for name, tokens in steps:
        counts = [getattr(tokenizer, name)(copy.deepcopy(tokens)) for tokenizer in pair]
        assert counts[0] == counts[1]
        check(*pair)
        for tokenizer in pair:
            tokenizer.encode_special_tokens = True
        check(*pair)
        for tokenizer in pair:
            tokenizer.encode_special_tokens = False
    assert pair[0].to_str() == pair[1].to_str()


def test_added_token_becomes_special_in_place(pair):
    for tokenizer in pair:
        token = AddedToken("new one")
        tokenizer.add_special_tokens([token])
        assert token.special
        assert not token.normalized


def test_components_are_set(pair):
    changes: list[tuple[str, Any]] = [
        ("normalizer", normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])),
        ("pre_tokenizer", pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])),
        ("decoder", decoders.Sequence([decoders.Replace("e", "E"), decoders.Fuse()])),
        ("post_processor", processors.BertProcessing(("</s>", 1), ("<s>", 0))),
        ("normalizer", None),
        ("decoder", None),
        ("pre_tokenizer", pre_tokenizers.Whitespace()),
        ("post_processor", None),
    ]
    for name, component in changes:
        for tokenizer in pair:
            setattr(tokenizer, name, component)
        check(*pair)
    check_saving(*pair)


def test_changing_an_object_changes_the_tokenizer():
    reference, ours = both("llama")
    for tokenizer in (reference, ours):
        tokenizer.normalizer[1].content = "_"
    check(reference, ours)
    held = [tokenizer.normalizer for tokenizer in (reference, ours)]
    check(reference, ours)
    for normalizer in held:
        normalizer[0].prepend = "*"
    check(reference, ours)
    given = [pre_tokenizers.Metaspace(), pre_tokenizers.Metaspace()]
    for tokenizer, pre_tokenizer in zip((reference, ours), given, strict=True):
        tokenizer.pre_tokenizer = pre_tokenizer
        pre_tokenizer.replacement = "*"
    check(reference, ours)
    check_saving(reference, ours)
    del held, given, normalizer, pre_tokenizer
    ours.encode("x")
    assert ours._state.is_idle


def test_changing_a_model_changes_the_tokenizer():
    reference, ours = both("llama")
    ours.encode(TEXTS[4])
    for tokenizer in (reference, ours):  # before the reference has encoded: its cache outlives the change
        tokenizer.model.unk_token = None
        tokenizer.model.byte_fallback = False
        tokenizer.model.ignore_merges = True
    check(reference, ours)
    check_saving(reference, ours)
    assert ours.model.ignore_merges is True  # type: ignore[attr-defined]


def test_dropout():
    reference, ours = both("byte_level")
    for tokenizer in (reference, ours):
        tokenizer.model.dropout = 1.0
    assert ours.encode(TEXTS[3]).ids == reference.encode(TEXTS[3]).ids
    for tokenizer in (reference, ours):
        tokenizer.model.dropout = 0.1
    assert ours.to_str() == reference.to_str()


def test_another_model(pair):
    vocab = {"<unk>": 0, "the": 1, "fox": 2, "[NEW]": 3, "newword": 4}
    for tokenizer in pair:
        tokenizer.add_tokens(["[NEW]"])
        tokenizer.post_processor = None
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.model = models.WordLevel(vocab, unk_token="<unk>")
        assert tokenizer.add_tokens(["another", "fox"]) == 2
    reference, ours = pair
    assert ours.encode("the fox, another zebra").ids == reference.encode("the fox, another zebra").ids
    assert plain(ours.get_added_tokens_decoder()) == plain(reference.get_added_tokens_decoder())
    assert type(ours.model).__name__ == "WordLevel"


@pytest.mark.parametrize(
    ("model", "trainer"),
    [
        (models.BPE, trainers.BpeTrainer),
        (models.WordPiece, trainers.WordPieceTrainer),
        (models.WordLevel, trainers.WordLevelTrainer),
    ],
)
def test_training(model, trainer, tmp_path):
    reference, ours = tokenizers.Tokenizer(model()), Tokenizer(model())
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(CORPUS), encoding="utf-8")
    trainings = (
        lambda tokenizer: tokenizer.train_from_iterator(
            [CORPUS[0], list(CORPUS[1:])], trainer(vocab_size=150, **options), length=4
        ),
        lambda tokenizer: tokenizer.train([str(path)], trainer(vocab_size=90, **options)),
    )
    options = {"special_tokens": ["<unk>", "[NEW]"], "show_progress": False}
    for tokenizer in (reference, ours):
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.add_tokens(["<unk>"])
    for train in trainings:
        for tokenizer in (reference, ours):
            train(tokenizer)
            tokenizer.model.unk_token = "<unk>"
        if model is models.WordPiece:  # two trainings of the reference give two vocabularies
            assert ours.get_vocab_size() == reference.get_vocab_size()
        else:
            assert ours.to_str() == reference.to_str()
        check(tokenizers.Tokenizer.from_str(ours.to_str()), ours)
    before = ours.to_str()
    with pytest.raises(TypeError):
        ours.train_from_iterator([5], trainer(**options))
    assert ours.to_str() == before


def test_post_process(pair):
    for tokenizer in pair:
        tokenizer.enable_truncation(9, stride=1)
        tokenizer.enable_padding(length=12)
    results = []
    for tokenizer in pair:
        bare = copy.deepcopy(tokenizer)
        bare.no_truncation()
        bare.no_padding()
        first, second = (bare.encode(text, add_special_tokens=False) for text in TEXTS[2:4])
        results.append(
            [
                fields(tokenizer.post_process(*arguments))
                for arguments in ((first,), (first, second), (first, None, False), (second, first, False))
            ]
        )
    assert results[0] == results[1]
    with pytest.raises(TypeError):
        pair[1].post_process(5)


def test_numpy(pair):
    words = np.array(["a", "fox"], dtype=object)
    batches: list[tuple[Any, bool]] = [
        ([words], False),
        ([words], True),
        ([(words, ["x"])], True),
        (words, False),
        (np.array(["a", "fox"]), False),
        (np.array([["a", "b"], ["c", "d"]]), False),
        ([["a", np.str_("b")]], False),
        ([], False),
        ([[]], True),
        ([["a", "b"]], True),
        ([("a", "b")], False),
        ([np.array(["a", "b", "c"])], False),
        ([["a", "b", "c"]], False),
        ([[]], False),
        ("ab", False),
        ({"a": 1}, False),
    ]
    for batch, is_pretokenized in batches:
        results = [outcome(partial(t.encode_batch, batch, is_pretokenized=is_pretokenized)) for t in pair]
        assert results[0] == results[1], batch
    assert fields(pair[1].encode(words, is_pretokenized=True)) == fields(pair[0].encode(words, is_pretokenized=True))
    for ids in (np.array([]), np.array([1, 2]), [np.int64(1)], range(2), (1,), [True]):
        assert pair[1].decode(ids) == pair[0].decode(ids)
        assert pair[1].decode_batch([ids]) == pair[0].decode_batch([ids])


def test_unknown_ids(pair):
    reference, ours = pair
    for ids in ([1, 10**6, 5], (2**32 - 1, 5), np.array([10**6, 1]), np.array([1, 10**6], np.uint64), [10**6]):
        assert ours.decode(ids) == ours.decode(ids, True, "skip") == reference.decode(ids)
        assert ours.decode_batch([ids, [5], []]) == reference.decode_batch([ids, [5], []])
        with pytest.raises(crayon_hf.TokenIdError):
            ours.decode(ids, unknown_ids="error")
        with pytest.raises(crayon_hf.TokenIdError):
            ours.decode_batch([[5], ids], unknown_ids="error")
    for ids in ([1, -1], [2**32], [2**70], np.array([-1]), [1, np.int64(2**40)]):
        for tokenizer in pair:
            with pytest.raises(OverflowError):
                tokenizer.decode(ids)
            with pytest.raises(OverflowError):
                tokenizer.decode_batch([[5], ids])
    for call in (ours.decode, ours.decode_batch):
        with pytest.raises(ValueError, match="unknown_ids"):
            call([], unknown_ids="maybe")


def test_bytes_are_asked_for(pair):
    with pytest.raises(TypeError, match="data is str, expected bytes"):
        pair[1].encode_bytes("secret")


@before_1("components written in Python")
def test_a_component_written_in_python():
    class Upper:
        def normalize(self, normalized: tokenizers.NormalizedString) -> None:
            normalized.uppercase()

    reference, ours = both("word_piece")
    for tokenizer in (reference, ours):
        tokenizer.normalizer = normalizers.Normalizer.custom(Upper())
        tokenizer.enable_truncation(9)
    for text in TEXTS:
        assert fields(ours.encode(text)) == fields(reference.encode(text))
    assert "normalizer" in ours.engine_report()["reason"]
    for call in (ours.to_str, lambda: pickle.dumps(ours)):
        with pytest.raises(crayon_hf.UnsupportedError, match="normalizer"):
            call()
    for tokenizer in (reference, ours):
        tokenizer.normalizer = None
    check(reference, ours)


@since((0, 23), "decodes an added token as it was added, not as the normalizer spells it")
def test_saved_files(pair, tmp_path):
    for number, tokenizer in enumerate(pair):
        tokenizer.add_tokens(["[NEW]"])
        tokenizer.enable_padding(length=5)
        tokenizer.save(str(tmp_path / f"{number}.json"))
        tokenizer.save(str(tmp_path / f"{number}.compact.json"), pretty=False)
    for name in ("json", "compact.json"):
        assert (tmp_path / f"1.{name}").read_bytes() == (tmp_path / f"0.{name}").read_bytes()
    ours = pair[1]
    if ours.engine == "native":
        ours.save(tmp_path / "x.dat")
        again = Tokenizer.from_file(tmp_path / "x.dat")
        assert again.padding == ours.padding
        assert again.to_str() == ours.to_str()
        check(pair[0], again)


def test_copies_go_their_own_ways(pair):
    ours = pair[1]
    twins = [copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))]
    for twin in twins:
        twin.enable_padding(length=20)
        twin.add_tokens(["[NEW]"])
        twin.normalizer = None
    check(*pair)


def test_state_methods(pair):
    reference, ours = pair
    assert ours.__getstate__() == reference.__getstate__()
    assert plain(ours.__getnewargs__()) == plain(reference.__getnewargs__())
    empty = Tokenizer(models.BPE())
    empty.__setstate__(reference.__getstate__())
    check(reference, empty)
    ours.anything = 5
    assert ours.anything == 5
    assert json.loads(Tokenizer(models.BPE()).to_str()) == json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
