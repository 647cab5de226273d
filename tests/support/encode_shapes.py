"""Small vocabularies, each like a published type of vocabulary and trained once, and texts for tests of encoding."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors

from crayon_hf import _core
from tests.support import families, reference_impl


@functools.cache
def training_text() -> list[str]:
    return reference_impl.generated_text(random.Random(1), 200_000).split("\n")


def trained(pre_tokenizer: Any, change: Callable[[Tokenizer], None]) -> str:
    tokenizer = families.byte_level(training_text(), 3000, [], pre_tokenizer)
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    change(tokenizer)
    return str(tokenizer.to_str())


def split(family: str) -> Any:
    first = pre_tokenizers.Split(Regex(_core.canonical_pattern(family)), "isolated")
    return pre_tokenizers.Sequence([first, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(tokenizer: Tokenizer) -> None:
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)


def llama3(tokenizer: Tokenizer) -> None:
    template = families.template(tokenizer, "<|begin|> $A", "<|begin|> $A <|begin|>:1 $B:1")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    tokenizer.model.ignore_merges = True


def qwen(tokenizer: Tokenizer) -> None:
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)


def roberta(tokenizer: Tokenizer) -> None:
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    end, begin = (tokenizer.token_to_id(token) for token in ("<|end|>", "<|begin|>"))
    tokenizer.post_processor = processors.RobertaProcessing(
        ("<|end|>", end), ("<|begin|>", begin), add_prefix_space=False
    )


def phi(tokenizer: Tokenizer) -> None:
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 9)] + ["\t\t"])


def prefixed(tokenizer: Tokenizer) -> None:
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)


SHAPES: dict[str, Callable[[], str]] = {
    "gpt2": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False), gpt2),
    "llama3": lambda: trained(split("llama3"), llama3),
    "cl100k": lambda: trained(split("cl100k"), gpt2),
    "qwen": lambda: trained(split("qwen2"), qwen),
    "o200k": lambda: trained(split("o200k"), gpt2),
    "tekken": lambda: trained(split("tekken"), gpt2),
    "roberta": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False), roberta),
    "phi": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False), phi),
    "prefixed": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=True), prefixed),
    "whole": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), gpt2),
}


@functools.cache
def vocabulary(shape: str) -> str:
    return SHAPES[shape]()


@functools.cache
def opened(shape: str, cpu: str) -> reference_impl.Both:
    both = reference_impl.Both(vocabulary(shape))
    assert both.engine.cpu == cpu
    return both


_PIECES = """the The tion I e nation's it's IT'S we'LL \u2019s '\u017f ' don't x'd've 1 12 123 1234 3.14 0x1F
\u0663\u0664 \u00bd \u00b2 \u2167 \U0001d7d8 \u200b \ufeff ! ... -- :// / \\ _ {} () => \u00bf \u3002 \uff0c \u00e9
e\u0301 \u0301 \u0323\u0307 \u212b \u1100\u1161\u11a8 \uac00 \u0915\u094d\u0937 \u09c7\u09be \u4e2d \u4e2d\u6587
\u3042 \u30ab\u30bf \ud55c\uae00 \u0430\u0431 \u0410\u0431\u0412 \u01c5 \u02b0 \ufb01 \U0001f642
\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f \U0001f44d\U0001f3fd \x00 \x01 \x7f \x1b
\ufffd \ufffe \ue000 \U0010fffd \u0378 \U000e0001 \u202e \u0627\u0644 <|begin|> <|end|> <|begin |> <mask> \u0120
\u010a"""
_SPACES = [*" \n\r\t\x0b\x0c\x85\xa0\u2003\u2028\u3000", "  ", "   ", "\r\n", "\n\n", " \n "]
PIECES = [*_PIECES.split(), *_SPACES, " THE", " a", "#include <a.h>", " <mask> "]


SURROGATES = ["\ud800", "a\udfffb", "\udc00\ud800", "\ud83d", "x\ud83d y", "\ud83d\ud83d\ude42", "\u00e9\udc80"]
