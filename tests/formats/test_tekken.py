"""Converting tekken.json: the ids are those of tiktoken for the same ranks, plus the number of special tokens.

tests/parity/test_mistral_common.py compares with mistral_common itself.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import tiktoken

from crayon_hf import Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.formats import tekken as conversion
from crayon_hf.formats.tekken import read_tekken
from tests.formats.tekken_files import small_tekken

TEXTS = (
    "",
    "Hello, world! It's 1234567 o'clock, WE'LL SEE; I'LL don'T",
    "<s>[INST] user [/INST] answer</s><SPECIAL_20><unk> [IMG]<pad>",
    "  leading and trailing   \n\n\r\n  x\t\t\n",
    "naïve Zoë ǅungla 日本語のテキスト 🙂👩\u200d👩 مرحبا \x00\u200b e\u0301",
    "def f(x):\n    return {'a': [1, 2, 3]}  # camelCase HTTPServer //\n" * 3,
    " " * 100 + "x" * 300,
)
Document = dict[str, Any]
Change = Callable[[Document], None]


def test_ids_and_texts_are_those_of_tiktoken(ranks: dict[bytes, int]) -> None:
    document = small_tekken([*ranks])
    converted = read_tekken(json.dumps(document).encode())
    ours = Tokenizer.from_str(converted.tokenizer_json.decode())
    assert ours.engine == "native"
    pattern = document["config"]["pattern"]
    theirs = tiktoken.Encoding("tekken", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    ours.encode_special_tokens = True
    for text in TEXTS:
        ids = [rank + 30 for rank in theirs.encode_ordinary(text)]
        assert ours.encode(text).ids == ids
        assert ours.decode(ids) == text
    ours.encode_special_tokens = False
    assert ours.encode("<s>").ids == [1]
    named = {0: "<unk>", 1: "<s>", 2: "</s>", 20: "<SPECIAL_20>", 29: "<SPECIAL_29>"}
    assert {id: ours.id_to_token(id) for id in named} == named
    assert ours.decode([1, 29]) == ""
    assert converted.config["bos_token"] == "<s>"


# -- mistral_common


@pytest.mark.slow
def test_facts_are_those_of_mistral_common() -> None:
    pytest.importorskip("mistral_common")
    versions = import_module("mistral_common.tokens.tokenizers.base").TokenizerVersion
    assert sorted(conversion.VERSIONS) == sorted(versions.__members__)
    older = [name for name, version in versions.__members__.items() if version <= versions.v7]
    assert list(conversion.VERSIONS_WITH_BUILT_IN_TOKENS) == older


# -- errors


def put(value: Any, *path: str | int) -> Change:
    """A change of a document that sets the field at `path` to `value`, or removes the field if `value` is `...`."""

    def change(document: Any) -> None:
        *parents, last = path
        for key in parents:
            document = document[key]
        if value is ...:
            del document[last]
        else:
            document[last] = value

    return change


def with_specials(*names: Any) -> Change:
    return put([{"rank": i, "token_str": name} for i, name in enumerate(names)], "special_tokens")


A = base64.b64encode(b"a").decode()
MALFORMED = [
    (put(..., "config"), "config is missing"),
    (put([], "config"), "not an object"),
    (put(3, "config", "version"), "version"),
    (put(None, "config", "pattern"), "pattern"),
    (put(29, "config", "default_vocab_size"), "is 29, but the file has 30"),
    (put(-1, "config", "default_vocab_size"), "negative"),
    (put(30, "config", "default_vocab_size"), "only 0 ranks"),
    (put(30 + 255, "config", "default_vocab_size"), "only 255 ranks"),
    (put(331, "config", "default_vocab_size"), "300 others"),
    (put(19, "config", "default_num_special_tokens"), "the file has 20"),
    (put(True, "config", "default_num_special_tokens"), "not a whole"),
    (put({}, "vocab"), "not a list"),
    (put(None, "vocab", 17), r"vocab\[17\] is not an object"),
    (put(17.5, "vocab", 17, "rank"), r"vocab\[17\].rank"),
    (put(18, "vocab", 17, "rank"), "ranks count up"),
    (put(7, "vocab", 17, "token_bytes"), "not a string"),
    (put("YWI", "vocab", 270, "token_bytes"), "not base64"),
    (put("Y W I =", "vocab", 270, "token_bytes"), "not base64"),
    (put("", "vocab", 270, "token_bytes"), "empty"),
    (put(A, "vocab", 17, "token_bytes"), "single byte 17"),
    (put(A, "vocab", 270, "token_bytes"), r"same token as vocab\[97\]"),
    (put(5, "special_tokens"), "not a list"),
    (put([{"rank": 1, "token_str": "<s>"}], "special_tokens"), "ranks count up"),
    (with_specials("<s>", 5), "token_str"),
    (with_specials(""), "special token ''"),
    (with_specials("<s>", "<SPECIAL_5>"), "both '<SPECIAL_5>'"),
    (put("v11", "config", "version"), "v11 needs it"),
]
UNSUPPORTED = [
    (put("v17", "config", "version"), "v17"),
    (put(r"\w+|\W+", "config", "pattern"), "pattern"),
    (with_specials("pad"), "ordinary text"),
    (put(10**12, "config", "default_num_special_tokens"), "more ids"),
]


@pytest.mark.parametrize(
    ("error", "change", "message"),
    [
        (kind, *case)
        for kind, cases in ((VocabularyError, MALFORMED), (UnsupportedError, UNSUPPORTED))
        for case in cases
    ],
)
def test_malformed(error: type[Exception], change: Change, message: str, ranks: dict[bytes, int]) -> None:
    document = copy.deepcopy(small_tekken([*ranks][:300]))
    change(document)
    with pytest.raises(error, match=message) as caught:
        read_tekken(json.dumps(document).encode())
    assert type(caught.value) is error


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\xff", b"null", b"[" * 100_000, b'{"config": ' + b"1" * 5000 + b"}"])
def test_not_a_tekken_file(data: bytes) -> None:
    with pytest.raises(VocabularyError, match=r"tekken\.json"):
        read_tekken(data)
