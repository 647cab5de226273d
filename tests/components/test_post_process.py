"""What happens to an encoding after the model: every post-processor, singles and pairs, and every lookup."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, processors

from crayon_hf.errors import VocabularyError
from tests.support import reference_impl
from tests.support.encoding_states import state_of

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

MERGES = [
    (b" ", b"a"),
    (b"a", b"b"),
    (b" a", b"b"),
    (b" ", b" "),
    (b"\n", b" "),
    (b"b", b" "),
    (b"\xe4", b"\xb8"),
    (b"\xc2", b"\xa0"),
]
SPECIAL = ["[CLS]", "[SEP]", "<s>", "</s>"]
TEXTS = [
    "",
    " ",
    "a",
    " a",
    "ab ab",
    "  ab  \n ab ",
    "<m> ab<l>",
    "x <s> ab",
    "\u4e2da \U0001f642 ab",
    "\u3000ab\xa0",
    "\n \n",
    "  <m>  ",
]
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
    # After a template, ByteLevel gives tokens a second sequence, and the reference answers by the order of a hash map.
    check_everything(both_with(PROCESSORS[name]()), also_lookups=name != "template then ByteLevel")


@pytest.mark.parametrize(
    "name", ["none", "Roberta (True, True)", "Roberta (False, True)", "ByteLevel (True, True, True)", "template bert"]
)
@pytest.mark.parametrize(("use_regex", "add_prefix_space"), [(True, True), (False, False), (False, True)])
def test_with_other_pre_tokenizers(name: str, use_regex: bool, add_prefix_space: bool) -> None:
    check_everything(both_with(PROCESSORS[name](), use_regex=use_regex, add_prefix_space=add_prefix_space))


@pytest.mark.slow
@pytest.mark.parametrize(("add_prefix_space", "trim_offsets"), FLAGS)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_trimmed_offsets(add_prefix_space: bool, trim_offsets: bool, data: st.DataObject) -> None:
    """White space of every kind at the ends of tokens, in plain text and in words."""
    pieces = [" ", "  ", "a", "ab", "<m>", "<l>", "\n", "\n ", "\xa0", "\u3000", "\u0120", "\u4e2d", "<s>", "\u2003a"]
    for processor in (byte_level(add_prefix_space, trim_offsets), roberta(add_prefix_space, trim_offsets)):
        for options in ({"use_regex": False, "add_prefix_space": add_prefix_space}, {"add_prefix_space": True}):
            both = made(processor, **options)
            text = data.draw(reference_impl.texts_of(pieces))
            both.check(text, also_lookups=True)
            both.check([text, " a", data.draw(reference_impl.texts_of(pieces, size=3))], is_pretokenized=True)
            both.check(text, data.draw(reference_impl.texts_of(pieces, size=4)), also_lookups=True)


_made: dict[tuple[Any, ...], reference_impl.Both] = {}


def made(processor: Any, **options: Any) -> reference_impl.Both:
    """The same tokenizer as before for the same arguments: hypothesis asks for many."""
    key = (repr(processor), tuple(options.items()))
    if key not in _made:
        _made[key] = both_with(processor, **options)
    return _made[key]


def test_tokens_that_are_white_space_of_other_kinds() -> None:
    """Trimming goes by the token's string: G with a dot is a space there, as is any white space."""
    tokenizer = Tokenizer.from_str(json.dumps(base_document()))
    contents = [
        "\u0120",
        "\u0120\u0120x\u0120",
        " x ",
        "\u3000x\u3000 ",
        "\n",
        "\u2028",
        "\u200b",
        "x\u0120",
        "\x1c",
        "\x85y",
    ]
    tokenizer.add_tokens([AddedToken(content, normalized=False) for content in contents])
    for add_prefix_space, trim_offsets in FLAGS:
        tokenizer.post_processor = byte_level(add_prefix_space, trim_offsets)
        both = reference_impl.Both(tokenizer.to_str())
        for content in contents:
            for text in (content, "a" + content, content + "a", content * 2, f"\u0120{content} {content}\u3000a"):
                both.check(text, also_lookups=True)
                both.check(text, content)
                both.check(["a", text, content], is_pretokenized=True)


# -- strings of special tokens that are not the vocabulary's


@pytest.mark.parametrize(("add_prefix_space", "trim_offsets"), FLAGS)
def test_special_tokens_with_strings_of_their_own(add_prefix_space: bool, trim_offsets: bool) -> None:
    """Encodings show the post-processor's string, and white space is looked for in it."""
    own = {"id": "[CLS]", "ids": [ids()["[CLS]"], ids()["<s>"]], "tokens": ["\u0120begin \u0120", "<s>"]}
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


# -- truncation before, padding after

