"""Compares tokenizers of `crayon_hf.AutoTokenizer` with those of transformers' own `AutoTokenizer` (stock).

They stay equal in any sequence of changes and calls.
"""

from __future__ import annotations

import atexit
import copy
import json
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import transformers
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors

import crayon_hf
from tests.support.repositories import write_repositories
from tests.support.stand_in_cases import CORPUS
from tests.support.stand_in_cases import TEXTS as OTHER_TEXTS
from tests.transformers.comparing import outcome

CONTENTS = ("[NEW]", "fox", "Zoë", "é", " over", "the", "<s>", "</s>", "xx", "狐", "<pad>", "[MASK]", "<|endoftext|>")
TEXTS = (*OTHER_TEXTS, *CORPUS, "a <pad> </s> [SEP] b", "fox<|endoftext|>  [MASK] x", "<extra_id_1> the")
COMPONENTS: dict[str, tuple[Any, ...]] = {
    "normalizer": (normalizers.Lowercase(), normalizers.NFKC(), normalizers.Replace("o", "0")),
    "pre_tokenizer": (pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(), pre_tokenizers.Metaspace()),
    "decoder": (decoders.ByteLevel(), decoders.Metaspace(), decoders.Fuse(), decoders.WordPiece()),
    "post_processor": (
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="$A fox", pair="$A fox $B:1", special_tokens=[("fox", 7)]),
    ),
}
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "padding_side": ("left", "right"),
    "truncation_side": ("left", "right"),
    "model_max_length": (5, 512),
    "clean_up_tokenization_spaces": (True, False),
    "split_special_tokens": (True, False),
    "model_input_names": (["input_ids"], ["input_ids", "token_type_ids", "attention_mask"]),
    "add_bos_token": (True, False),
    "add_eos_token": (True, False),
    **{f"{name}_token": ("the", "[NEW]", "<pad>") for name in ("pad", "eos", "bos", "mask", "sep")},
    "unk_token": (
        "<pad>",
    ),  # for an unknown token missing in the vocabulary, transformers recurses until the stack overflows
}
QUESTIONS = (
    *("vocab_size", "special_tokens_map", "all_special_tokens", "all_special_ids", "added_tokens_decoder"),
    *("added_tokens_encoder", "model_max_length", "max_len_single_sentence", "max_len_sentences_pair", "is_fast"),
    *("pad_token_id", "eos_token", "mask_token_id", "pad_token_type_id", "name_of_nothing", "extra_special_tokens"),
)

texts = (
    st.sampled_from(TEXTS)
    | st.text(max_size=20)
    | st.lists(st.sampled_from([*CONTENTS, " ", "a"]), max_size=8).map("".join)
)
ids = st.lists(st.integers(0, 720), max_size=10)
tokens = st.sampled_from(CONTENTS) | st.builds(
    dict,
    content=st.sampled_from(CONTENTS),
    **dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized", "special"), st.booleans()),
)
inputs = (
    st.tuples(texts)
    | st.tuples(texts, texts)
    | st.tuples(st.lists(texts, max_size=4))
    | st.lists(st.tuples(texts, texts), max_size=4).map(lambda pairs: tuple(map(list, zip(*pairs, strict=True))))
    | st.tuples(st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
)
RETURNED = (
    *("token_type_ids", "attention_mask", "overflowing_tokens", "special_tokens_mask", "offsets_mapping"),
    "length",
)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "add_special_tokens": st.booleans(),
        "padding": st.sampled_from([True, False, "longest", "max_length", "do_not_pad"]),
        "truncation": st.sampled_from([True, False, "longest_first", "only_first", "only_second", None]),
        "max_length": st.none() | st.integers(0, 30),
        "stride": st.integers(0, 3),
        "pad_to_multiple_of": st.none() | st.just(8),
        "padding_side": st.sampled_from(["left", "right", None]),
        "return_tensors": st.sampled_from([None, "np", "pt"]),
        **dict.fromkeys(("verbose", "split_special_tokens", *(f"return_{name}" for name in RETURNED)), st.booleans()),
    },
)


@cache
def repositories() -> dict[str, Path]:
    """The directories of small model repositories, by name."""
    root = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return write_repositories(Path(root), [*CORPUS * 20])


