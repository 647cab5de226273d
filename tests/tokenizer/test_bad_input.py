"""Whatever is wrong with an input gives a typed error that names the thing."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import tokenizers

from crayon_hf import CartridgeError, DelegatedWarning, InvalidUtf8Error, TokenIdError, Tokenizer, VocabularyError


@pytest.fixture(scope="module")
def ours(gpt2_like):
    return Tokenizer.from_file(gpt2_like)


@pytest.fixture(scope="module", params=["native", "delegated"])
def either(request, refusing, gpt2_like, wordpiece_like):
    if request.param == "native":
        return Tokenizer.from_file(gpt2_like)
    with pytest.warns(DelegatedWarning):
        return Tokenizer.from_file(wordpiece_like)


@pytest.mark.parametrize("value", [5, None, 1.5, ["a"], object()])
def test_encode_wants_text(either, value):
    with pytest.raises(TypeError, match=r"sequence is \w+, expected str"):
        either.encode(value)


def test_encode_points_to_encode_bytes(either):
    with pytest.raises(TypeError, match=r"bytes.*encode_bytes"):
        either.encode(b"text")


def test_second_text_is_named(either):
    with pytest.raises(TypeError, match=r"pair.*int.*expected str"):
        either.encode("a", 3)


def test_words_are_named(either):
    with pytest.raises(TypeError, match=r"word 1 of sequence is int"):
        either.encode(["a", 3], is_pretokenized=True)
    with pytest.raises(TypeError, match=r"sequence is str, expected a list"):
        either.encode("a", is_pretokenized=True)


@pytest.mark.parametrize("call", ["encode_batch", "encode_batch_fast", "encode_ragged", "count_tokens"])
def test_item_of_a_batch_is_named(either, call):
    with pytest.raises(TypeError, match=r"item 3 of the batch is int, expected str"):
        getattr(either, call)(["a", "b", "c", 3, "d"])


@pytest.mark.parametrize("call", ["encode_batch", "encode_batch_fast", "encode_ragged"])
@pytest.mark.parametrize("value", ["text", b"text", 5])
def test_batch_is_a_list(either, call, value):
    with pytest.raises(TypeError, match=rf"{type(value).__name__}, expected a list"):
        getattr(either, call)(value)


def test_bad_pair_in_a_batch(either):
    with pytest.raises(TypeError, match="item 1 of the batch"):
        either.encode_batch(["a", ("b", "c", "d")])
    with pytest.raises(TypeError, match="second sequence of item 0 of the batch is int"):
        either.encode_batch([("b", 5)])


def test_lone_surrogate(either):
    """tokenizers raises TypeError for it, and so do we."""
    with pytest.raises(TypeError, match="sequence has a lone surrogate"):
        either.encode("a\ud800b")
    with pytest.raises(TypeError, match="item 1 of the batch has a lone surrogate"):
        either.encode_batch(["a", "b\udfff"])
    with pytest.raises(TypeError, match="lone surrogate"):
        either.encode_ragged(["a", "b\udfff"])


def test_bytes_that_are_not_utf8(either):
    for call in (either.encode_ragged, either.count_tokens):
        with pytest.raises(InvalidUtf8Error, match="item 1 of the batch is not UTF-8: invalid byte at offset 2"):
            call(["a", b"ab\xff"])


@pytest.mark.parametrize("bad", [10**6, -1, 2**31, 2**40, 2**70])
def test_unknown_id(either, bad):
    for call in (partial(either.decode, unknown_ids="error"), either.decode_bytes):
        with pytest.raises(TokenIdError, match=str(bad)):
            call([1, bad])
    with pytest.raises(TokenIdError, match=str(bad)):
        either.decode_batch([[1], [bad]], unknown_ids="error")


def test_unknown_id_names_the_size(either):
    with pytest.raises(TokenIdError, match=str(either.get_vocab_size())):
        either.decode([10**6], unknown_ids="error")


@pytest.mark.parametrize("ids", ["12", 5, [1, "2"], [1.5], np.array([1.5]), np.array([[1, 2]])])
def test_ids_are_integers(ours, ids):
    with pytest.raises(TypeError):
        ours.decode(ids)


def test_missing_file(tmp_path):
    path = tmp_path / "no" / "tokenizer.json"
    for opener in (Tokenizer.from_file, Tokenizer.from_tiktoken):
        with pytest.raises(FileNotFoundError) as caught:
            opener(path)
        assert caught.value.filename == str(path)


def test_directory_without_a_vocabulary(tmp_path):
    with pytest.raises(VocabularyError, match=r"has no vocabulary: .*tokenizer\.json"):
        Tokenizer.from_file(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "null", '{"model": 5}', "not json", "\x00\x01"])
def test_malformed_json(text, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(VocabularyError, match=r"broken\.json"):
        Tokenizer.from_file(path)
    with pytest.raises(VocabularyError):
        Tokenizer.from_str(text)


def test_json_that_is_not_utf8(tmp_path, gpt2_like):
    path = tmp_path / "latin1.json"
    path.write_bytes(gpt2_like.read_bytes().replace(b'"model"', b'"model\xff"'))
    with pytest.raises(VocabularyError):
        Tokenizer.from_file(path)


def test_rank_file_given_to_from_file(tmp_path):
    path = tmp_path / "ranks.tiktoken"
    path.write_text("IQ== 0\n")
    with pytest.raises(VocabularyError, match="from_tiktoken"):
        Tokenizer.from_file(path)


# -- cartridges


@pytest.fixture
def cartridge(ours, tmp_path):
    ours.save(tmp_path / "x.dat")
    return tmp_path / "x.dat"


@pytest.mark.parametrize("size", [4, 7, 12, 63, 64, 1000, -4096, -1])
def test_truncated_cartridge(cartridge, size):
    data = cartridge.read_bytes()
    cartridge.write_bytes(data[:size])
    with pytest.raises(CartridgeError):
        Tokenizer.from_file(cartridge)


def test_flipped_cartridge(cartridge):
    from crayon_hf import _core

    data = bytearray(cartridge.read_bytes())
    sections = [section for section in _core.cartridge_sections(str(cartridge)) if section["size"]]
    assert len(sections) > 10
    for section in sections:
        at = section["offset"] + section["size"] // 2
        data[at] ^= 0x10
        cartridge.write_bytes(data)
        with pytest.raises(CartridgeError):
            Tokenizer.from_file(cartridge)
        data[at] ^= 0x10
    cartridge.write_bytes(data)
    assert Tokenizer.from_file(cartridge).decode([1, 2])


def test_flip_after_a_good_opening_is_noticed(cartridge):
    assert Tokenizer.from_file(cartridge).engine == "native"
    data = bytearray(cartridge.read_bytes())
    data[len(data) // 2] ^= 1
    cartridge.write_bytes(data)
    with pytest.raises(CartridgeError):
        Tokenizer.from_file(cartridge)


@pytest.mark.parametrize("version", [0, 1, 4, 2**32 - 1])
def test_other_version(cartridge, version):
    data = bytearray(cartridge.read_bytes())
    data[4:8] = version.to_bytes(4, "little")
    cartridge.write_bytes(data)
    with pytest.raises(CartridgeError, match=f"version.*{version}|{version}.*version"):
        Tokenizer.from_file(cartridge)


def test_damaged_version_2(tmp_path):
    path = tmp_path / "crayon.dat"
    path.write_bytes(b"CRAY" + (2).to_bytes(4, "little") + bytes(4))
    with pytest.raises(CartridgeError, match=r"crayon\.dat.*no root"):
        Tokenizer.from_file(path)


TRUNCATION = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 5},
    "direction": "Right",
    "pad_to_multiple_of": 2,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "[PAD]",
}


@pytest.mark.parametrize(
    ("name", "good", "key"),
    [(name, good, key) for name, good in (("truncation", TRUNCATION), ("padding", PADDING)) for key in good],
)
def test_stored_numbers_are_numbers(gpt2_like, name, good, key):
    document = json.loads(gpt2_like.read_text(encoding="utf-8"))
    value = good[key]
    for bad in (True, False, 1.0, -1):
        wrong = json.dumps(document | {name: {**good, key: {"Fixed": bad} if isinstance(value, dict) else bad}})
        with pytest.raises(VocabularyError, match=f"malformed {name}"):
            Tokenizer.from_str(wrong)
        with pytest.raises(Exception, match="line 1 column"):
            tokenizers.Tokenizer.from_str(wrong)
    assert getattr(Tokenizer.from_str(json.dumps(document | {name: good})), name) is not None


def test_options_are_named(gpt2_like):
    ours = Tokenizer.from_file(gpt2_like)
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    for tokenizer in (ours, reference):
        for wrong in (
            lambda t: t.enable_truncation(),
            lambda t: t.enable_truncation(5, 1),
            lambda t: t.enable_truncation(5, max_length=5),
            lambda t: t.enable_padding("left"),
        ):
            with pytest.raises(TypeError, match=r"^Tokenizer\.enable_"):
                wrong(tokenizer)
    assert ours.truncation is ours.padding is None
