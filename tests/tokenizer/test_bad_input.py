"""Every bad argument or file raises a typed error whose message names it."""

from __future__ import annotations

import numpy as np
import pytest

from crayon_hf import DelegatedWarning, InvalidUtf8Error, TokenIdError, Tokenizer, VocabularyError


@pytest.fixture(scope="module", params=["native", "delegated"])
def either(request, refusing, gpt2_like, wordpiece_like):
    if request.param == "native":
        return Tokenizer.from_file(gpt2_like)
    with pytest.warns(DelegatedWarning):
        return Tokenizer.from_file(wordpiece_like)


BATCHES = ("encode_batch", "encode_batch_fast", "encode_ragged")
REFUSED = [
    *((TypeError, r"sequence is \w+, expected str", "encode", (value,)) for value in (5, None, 1.5, ["a"], object())),
    (TypeError, "encode_bytes", "encode", (b"text",)),
    (TypeError, "expected bytes", "encode_bytes", ("secret",)),
    *((TypeError, None, "decode", (ids,)) for ids in ("12", 5, [1, "2"], np.array([1.5]), np.array([[1, 2]]))),
    (TokenIdError, "2000|1500", "decode", ([10**6], True, "error")),
    (TypeError, "pair.*int", "encode", ("a", 3)),
    (TypeError, "word 1 of sequence is int", "encode", (["a", 3], None, True)),
    (TypeError, "sequence is str, expected a list", "encode", ("a", None, True)),
    *((TypeError, "item 3", call, (["a", "b", "c", 3, "d"],)) for call in (*BATCHES, "count_tokens")),
    *((TypeError, "expected a list", call, (value,)) for call in BATCHES for value in ("text", b"text", 5)),
    (TypeError, "item 1", "encode_batch", (["a", ("b", "c", "d")],)),
    (TypeError, "second sequence of item 0", "encode_batch", ([("b", 5)],)),
    (TypeError, "lone surrogate", "encode", ("a\ud800b",)),  # as tokenizers does
    (TypeError, "item 1 .* lone surrogate", "encode_batch", (["a", "b\udfff"],)),
    (TypeError, "lone surrogate", "encode_ragged", (["a", "b\udfff"],)),
    *(
        (InvalidUtf8Error, "item 1 .* offset 2", call, (["a", b"ab\xff"],))
        for call in ("encode_ragged", "count_tokens")
    ),
    *((TokenIdError, str(bad), "decode_bytes", ([1, bad],)) for bad in (10**6, -1, 2**31, 2**40, 2**70)),
    *((TokenIdError, str(bad), "decode", ([1, bad], True, "error")) for bad in (10**6, -1, 2**31, 2**40, 2**70)),
    (TokenIdError, str(10**6), "decode_batch", ([[1], [10**6]], True, 0, "error")),
]


@pytest.mark.parametrize(("kind", "keyword", "call", "arguments"), REFUSED)
def test_refused(either, kind, keyword, call, arguments):
    with pytest.raises(kind, match=keyword):
        getattr(either, call)(*arguments)


def test_missing_file(tmp_path):
    path = tmp_path / "no" / "tokenizer.json"
    for opener in (Tokenizer.from_file, Tokenizer.from_tiktoken):
        with pytest.raises(FileNotFoundError) as caught:
            opener(path)
        assert caught.value.filename == str(path)


def test_directory_without_a_vocabulary(tmp_path):
    with pytest.raises(VocabularyError, match=r"has no vocabulary: .*tokenizer\.json"):
        Tokenizer.from_file(tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"{}", b"[]", b"null", b'{"model": 5}', b"not json", b"\0\1", b'{"model\xff": {}}']
)
def test_malformed_json(data, tmp_path):
    path = tmp_path / "broken.json"
    path.write_bytes(data)
    with pytest.raises(VocabularyError, match=r"broken\.json"):
        Tokenizer.from_file(path)
    with pytest.raises(VocabularyError):
        Tokenizer.from_buffer(data)


def test_rank_file_given_to_from_file(tmp_path):
    path = tmp_path / "ranks.tiktoken"
    path.write_text("IQ== 0\n")
    with pytest.raises(VocabularyError, match="from_tiktoken"):
        Tokenizer.from_file(path)