@cache
def opened(name: str) -> tuple[Any, Any]:
    """The tokenizers (stock, ours) of a repository. They are cached, so tests change copies of them."""
    directory = repositories()[name]
    return tuple(
        module.AutoTokenizer.from_pretrained(directory)  # type: ignore[attr-defined]
        for module in (transformers, crayon_hf)
    )


def document(text: str) -> Any:
    """Parse a saved file, with numbers rounded. The library reads some scores as a neighbouring double, so a copy of a
    tokenizer can save slightly different scores."""
    return json.loads(text, parse_float=lambda number: f"{float(number):.12g}")


class BothFast(RuleBasedStateMachine):
    """A pair of tokenizers, stock and ours. Each rule makes the same change or call on both."""

    def __init__(self) -> None:
        super().__init__()
        warnings.simplefilter("ignore")
        self.both: list[Any] = []
        self.roots: list[str] = []

    @initialize(name=st.deferred(lambda: st.sampled_from(list(repositories()))))
    def begin(self, name: str) -> None:
        self.both = [copy.deepcopy(tokenizer) for tokenizer in opened(name)]

    def agree(self, call: Callable[[Any], Any]) -> None:
        """Check that `call` returns the same for both tokenizers, or raises for both."""
        stock, ours = self.both
        try:
            expected = outcome(lambda: call(stock))
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            expected = None  # the library panics in one of its threads: any result of ours is right
        said = outcome(lambda: call(ours))
        assert expected is None or said == expected

    # -- calls

    @rule(inputs=inputs, arguments=arguments)
    def call(self, inputs: tuple[Any, ...], arguments: dict[str, Any]) -> None:
        self.agree(lambda tokenizer: tokenizer(*inputs, **arguments))

    @rule(words=st.lists(st.text(max_size=5), max_size=5), arguments=arguments)
    def call_with_words(self, words: list[str], arguments: dict[str, Any]) -> None:
        self.agree(lambda tokenizer: tokenizer(words, is_split_into_words=True, **arguments))
        self.agree(lambda tokenizer: tokenizer([words, words[:1]], is_split_into_words=True, **arguments))

    @rule(text=texts, arguments=arguments)
    def encode(self, text: str, arguments: dict[str, Any]) -> None:
        self.agree(lambda tokenizer: tokenizer.encode(text, **arguments))

    @rule(text=texts, special=st.booleans())
    def plain_calls(self, text: str, special: bool) -> None:
        self.agree(lambda tokenizer: tokenizer(text))
        self.agree(lambda tokenizer: tokenizer.encode(text))
        self.agree(lambda tokenizer: tokenizer.tokenize(text, add_special_tokens=special))
        self.agree(lambda tokenizer: tokenizer.convert_tokens_to_string(tokenizer.tokenize(text)))
        self.agree(lambda tokenizer: tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)))

    @rule(text=texts, place=st.integers(0, 12))
    def places(self, text: str, place: int) -> None:
        def asked(tokenizer: Any) -> Any:
            batch = tokenizer([text, "fox"])
            return [
                outcome(lambda: getattr(batch, name)(0, place))  # noqa: B023
                for name in ("char_to_token", "char_to_word", "token_to_chars", "token_to_word", "word_to_tokens")
            ]

        self.agree(asked)

    @rule(ids=ids, skip=st.booleans(), clean=st.none() | st.booleans())
    def decode(self, ids: list[int], skip: bool, clean: bool | None) -> None:
        named = {"skip_special_tokens": skip, "clean_up_tokenization_spaces": clean}
        self.agree(lambda tokenizer: tokenizer.decode(ids, **named))
        self.agree(lambda tokenizer: tokenizer.decode(ids[0] if ids else 5))
        self.agree(lambda tokenizer: tokenizer.batch_decode([ids, ids[:2]], **named))
        self.agree(lambda tokenizer: tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=skip))

    @rule(token=st.sampled_from(CONTENTS), pair=st.booleans(), question=st.sampled_from(QUESTIONS))
    def ask(self, token: str, pair: bool, question: str) -> None:
        self.agree(lambda tokenizer: tokenizer.convert_tokens_to_ids(token))
        self.agree(lambda tokenizer: tokenizer.num_special_tokens_to_add(pair))
        self.agree(lambda tokenizer: repr(getattr(tokenizer, question)))
        self.agree(
            lambda tokenizer: (len(tokenizer), tokenizer.get_added_vocab(), sorted(tokenizer.get_vocab().items()))
        )

    @rule(rows=st.lists(ids, min_size=1, max_size=3), arguments=arguments)
    def pad(self, rows: list[list[int]], arguments: dict[str, Any]) -> None:
        named = {
            name: value for name, value in arguments.items() if name in ("padding", "max_length", "return_tensors")
        }
        self.agree(lambda tokenizer: tokenizer.pad({"input_ids": copy.deepcopy(rows)}, **named))
        self.agree(lambda tokenizer: tokenizer.get_special_tokens_mask(rows[0], already_has_special_tokens=True))

    @rule(text=texts, arguments=arguments)
    def chat(self, text: str, arguments: dict[str, Any]) -> None:
        messages = [{"role": "user", "content": text}]
        named = {name: value for name, value in arguments.items() if name in ("padding", "max_length", "truncation")}
        self.agree(lambda tokenizer: tokenizer.apply_chat_template(messages, **named))

    # -- changes

    @rule(added=st.lists(tokens, max_size=3), special=st.booleans())
    def add_tokens(self, added: list[Any], special: bool) -> None:
        contents = {token if isinstance(token, str) else token["content"] for token in added}
        if len({content.lower() for content in contents}) < len(contents):
            return  # which of two equal patterns wins is chance in the reference
        self.agree(
            lambda tokenizer: tokenizer.add_tokens(
                [token if isinstance(token, str) else AddedToken(**token) for token in added], special_tokens=special
            )
        )

    @rule(
        name=st.sampled_from(["pad_token", "mask_token", "additional_special_tokens"]), token=st.sampled_from(CONTENTS)
    )
    def add_special_tokens(self, name: str, token: str) -> None:
        value = [token] if name == "additional_special_tokens" else token
        self.agree(lambda tokenizer: tokenizer.add_special_tokens({name: value}))

    @rule(data=st.data())
    def set_attribute(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(ATTRIBUTES)))
        value = data.draw(st.sampled_from(ATTRIBUTES[name]))
        self.agree(lambda tokenizer: setattr(tokenizer, name, copy.copy(value)))

    @rule(data=st.data())
    def set_component(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(COMPONENTS)))
        component = data.draw(st.sampled_from(COMPONENTS[name]))
        for tokenizer in self.both:
            setattr(tokenizer.backend_tokenizer, name, component)

    @rule(length=st.integers(3, 20), side=st.sampled_from(["left", "right"]))
    def set_backend(self, length: int, side: str) -> None:
        for tokenizer in self.both:
            tokenizer.backend_tokenizer.enable_truncation(length, direction=side)
            tokenizer.backend_tokenizer.enable_padding(direction=side, length=length)

    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]))
    def copied(self, way: Any) -> None:
        self.both = list(map(way, self.both))

    @rule(crossed=st.booleans())
    def saved(self, crossed: bool) -> None:
        """Check that both tokenizers save the same files. If `crossed`, each library then opens the other's files."""
        self.roots.append(tempfile.mkdtemp())
        directories = [os.path.join(self.roots[-1], name) for name in ("stock", "ours")]
        for tokenizer, directory in zip(self.both, directories, strict=True):
            tokenizer.save_pretrained(directory)
        for name in sorted(os.listdir(directories[0])):
            files = [Path(directory, name).read_text(encoding="utf-8") for directory in directories]
            assert files[0] == files[1] or document(files[0]) == document(files[1]), name
        both = directories[::-1] if crossed else directories
        self.both = [
            transformers.AutoTokenizer.from_pretrained(both[0]),
            crayon_hf.AutoTokenizer.from_pretrained(both[1]),
        ]
        for tokenizer in self.both:
            tokenizer.name_or_path = ""

    def teardown(self) -> None:
        for root in self.roots:
            shutil.rmtree(root)

    @invariant()
    def same(self) -> None:
        if not self.both:
            return
        for text in TEXTS[2:5]:
            self.agree(lambda tokenizer: tokenizer(text))  # noqa: B023
        found = outcome(lambda: self.both[0].encode(TEXTS[3]))
        for skip in (True, False):
            self.agree(lambda tokenizer: tokenizer.decode(found, skip_special_tokens=skip))  # noqa: B023
