"""Any sequence of changes leaves ours and the reference the same."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import tokenizers
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors

from crayon_hf import DelegatedWarning, Tokenizer
from tests.support.stand_in_cases import KINDS, TEXTS, fields, plain, trained

CONTENTS = ("[NEW]", "fox", "Zoë", "é", " over", "the", "<s>", "</s>", "xx", "NEWWORD", "狐", "")
NORMALIZERS = (
    None,
    normalizers.Lowercase(),
    normalizers.NFD(),
    normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()]),
    normalizers.Replace("o", "0"),
    normalizers.BertNormalizer(strip_accents=True),
)
PRE_TOKENIZERS = (
    None,
    pre_tokenizers.Whitespace(),
    pre_tokenizers.ByteLevel(add_prefix_space=True),
    pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(individual_digits=True)]),
    pre_tokenizers.Metaspace(),
)
POST_PROCESSORS = (
    None,
    processors.ByteLevel(trim_offsets=True),
    processors.RobertaProcessing(("</s>", 1), ("<s>", 0)),
    processors.TemplateProcessing(single="$A <s>", pair="$A <s> $B:2 <s>:3", special_tokens=[("<s>", 0)]),
)
DECODERS = (None, decoders.ByteLevel(), decoders.Metaspace(), decoders.Sequence([decoders.Fuse()]))
FLAGS = st.booleans()
added = st.one_of(
    st.sampled_from(CONTENTS),
    st.builds(
        lambda content, single_word, lstrip, rstrip, normalized, special: {
            "content": content,
            "single_word": single_word,
            "lstrip": lstrip,
            "rstrip": rstrip,
            "normalized": normalized,
            "special": special,
        },
        st.sampled_from(CONTENTS),
        FLAGS,
        FLAGS,
        FLAGS,
        FLAGS,
        FLAGS,
    ),
)


class BothTokenizers(RuleBasedStateMachine):
    """Each rule does one thing to both."""

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

    @rule(normalizer=st.sampled_from(NORMALIZERS))
    def set_normalizer(self, normalizer: Any) -> None:
        for tokenizer in self.both():
            tokenizer.normalizer = normalizer

    @rule(pre_tokenizer=st.sampled_from(PRE_TOKENIZERS))
    def set_pre_tokenizer(self, pre_tokenizer: Any) -> None:
        for tokenizer in self.both():
            tokenizer.pre_tokenizer = pre_tokenizer

    @rule(post_processor=st.sampled_from(POST_PROCESSORS))
    def set_post_processor(self, post_processor: Any) -> None:
        for tokenizer in self.both():
            tokenizer.post_processor = post_processor

    @rule(decoder=st.sampled_from(DECODERS))
    def set_decoder(self, decoder: Any) -> None:
        for tokenizer in self.both():
            tokenizer.decoder = decoder

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

    @invariant()
    def same(self) -> None:
        reference, ours = getattr(self, "reference", None), getattr(self, "ours", None)
        if reference is None or ours is None:
            return
        for text in TEXTS[2:5]:
            expected = reference.encode(text)
            assert fields(ours.encode(text)) == fields(expected)
            assert ours.decode(expected.ids, unknown_ids="skip") == reference.decode(expected.ids)
        assert plain(ours.encode_batch([TEXTS[4], TEXTS[2:4]])) == plain(reference.encode_batch([TEXTS[4], TEXTS[2:4]]))
        assert plain(ours.get_added_tokens_decoder()) == plain(reference.get_added_tokens_decoder())
        assert [ours.token_to_id(token) for token in CONTENTS] == [reference.token_to_id(token) for token in CONTENTS]
        assert ours.to_str() == reference.to_str()


TestBothTokenizers = BothTokenizers.TestCase
TestBothTokenizers.settings = settings(
    max_examples=40, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