SIDES = ("right", "left")
STRATEGIES = ("longest_first", "only_first", "only_second")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["none", "Bert", "template bert", "Roberta (True, True)", "ByteLevel (False, True) then template"]
)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_overflowing(name: str, data: st.DataObject) -> None:
    both = made(PROCESSORS[name]())
    stride = data.draw(st.integers(0, 2))
    limits = (data.draw(st.integers(0, 9)), stride, data.draw(st.sampled_from(STRATEGIES)))
    truncation = (*limits, data.draw(st.sampled_from(SIDES)))
    padding = {"length": data.draw(st.none() | st.integers(0, 12)), "direction": data.draw(st.sampled_from(SIDES))}
    text = data.draw(reference_impl.texts_of(["ab", " a", "  ", "<m>", "\u4e2d"], size=8))
    pair = data.draw(st.none() | reference_impl.texts_of(["ab", " a", "<l>"], size=8))
    special = data.draw(st.booleans())
    max_length, _, strategy, direction = truncation
    try:
        both.reference.enable_truncation(max_length, stride=stride, strategy=strategy, direction=direction)
        both.reference.enable_padding(pad_id=3, pad_type_id=1, pad_token="pad", **padding)
        want = reference_impl.try_reference(lambda: both.reference.encode(text, pair, add_special_tokens=special))
    except ValueError:
        return  # a stride that is refused when it is set
    finally:
        both.reference.no_truncation()
        both.reference.no_padding()

    def encode() -> Any:
        pads = (padding["length"], padding["direction"], None, 3, 1, "pad")
        return both.engine.encode(text, pair, add_special_tokens=special, truncation=truncation, padding=pads)

    if want is None:
        with pytest.raises(ValueError, match=r"stride|Truncation"):
            encode()
        return
    got = encode()
    assert state_of(got) == state_of(want)
    assert [e.tokens for e in got.overflowing] == [e.tokens for e in want.overflowing]


# -- templates for what is not there


def test_a_template_of_more_parts_than_there_are() -> None:
    """The reference panics when it runs these; the engine says what is wrong, and nothing is lost."""
    sequence = processors.Sequence([template(*TEMPLATES["bert"]), template(*TEMPLATES["bert"])])
    both = both_with(sequence)
    assert reference_impl.try_reference(lambda: both.reference.encode("a")) is None
    for call in (both.engine.encode, both.engine.encode_ids):
        with pytest.raises(VocabularyError, match="template"):
            call("a")
    both.check("a", add_special_tokens=False)
    both.check("a", "ab")


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


def test_a_special_token_of_several_ids() -> None:
    document = json.loads(both_with(template(*TEMPLATES["bert"])).reference.to_str())
    vocab = document["model"]["vocab"]
    names = ["<s>", "[CLS]", "<s>"]
    several = {"id": "[CLS]", "ids": [vocab[name] for name in names], "tokens": names}
    document["post_processor"]["special_tokens"]["[CLS]"] = several
    check_everything(reference_impl.Both(document))
    none = {"id": "[CLS]", "ids": [], "tokens": []}
    document["post_processor"]["special_tokens"]["[CLS]"] = none
    check_everything(reference_impl.Both(document))


# -- inputs of other forms


def test_batches_of_mixed_inputs() -> None:
    both = both_with(template(*TEMPLATES["bert"]))
    inputs = ["ab", ("ab", "a"), ["a", " ab"], "", ("", "")]
    want = both.reference.encode_batch(inputs)
    for encoding, other in zip(both.engine.encode_batch(inputs), want, strict=True):
        reference_impl.assert_same(encoding, other, "a batch")
    words = [["ab", "a"], (["ab", "a"], ["a"]), [["ab"], ["a", "ab"]], [], ["ab"]]
    want = both.reference.encode_batch(words, is_pretokenized=True)
    for encoding, other in zip(both.engine.encode_batch(words, is_pretokenized=True), want, strict=True):
        reference_impl.assert_same(encoding, other, "a batch of words")
    assert both.engine.encode_batch([]) == []


def test_the_record_itself() -> None:
    both = both_with(template(*TEMPLATES["bert"]))
    got, want = both.engine.encode("ab a", "ab"), both.reference.encode("ab a", "ab")
    assert repr(got) == repr(want)
    with pytest.warns(DeprecationWarning, match="word_ids"):
        assert got.words == got.word_ids
    assert got.overflowing == []
    for name in ("token_to_chars", "word_to_tokens", "char_to_token", "token_to_word"):
        for bad in (-1, 2**70, "1", None, 1.5):
            with pytest.raises((TypeError, OverflowError)):
                getattr(want, name)(bad)
            with pytest.raises((TypeError, OverflowError)):
                getattr(got, name)(bad)
    for name in ("word_to_tokens", "word_to_chars", "char_to_token", "char_to_word"):
        assert getattr(got, name)(0, sequence_index=1) == getattr(want, name)(0, sequence_index=1)
