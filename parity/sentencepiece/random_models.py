"""Random SentencePiece models: trained with random options or made of random pieces, and changed at random.

A model depends on the seed and its number alone. Most are unlike any published one: they have pieces of equal score,
user-defined pieces over spaces, unused and control pieces that texts spell, and rules of several characters.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
_SPACE = "\u2581"
_RULES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
_ALPHABETS = ("ab", "abc", "abcdefgh", "eée\u0301ô", "アイウｶﾞ", "ﬁ①Ａａ", "012٣", ".,!?-", "한국어", "😀é\u200d")
_SPACES = (" ", " ", " ", " ", "  ", "   ", "\t", "\n", "\u3000", _SPACE, _SPACE * 2)
_SYMBOLS = ("<sep>", "[MASK]", "<x>", "<xy>", "ab", "abc", "\uff21", "e\u0301", "ﬁ", "①b", "ｶﾞ", "▁a", "a▁", "▁", "😀")
_SPACED_SYMBOLS = ("  ", "   ", "    ", " a", "a ", "a b", "a  b", "\t", "\n", "\n\n", "\t ", " \u3000", "▁▁", "▁▁▁")
_CONTROL = ("<ctl>", "[INST]", "@@", "aa", "ba", "<unk1>")
_OWN_RULES = (
    {"a": "b"}, {"ab": "c"}, {"A": "a", "B": "b"}, {"c": ""}, {"b": "  "}, {"\n": " ", "\t": " "}, {"e\u0301": "é"},
    {"x": " y"}, {"é": "e\u0301"}, {"a": "▁"}, {"①": "1 "}, {"\u3000": " "}, {"abc": "d", "bd": "e"}, {"😀": ":)"},
)  # fmt: skip


class RandomModel:
    """A random SentencePiece model, with random texts and ids for it."""

    def __init__(self, seed: int, number: int) -> None:
        self.number = number
        self.rng = Random(f"{seed}/{number}")
        self.alphabet = "".join(self.rng.sample(_ALPHABETS, self.rng.randint(1, 4)))
        self.proto = import_module("sentencepiece.sentencepiece_model_pb2").ModelProto()
        if self.rng.random() < 0.5:
            self.proto.ParseFromString(self._trained())
        else:
            self._make_pieces()
        for change in (self._change_scores, self._change_kinds, self._add_pieces, self._change_options):
            if self.rng.random() < 0.5:
                change()
        self._add_bytes()

    @property
    def data(self) -> bytes:
        """The content of the model's file."""
        data: bytes = self.proto.SerializeToString()
        return data

    @property
    def described(self) -> str:
        """The model's type and options, in words for reports."""
        spec, trainer = self.proto.normalizer_spec, self.proto.trainer_spec
        flags = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
        given = [name for name in flags if getattr(spec, name)]
        given += [name for name in ("treat_whitespace_as_suffix", "byte_fallback") if getattr(trainer, name)]
        kind = ("unigram", "bpe", "word", "char")[trainer.model_type - 1]
        return ", ".join([kind, spec.name or "no rules", *given])

    def texts(self, count: int) -> list[str]:
        """Return texts made of the model's pieces and letters, and of spaces."""
        rng = self.rng
        pieces = [piece.piece for piece in self.proto.pieces if piece.type != BYTE]
        odd = [*_SYMBOLS, *_SPACED_SYMBOLS, *_CONTROL, "<0x41>", "<s>", "<unk>", "\u2047", "z", "Ω", "\r\n"]
        sources: tuple[Sequence[str], ...] = (pieces, self.alphabet, _SPACES, odd)
        texts = ["", " ", "  ", _SPACE, "a", " a", "a  b", "  a", "a  "]
        for _ in range(count - len(texts)):
            weights = [rng.random() for _ in sources]
            units = rng.choices(sources, weights, k=rng.choice((2, 4, 8, 20, 60)))
            text = "".join(rng.choice(unit) for unit in units)
            texts.append(text.replace(_SPACE, " ") if rng.random() < 0.6 else text)
        return texts

    def rows(self, count: int) -> list[list[int]]:
        """Return rows of arbitrary ids without byte pieces, whose bytes might not be UTF-8."""
        ids = [id for id, piece in enumerate(self.proto.pieces) if piece.type != BYTE]
        chosen = [self.rng.sample(ids, min(len(ids), size)) for size in (3, 10, len(ids))]
        return [self.rng.choices(self.rng.choice(chosen), k=self.rng.randint(1, 6)) for _ in range(count)]

    # -- making

    def _sentences(self) -> Iterator[str]:
        rng = self.rng
        words = ["".join(rng.choices(self.alphabet, k=rng.randint(1, 6))) for _ in range(40)]
        spaces = _SPACES if rng.random() < 0.3 else " "
        for _ in range(60):
            yield "".join(rng.choice(words) + rng.choice(spaces) for _ in range(rng.randint(1, 12)))

    def _trained(self) -> bytes:
        rng = self.rng
        written = io.BytesIO()
        with tempfile.TemporaryDirectory(prefix="crayon-parity-") as directory:
            import_module("sentencepiece").SentencePieceTrainer.train(
                sentence_iterator=self._sentences(),
                model_writer=written,
                model_type=rng.choice(("bpe", "bpe", "unigram", "unigram", "char", "word")[: rng.choice((4, 4, 4, 6))]),
                vocab_size=rng.choice((70, 100, 160)) + len(self.alphabet),
                hard_vocab_limit=False,
                num_threads=1,
                minloglevel=4,
                character_coverage=rng.choice((1.0, 0.98)),
                user_defined_symbols=self._symbols(),
                control_symbols=rng.sample(_CONTROL, rng.choice((0, 0, 2))),
                **self._rules(directory),
                **{
                    name: rng.random() < share
                    for name, share in (
                        ("add_dummy_prefix", 0.7),
                        ("remove_extra_whitespaces", 0.6),
                        ("escape_whitespaces", 0.9),
                        ("byte_fallback", 0.3),
                        ("treat_whitespace_as_suffix", 0.2),
                        ("split_by_unicode_script", 0.5),
                        ("split_by_whitespace", 0.6),
                        ("split_by_number", 0.5),
                        ("split_digits", 0.3),
                        ("allow_whitespace_only_pieces", 0.4),
                    )
                },
            )
        return written.getvalue()

    def _symbols(self) -> list[str]:
        rng = self.rng
        found = rng.sample(_SYMBOLS, rng.choice((0, 0, 1, 3))) + rng.sample(_SPACED_SYMBOLS, rng.choice((0, 0, 1, 2)))
        return list(dict.fromkeys(found))

    def _rules(self, directory: str) -> dict[str, str]:
        if self.rng.random() < 0.8:
            return {"normalization_rule_name": self.rng.choice(_RULES)}
        rules = Path(directory, "rules.tsv")
        own: dict[str, str] = {}
        for some in self.rng.sample(_OWN_RULES, self.rng.randint(1, 3)):
            own |= some
        lines = ("\t".join(" ".join(f"{ord(char):X}" for char in side) for side in rule) for rule in own.items())
        rules.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return {"normalization_rule_tsv": str(rules)}

    def _make_pieces(self) -> None:
        """Make pieces of a few letters and spaces, often with equal scores."""
        rng, proto = self.rng, self.proto
        proto.trainer_spec.model_type = rng.choice((1, 2))
        proto.normalizer_spec.add_dummy_prefix = rng.random() < 0.7
        proto.normalizer_spec.remove_extra_whitespaces = rng.random() < 0.5
        for name, kind in (("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)):
            proto.pieces.add(piece=name, type=kind)
        letters = [*rng.sample(self.alphabet, min(len(self.alphabet), rng.randint(1, 6))), _SPACE]
        known = set(letters if rng.random() < 0.9 else letters[1:])
        for _ in range(rng.choice((3, 10, 30, 80))):
            known.add("".join(rng.choices(letters, k=rng.choice((2, 2, 3, 3, 4, 6)))))
        order = sorted(known)
        rng.shuffle(order)
        score = self._score()
        for rank, piece in enumerate(order):
            proto.pieces.add(piece=piece, score=score(rank))

    def _score(self) -> Any:
        rng = self.rng
        return rng.choice(
            (
                lambda rank: -float(rank),
                lambda rank: -float(rank) - 1,
                lambda rank: -rng.uniform(1, 15),
                lambda rank: -float(rng.randint(1, 12)),
                lambda rank: -rng.choice((0.1, 0.5, 1.1, 3.3)),
                lambda rank: -2.5 if rng.random() < 0.3 else -float(rank) - 1,
                lambda rank: -rng.uniform(1, 15) * 10.0 ** rng.randint(-3, 4),
                lambda rank: rng.uniform(-5, 2),
            )
        )

    # -- changes

    def _change_scores(self) -> None:
        score, share = self._score(), self.rng.choice((0.05, 0.3, 1.0))
        for rank, piece in enumerate(self.proto.pieces):
            if piece.type == NORMAL and self.rng.random() < share:
                piece.score = score(rank)

    def _change_kinds(self) -> None:
        kind, share = self.rng.choice((UNUSED, USER_DEFINED, CONTROL)), self.rng.choice((0.02, 0.1, 0.4))
        for piece in self.proto.pieces:
            if piece.type == NORMAL and len(piece.piece) > 1 and self.rng.random() < share:
                piece.type = kind

    def _add_pieces(self) -> None:
        known = {piece.piece for piece in self.proto.pieces}
        for text in [*self._symbols(), *self.rng.sample(_CONTROL, 2)]:
            if text not in known:
                known.add(text)
                self.proto.pieces.add(piece=text, type=CONTROL if text in _CONTROL else USER_DEFINED)

    def _change_options(self) -> None:
        rng, spec, trainer = self.rng, self.proto.normalizer_spec, self.proto.trainer_spec
        spec.add_dummy_prefix = rng.random() < 0.7
        spec.remove_extra_whitespaces = rng.random() < 0.5
        spec.escape_whitespaces = rng.random() < 0.9
        trainer.treat_whitespace_as_suffix = rng.random() < 0.2
        trainer.byte_fallback = rng.random() < 0.3
        if rng.random() < 0.3:
            trainer.unk_surface = rng.choice(("", " ", "?", "▁?", " <unk> "))

    def _add_bytes(self) -> None:
        known = {piece.piece for piece in self.proto.pieces}
        names = [f"<0x{byte:02X}>" for byte in range(256)]
        if self.proto.trainer_spec.byte_fallback:
            for name in names:
                if name not in known:
                    self.proto.pieces.add(piece=name, type=BYTE)
        elif known.issuperset(names):
            self.proto.trainer_spec.byte_fallback = True
