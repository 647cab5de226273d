"""Changing a tokenizer: what it costs, who notices, and what happens when it fails."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from crayon_hf import DelegatedWarning, Tokenizer, UnsupportedError, _core
from tests.support.stand_in_cases import TEXTS, fields, plain, trained
from tests.support.versions import before_1

pytestmark = pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")


@pytest.fixture
def ours():
    return Tokenizer.from_str(trained("byte_level"))


def test_nothing_is_made_before_it_is_used(monkeypatch):
    made = []
    monkeypatch.setattr(_core, "compile_tokenizer_json", lambda *_: made.append(1))
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    assert tokenizer.add_tokens(["b", "a"]) == 2
    tokenizer.enable_padding(length=3)
    assert not made


def test_an_object_that_nobody_holds_costs_nothing(ours):
    assert ours.pre_tokenizer.add_prefix_space is False
    ours.encode("x")
    engine = ours._engine
    assert engine is not None
    held = ours.pre_tokenizer
    ours.encode("x")
    assert ours._engine is None
    assert ours.pre_tokenizer is held
    del held
    ours.encode("x")
    assert ours._engine is engine


def test_an_object_that_two_tokenizers_share(ours):
    other = Tokenizer.from_str(trained("byte_level"))
    other.pre_tokenizer = ours.pre_tokenizer
    other.pre_tokenizer.add_prefix_space = True
    assert ours.encode("fox").tokens == other.encode("fox").tokens
    assert ours.encode("fox").tokens[0].startswith("Ġ")
    other.pre_tokenizer = None
    ours.encode("fox")
    assert ours._engine is not None


def test_from_tokenizers_wants_one(ours):
    with pytest.raises(TypeError, match="reference is int"):
        Tokenizer.from_tokenizers(5)
    reference = tokenizers.Tokenizer(models.BPE())
    reference.normalizer = normalizers.Normalizer.custom(object())
    with pytest.raises(UnsupportedError, match="Custom"):
        Tokenizer.from_tokenizers(reference)


def test_the_same_view_is_not_made_twice(ours):
    ours.add_tokens(["[NEW]"])
    ours.encode("x")
    engine = ours._engine
    assert ours.add_tokens(["[NEW]"]) == 0
    held = ours.decoder
    ours.encode("x")
    del held
    ours.encode("x")
    assert ours._engine is engine


def test_a_refused_change_changes_nothing(ours):
    before = ours.to_str()
    expected = plain(ours.encode_batch(list(TEXTS)))
    calls = (
        lambda: ours.add_tokens(["ok", 5]),
        lambda: ours.add_special_tokens("ok"),
        lambda: setattr(ours, "normalizer", 5),
        lambda: setattr(ours, "model", None),
        lambda: setattr(ours, "encode_special_tokens", 1),
        lambda: setattr(ours, "truncation", {}),
        lambda: ours.enable_truncation(5, stride=7),
        lambda: ours.enable_padding(direction="up"),
        lambda: ours.train_from_iterator(5),
        lambda: ours.train(["/no/such/file"]),
    )
    for call in calls:
        with pytest.raises(Exception):  # noqa: B017, PT011 - the library raises Exception itself for a missing file
            call()
    assert ours.to_str() == before
    assert plain(ours.encode_batch(list(TEXTS))) == expected


@pytest.mark.concurrency
def test_threads_that_encode_see_one_state_or_the_other(ours):
    text = "The quick brown fox [NEW] " * 20
    changed = Tokenizer.from_str(ours.to_str())
    changed.add_tokens(["[NEW]"])
    changed.normalizer = normalizers.Lowercase()
    half = Tokenizer.from_str(ours.to_str())
    half.add_tokens(["[NEW]"])
    allowed = [ours.encode(text).ids, half.encode(text).ids, changed.encode(text).ids]
    wrong, stop = [], threading.Event()

    def encode() -> None:
        while not stop.is_set():
            ids = ours.encode(text).ids
            if ids not in allowed:
                wrong.append(ids)

    threads = [threading.Thread(target=encode) for _ in range(4)]
    for thread in threads:
        thread.start()
    ours.add_tokens(["[NEW]"])
    for _ in range(50):
        ours.normalizer = normalizers.Lowercase()
        ours.normalizer = None
    ours.normalizer = normalizers.Lowercase()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert ours.encode(text).ids == allowed[2]


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_fork_while_others_change(ours):
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            ours.normalizer = normalizers.Lowercase()
            ours.encode("x")

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                ours.normalizer = None
                os._exit(0 if ours.encode("fox").ids else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


@before_1("Sequence that has a part of ours")
def test_a_changed_tokenizer_in_another_process(ours, tmp_path):
    ours.add_special_tokens(["[NEW]"])
    ours.add_tokens(["[NEW]"])  # special for ever, though no flag says so
    ours.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(), ours.pre_tokenizer])
    ours.enable_truncation(9)
    (tmp_path / "text").write_text(TEXTS[3], encoding="utf-8")
    child = (
        "import pickle, sys; tokenizer = pickle.load(sys.stdin.buffer);"
        "text = open(sys.argv[1], encoding='utf-8').read();"
        "ids = tokenizer.encode(text).ids; print(ids, [tokenizer.decode(ids)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", child, str(tmp_path / "text")], input=pickle.dumps(ours), capture_output=True, check=True
    )
    ids = ours.encode(TEXTS[3]).ids
    assert done.stdout.decode().strip() == f"{ids} {[ours.decode(ids)]}"


def test_delegated_and_native_again(refusing):
    reference = tokenizers.Tokenizer.from_str(trained("byte_level"))
    ours = Tokenizer.from_str(trained("byte_level"))
    for tokenizer in (reference, ours):
        tokenizer.add_special_tokens(["[NEW]"])
        tokenizer.add_tokens(["[NEW]"])
    assert ours.engine == "native"
    word_piece = models.WordPiece({"[UNK]": 0, "fox": 1, "[NEW]": 2}, unk_token="[UNK]")
    ours.model = word_piece
    with pytest.warns(DelegatedWarning, match="WordPiece"):
        ours.encode("x")
    reference.model = word_piece
    assert ours.engine == "delegated"
    for tokenizer in (reference, ours):
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.normalizer = normalizers.Lowercase()
    for special_as_text in (False, True):
        for tokenizer in (reference, ours):
            tokenizer.encode_special_tokens = special_as_text
            tokenizer.enable_truncation(3, stride=1)
            tokenizer.enable_padding(length=6)
        expected = reference.encode("fox [new] Fox the")
        assert fields(ours.encode("fox [new] Fox the")) == fields(expected)
        assert ours.decode(expected.ids) == reference.decode(expected.ids)
    vocab = {"<s>": 0, "</s>": 1, "<unk>": 2, "<pad>": 3, "a": 4, "fox": 5}  # [NEW] keeps the id that it has
    word_level = models.WordLevel(vocab, unk_token="<unk>")
    for tokenizer in (reference, ours):
        tokenizer.model = word_level
    assert fields(ours.encode("fox [new] Fox a")) == fields(reference.encode("fox [new] Fox a"))
    assert ours.engine == "native"


def test_rank_file_whose_cache_was_emptied(tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    ranks = tmp_path / "x.tiktoken"
    from crayon_hf.formats import tiktoken

    ranks.write_bytes(tiktoken.write_ranks({bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257}))
    ours = Tokenizer.from_tiktoken(ranks, pattern=tiktoken.CL100K_PATTERN, special_tokens={"<|end|>": 300})
    expected = ours.encode("the <|end|> thing").ids
    shutil.rmtree(tmp_path / "cache")
    assert pickle.loads(pickle.dumps(ours)).encode("the <|end|> thing").ids == expected
    assert json.loads(ours.to_str())["added_tokens"][0]["content"] == "<|end|>"
    ours.add_tokens(["thing"])
    assert pickle.loads(pickle.dumps(ours)).encode("the <|end|> thing").tokens[-1] == "thing"


def test_columns_come_from_the_engine_of_now(ours):
    columns = ours.encode_columns(["a", "fox [NEW]"])
    assert columns["input_ids"] == [ours.encode(text).ids for text in ("a", "fox [NEW]")]
    ours.add_tokens(["[NEW]"])
    columns = ours.encode_columns(
        ["a", "fox [NEW]"], truncation=(3, 0, "longest_first", "right"), padding=(4, "left", None, 7, 1), as_arrays=True
    )
    ours.enable_truncation(3)
    ours.enable_padding(length=4, direction="left", pad_id=7, pad_type_id=1)
    encodings = ours.encode_batch(["a", "fox [NEW]"])
    assert columns["input_ids"].tolist() == [encoding.ids for encoding in encodings]
    assert columns["attention_mask"].tolist() == [encoding.attention_mask for encoding in encodings]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("id", [2**31 - 1, 2**31, 2**32 - 1])
def test_what_is_padded_with_has_32_bits(ours, id, side):
    texts, options = ["a", "fox", ""], {"direction": side, "pad_id": id, "pad_type_id": id}
    reference = tokenizers.Tokenizer.from_str(ours.to_str())
    both = [tokenizer.encode("fox") for tokenizer in (reference, ours)]
    for tokenizer, encoding in zip((reference, ours), both, strict=True):
        encoding.pad(9, **options)
        tokenizer.enable_padding(length=9, **options)
    assert fields(both[1]) == fields(both[0])
    expected = plain(reference.encode_batch(texts))
    assert plain(ours.encode_batch(texts)) == expected
    assert [encoding.ids for encoding in ours.encode_batch_fast(texts)] == [encoding["ids"] for encoding in expected]
    assert fields(ours.encode("fox", "a")) == fields(reference.encode("fox", "a"))
    again = Tokenizer.from_str(ours.to_str())
    assert (again.padding, plain(again.encode_batch(texts))) == (reference.padding, expected)
    for as_arrays in (False, True):
        columns = ours.encode_columns(texts, padding=(9, side, None, id, id), as_arrays=as_arrays)
        assert [list(row) for row in columns["input_ids"]] == [encoding["ids"] for encoding in expected]
        assert [list(row) for row in columns["token_type_ids"]] == [encoding["type_ids"] for encoding in expected]


@pytest.mark.parametrize("has_bytes", [True, False])
@pytest.mark.parametrize("suffix", [None, "</w>"])
def test_byte_fallback_that_the_cartridge_was_compiled_without(has_bytes, suffix):
    document = json.loads(trained("llama"))
    model = document["model"]
    model["byte_fallback"] = False
    if not has_bytes:
        model["vocab"] = {token: id for token, id in model["vocab"].items() if not token.startswith("<0x")}
    both = []
    for kind in (Tokenizer, tokenizers.Tokenizer):
        tokenizer = kind.from_str(json.dumps(document))
        held = tokenizer.model
        held.byte_fallback = True
        held.end_of_word_suffix = suffix
        both.append([*(fields(tokenizer.encode(text)) for text in (*TEXTS, "☃ \x01")), tokenizer.to_str()])
    assert both[0] == both[1]
