"""Compares `crayon_hf.Tokenizer` with `tokenizers.Tokenizer`, which stay equal in any sequence of changes and calls."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import tokenizers
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors

from crayon_hf import DecodeStream, DelegatedWarning, Tokenizer
from tests.support.stand_in_cases import KINDS, TEXTS, fields, outcome, plain, trained

CONTENTS = ("[NEW]", "fox", "Zoë", "é", " over", "the", "<s>", "</s>", "xx", "NEWWORD", "狐", "")
COMPONENTS: dict[str, tuple[Any, ...]] = {
    "normalizer": (
        None,
        normalizers.Lowercase(),
        normalizers.NFD(),
        normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()]),
        normalizers.Replace("o", "0"),
        normalizers.BertNormalizer(strip_accents=True),
    ),
    "pre_tokenizer": (
        None,
        pre_tokenizers.Whitespace(),
        pre_tokenizers.ByteLevel(add_prefix_space=True),
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(individual_digits=True)]),
        pre_tokenizers.Metaspace(),
    ),
    "post_processor": (
        None,
        processors.ByteLevel(trim_offsets=True),
        processors.RobertaProcessing(("</s>", 1), ("<s>", 0)),
        processors.TemplateProcessing(single="$A <s>", pair="$A <s> $B:2 <s>:3", special_tokens=[("<s>", 0)]),
    ),
    "decoder": (None, decoders.ByteLevel(), decoders.Metaspace(), decoders.Sequence([decoders.Fuse()])),
}
texts = st.sampled_from(TEXTS) | st.text(max_size=20) | st.lists(st.sampled_from([*CONTENTS, " ", "a"])).map("".join)
added = st.one_of(
    st.sampled_from(CONTENTS),
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(CONTENTS),
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), st.booleans()),
        }
    ),
)


class BothTokenizers(RuleBasedStateMachine):
    """A pair of tokenizers, ours and the library's. Each rule makes the same change or call on both."""

    @initialize(kind=st.sampled_from(KINDS))
    def begin(self, kind: str) -> None:
        warnings.simplefilter("ignore", DelegatedWarning)
        self.reference: Any = tokenizers.Tokenizer.from_str(trained(kind))
        self.ours: Any = Tokenizer.from_str(trained(kind))

    def both(self) -> tuple[Any, Any]:
        return self.reference, self.ours

    @rule(tokens=st.lists(added, max_size=3), special=st.booleans())
    def add(self, tokens: list[Any], special: bool) -> None:
        contents = {token if isinstance(token, str) else token["content"] for token in tokens}
        if len({content.lower() for content in contents}) < len(contents):
            return  # which of two equal patterns wins is chance in the reference
        counts = []
        for tokenizer in self.both():
            made = [token if isinstance(token, str) else AddedToken(**token) for token in tokens]
            counts.append((tokenizer.add_special_tokens if special else tokenizer.add_tokens)(made))
        assert counts[0] == counts[1]

    @rule(component=st.sampled_from([(kind, part) for kind, parts in COMPONENTS.items() for part in parts]))
    def set_component(self, component: tuple[str, Any]) -> None:
        for tokenizer in self.both():
            setattr(tokenizer, *component)

    @rule()
    def change_a_component(self) -> None:
        for tokenizer in self.both():
            if isinstance(tokenizer.pre_tokenizer, (pre_tokenizers.ByteLevel, pre_tokenizers.Metaspace)):
                tokenizer.pre_tokenizer = type(tokenizer.pre_tokenizer)()
            if isinstance(tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel):
                tokenizer.pre_tokenizer.add_prefix_space = not tokenizer.pre_tokenizer.add_prefix_space

    @rule(max_length=st.integers(12, 30), direction=st.sampled_from(["left", "right"]), stride=st.integers(0, 1))
    def truncate(self, max_length: int, direction: str, stride: int) -> None:
        for tokenizer in self.both():
            tokenizer.enable_truncation(max_length, stride=stride, direction=direction)

    @rule(
        length=st.none() | st.integers(0, 40), direction=st.sampled_from(["left", "right"]), of=st.none() | st.just(8)
    )
    def pad(self, length: int | None, direction: str, of: int | None) -> None:
        for tokenizer in self.both():
            tokenizer.enable_padding(length=length, direction=direction, pad_to_multiple_of=of, pad_id=3)

    @rule()
    def whole(self) -> None:
        for tokenizer in self.both():
            tokenizer.no_truncation()
            tokenizer.no_padding()

    @rule(value=st.booleans())
    def read_specials_as_text(self, value: bool) -> None:
        for tokenizer in self.both():
            tokenizer.encode_special_tokens = value

    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]))
    def copied(self, way: Any) -> None:
        self.ours, self.reference = way(self.ours), way(self.reference)
        assert self.ours.encode_special_tokens == self.reference.encode_special_tokens

    @rule(first=texts, second=st.none() | texts, special=st.booleans(), words=st.booleans())
    def encode(self, first: str, second: str | None, special: bool, words: bool) -> None:
        inputs = [None if text is None else text.split() if words else text for text in (first, second)]
        self.agree(lambda tokenizer: tokenizer.encode(*inputs, words, special))

    @rule(batch=st.lists(texts | st.tuples(texts, texts), max_size=4), special=st.booleans(), fast=st.booleans())
    def encode_batch(self, batch: list[Any], special: bool, fast: bool) -> None:
        name = "encode_batch_fast" if fast else "encode_batch"
        self.agree(lambda tokenizer: [one.ids for one in getattr(tokenizer, name)(batch, add_special_tokens=special)])
        if not fast:
            self.agree(lambda tokenizer: tokenizer.encode_batch(batch, add_special_tokens=special))

    @rule(rows=st.lists(st.lists(st.integers(0, 700), max_size=8), max_size=3), skip=st.booleans())
    def decode(self, rows: list[list[int]], skip: bool) -> None:
        self.agree(lambda tokenizer: tokenizer.decode_batch(rows, skip_special_tokens=skip, **self.lenient(tokenizer)))
        for ids in rows:
            self.agree(lambda tokenizer: tokenizer.decode(ids, skip_special_tokens=skip, **self.lenient(tokenizer)))  # noqa: B023

    @rule(ids=st.lists(st.integers(0, 700), max_size=12), skip=st.booleans())
    def decode_stream(self, ids: list[int], skip: bool) -> None:
        def chunks(tokenizer: Any) -> list[str | None]:
            kind = DecodeStream if tokenizer is self.ours else decoders.DecodeStream
            stream, found = kind(skip_special_tokens=skip), []
            for id in ids:
                try:
                    found.append(stream.step(tokenizer, id))
                except Exception:  # the reference raises plain Exception
                    return [*found, "refused"]
            return found

        self.agree(chunks)

    @rule(id=st.integers(0, 700), pair=st.booleans(), added=st.booleans())
    def look_up(self, id: int, pair: bool, added: bool) -> None:
        self.agree(lambda tokenizer: tokenizer.id_to_token(id))
        self.agree(lambda tokenizer: tokenizer.num_special_tokens_to_add(pair))
        self.agree(lambda tokenizer: tokenizer.get_vocab_size(added))
        self.agree(lambda tokenizer: tokenizer.get_vocab(added))
        self.agree(lambda tokenizer: (tokenizer.truncation, tokenizer.padding))

    @rule(first=texts, second=st.none() | texts, special=st.booleans())
    def post_process(self, first: str, second: str | None, special: bool) -> None:
        def processed(tokenizer: Any) -> Any:
            inputs = [
                None if text is None else tokenizer.encode(text, add_special_tokens=False) for text in (first, second)
            ]
            return tokenizer.post_process(inputs[0], inputs[1], special)

        self.agree(processed)

    def agree(self, call: Callable[[Any], Any]) -> None:
        """Check that `call` returns the same for both tokenizers, or raises for both."""
        expected, said = (outcome(lambda: call(tokenizer)) for tokenizer in self.both())  # noqa: B023
        assert said == expected

    def lenient(self, tokenizer: Any) -> dict[str, str]:
        """The argument that makes our tokenizer skip unknown ids in decoding, as the library's always does."""
        return {"unknown_ids": "skip"} if tokenizer is self.ours else {}

    @invariant()
    def same(self) -> None:
        reference, ours = getattr(self, "reference", None), getattr(self, "ours", None)
        if reference is None or ours is None:
            return
        for text in TEXTS[2:5]:
            expected = reference.encode(text)
            assert fields(ours.encode(text)) == fields(expected)
            assert ours.decode(expected.ids) == reference.decode(expected.ids)
        assert plain(ours.encode_batch([TEXTS[4], TEXTS[2:4]])) == plain(reference.encode_batch([TEXTS[4], TEXTS[2:4]]))
        assert plain(ours.get_added_tokens_decoder()) == plain(reference.get_added_tokens_decoder())
        assert [ours.token_to_id(token) for token in CONTENTS] == [reference.token_to_id(token) for token in CONTENTS]
        assert ours.to_str() == reference.to_str()
