"""Post-processors inside an engine: each kind, for single texts and pairs, and every lookup of the encodings."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, processors

from crayon_hf.errors import VocabularyError
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

MERGES = [(b" ", b"a"), (b"a", b"b"), (b" a", b"b"), (b" ", b" "), (b"\n", b" "), (b"b", b" ")]
MERGES += [(b"\xe4", b"\xb8"), (b"\xc2", b"\xa0")]
SPECIAL = ["[CLS]", "[SEP]", "<s>", "</s>"]
TEXTS = ["", " ", "a", " a", "  ab  \n ab ", "<m> ab<l>", "x <s> ab", "\u4e2da \U0001f642 ab", "\u3000ab\xa0"]
TEXTS += ["  <m>  "]
TEXTS += ["\u0120a \u0120", "\u2003a \n"]
PAIRS = list(itertools.product(["", "a", " ab a", "<m>", "\u4e2d "], repeat=2))
WORDS = [[], [""], ["a"], [" a", "ab ", " "], ["", "a", "", "\u4e2da"], ["<m>", " <l>", "x<s>y", "ab"]]


def ids() -> dict[str, int]:
    vocab: dict[str, int] = base_document()["model"]["vocab"]
    return vocab


def base_document(*, use_regex: bool = True, add_prefix_space: bool = False) -> reference_impl.Document:
    pre_tokenizer = {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }
    return reference_impl.byte_level_document(MERGES, more=SPECIAL, pre_tokenizer=pre_tokenizer)


def both_with(processor: Any, **options: Any) -> reference_impl.Both:
    tokenizer = Tokenizer.from_str(json.dumps(base_document(**options)))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_tokens(
        [AddedToken("<m>", lstrip=True, rstrip=True), AddedToken("<l>", lstrip=True, normalized=False)]
    )
    if processor is not None:
        tokenizer.post_processor = processor
    return reference_impl.Both(tokenizer.to_str())


def check_everything(both: reference_impl.Both, also_lookups: bool = True) -> None:
    for special in (True, False):
        options = {"add_special_tokens": special, "also_lookups": also_lookups}
        for text in TEXTS:
            both.check(text, **options)
        for first, second in PAIRS:
            both.check(first, second, **options)
        for words in WORDS:
            both.check(words, is_pretokenized=True, **options)
            for second in WORDS[2:5]:
                both.check(words, second, is_pretokenized=True, **options)
    for is_pair in (False, True):
        assert both.engine.num_special_tokens_to_add(is_pair) == both.reference.num_special_tokens_to_add(is_pair)


def template(single: str | list[str], pair: str | list[str]) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(t, ids()[t]) for t in SPECIAL])


def byte_level(add_prefix_space: bool, trim_offsets: bool, use_regex: bool = True) -> processors.ByteLevel:
    return processors.ByteLevel(add_prefix_space=add_prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)


def bert() -> processors.BertProcessing:
    return processors.BertProcessing(("[SEP]", ids()["[SEP]"]), ("[CLS]", ids()["[CLS]"]))


def roberta(add_prefix_space: bool, trim_offsets: bool) -> processors.RobertaProcessing:
    end, start = (("</s>", ids()["</s>"]), ("<s>", ids()["<s>"]))
    return processors.RobertaProcessing(end, start, trim_offsets=trim_offsets, add_prefix_space=add_prefix_space)


FLAGS = list(itertools.product((False, True), repeat=2))
TEMPLATES = {
    "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    "only a pair": ("$A", "$A [SEP] $B"),
    "first": ("<s> $A", "<s> $A <s>:1 $B:1"),
    "last": ("$A </s>", "$A </s> $B </s>"),
    "swapped": ("$A:3", "$B:2 [SEP]:7 $A:5"),
    "no words": ("[CLS]", "$A $B"),
    "many": ("[CLS] [CLS] <s> $A [SEP] </s> [SEP]", "[CLS] $0 [SEP] $B:1"),
    "twice": ("$A [SEP] $A:1", "$A $B $A:1"),
    "types": ("[CLS]:4 $A:2 [SEP]:9", "$A:1 $B:0"),
}
PROCESSORS = {
    "none": lambda: None,
    **{
        f"ByteLevel {flags}": lambda flags=flags: byte_level(*flags)
        for flags in itertools.product((False, True), repeat=3)
    },
    **{f"template {name}": lambda forms=forms: template(*forms) for name, forms in TEMPLATES.items()},
    **{f"Roberta {flags}": lambda flags=flags: roberta(*flags) for flags in FLAGS},
    "Bert": bert,
    "ByteLevel then Bert": lambda: processors.Sequence([byte_level(False, True), bert()]),
    "Bert then Roberta": lambda: processors.Sequence([bert(), roberta(True, True)]),
    "template then Bert": lambda: processors.Sequence([template("$A $A", "$B $A $B"), bert()]),
    "sequence of none": lambda: processors.Sequence([]),
    **{
        f"ByteLevel {flags} then template": lambda flags=flags: processors.Sequence(
            [byte_level(*flags), template(*TEMPLATES["bert"])]
        )
        for flags in FLAGS
    },
    "template then ByteLevel": lambda: processors.Sequence([template(*TEMPLATES["bert"]), byte_level(True, True)]),
    "ByteLevel then ByteLevel": lambda: processors.Sequence([byte_level(True, True), byte_level(False, True)]),
    "ByteLevel then Roberta": lambda: processors.Sequence([byte_level(True, True), roberta(True, True)]),
    "Roberta then ByteLevel": lambda: processors.Sequence([roberta(True, True), byte_level(False, True)]),
    "Roberta then template": lambda: processors.Sequence([roberta(True, True), template(*TEMPLATES["first"])]),
    "Roberta then Roberta": lambda: processors.Sequence([roberta(False, True), roberta(True, False)]),
    "template then template": lambda: processors.Sequence([template("$A", "$A $B"), template(*TEMPLATES["bert"])]),
    "template in sequence": lambda: processors.Sequence([processors.Sequence([template(*TEMPLATES["first"])])]),
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_every_post_processor(name: str) -> None:
    # After a template, ByteLevel assigns tokens to a second sequence, and the reference's answer depends on hash order.
    check_everything(both_with(PROCESSORS[name]()), also_lookups=name != "template then ByteLevel")


@pytest.mark.parametrize(("add_prefix_space", "trim_offsets"), FLAGS)
def test_special_tokens_with_strings_of_their_own(add_prefix_space: bool, trim_offsets: bool) -> None:
    """For a special token, an encoding shows the string in the post-processor's definition, and trimming of offsets
    looks for white space in this string."""
    several = [ids()[name] for name in ("[CLS]", "<s>", "[CLS]")]
    own = {"id": "[CLS]", "ids": several, "tokens": ["\u0120begin \u0120", "<s>", ""]}
    level = json.loads(byte_level(add_prefix_space, trim_offsets).__getstate__())
    for kind in (bert(), roberta(add_prefix_space, trim_offsets), template(*TEMPLATES["bert"])):
        component = json.loads(kind.__getstate__())
        if "cls" in component:
            component["cls"][0] = "\u3000begin "
            component["sep"][0] = ""
        else:
            component["special_tokens"]["[CLS]"] = own
        document = json.loads(both_with(None).reference.to_str())
        document["post_processor"] = {"type": "Sequence", "processors": [component, level]}
        both = reference_impl.Both(document)
        for text in ("", " ab ", "<m> a"):
            both.check(text)
            both.check(text, " a")


@pytest.mark.parametrize("single", [["$B"], ["$A", "$B"], ["[CLS]", "$B", "[SEP]"]])
def test_a_template_that_names_a_second_sequence(single: list[str]) -> None:
    document = json.loads(both_with(template("$A", "$A $B")).reference.to_str())
    pieces = [
        {"Sequence": {"id": piece[1], "type_id": 0}}
        if piece[0] == "$"
        else {"SpecialToken": {"id": piece, "type_id": 0}}
        for piece in single
    ]
    document["post_processor"]["single"] = pieces
    both = reference_impl.Both(document)
    for special in (True, False):
        assert reference_impl.try_reference(lambda: both.reference.encode("a")) is None
        for call in (both.engine.encode, both.engine.encode_ids):
            with pytest.raises(VocabularyError, match="sequence that the input does not have"):
                call("a", add_special_tokens=special)
