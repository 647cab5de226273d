"""Small random ``tokenizer.json`` documents of BPE over a few letters, for tests that convert them to other formats.
These formats can express many of the documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tokenizers import processors

from crayon_hf.tokenizer_json.parts import BPE, added_token, whole_document
from tests.support.reference_impl import component

SPACE = "\u2581"
LETTERS = "abcdxy"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PREPENDED = {"type": "Prepend", "prepend": SPACE}
ESCAPED = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
SPECIAL = ("<s>", "</s>", "<sep>", "[CLS]")
PLAIN = ("<x>", "ab", "\n\n", "<|y|>", "a b")


class RandomDocument:
    """A random document that a seed determines, and texts for it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.document = self._made()

    def texts(self, count: int) -> list[str]:
        """Return texts of the tokenizer's letters and tokens, white space, and unknown characters."""
        rng = self.rng
        tokens = [token["content"] for token in self.document["added_tokens"]]
        words = [*self.letters, *LETTERS, *"  .A\n\t7é日", "ab", "aab", "  ", SPACE, "e\u0301", "'s"]
        words += ["<0x41>", "<unk>", "##a"]
        texts = ["", " ", "  ", "a", " a", "a ", SPACE, f"{SPACE}a", "aaa", "aaaa", "\n", "日日 é日"]
        for _ in range(count - len(texts)):
            chosen = words + tokens if rng.random() < 0.4 else words[: len(self.letters) + 10]
            texts.append("".join(rng.choices(chosen, k=rng.choice((2, 4, 8, 20)))))
        return texts

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    def _merges(self, letters: Sequence[str], count: int) -> list[tuple[str, str]]:
        """Random merges of letters and earlier products. Often they include every way to split each product into two
        tokens, or two merges change places."""
        rng = self.rng
        made: dict[str, None] = dict.fromkeys(letters)
        merges: list[tuple[str, str]] = []
        for _ in range(count):
            pair = rng.choice([*made]), rng.choice([*made])
            if "".join(pair) not in made and len("".join(pair)) < 7:
                merges.append(pair)
                made["".join(pair)] = None
        how = rng.random()
        if how < 0.5:  # as converters of SentencePiece models list them
            order = {left + right: number for number, (left, right) in enumerate(merges)}
            if self._chance(0.3):
                numbers = rng.sample(range(len(order)), len(order))
                order = dict(zip(order, numbers, strict=True))
            merges = [
                (text[:cut], text[cut:])
                for text in sorted(order, key=order.__getitem__)
                for cut in range(1, len(text))
                if text[:cut] in made and text[cut:] in made
            ]
        elif how < 0.7 and len(merges) > 2:
            at = rng.randrange(len(merges) - 1)
            merges[at], merges[at + 1] = merges[at + 1], merges[at]
        return merges

    def _made(self) -> dict[str, Any]:
        rng = self.rng
        self.letters = [*rng.sample(LETTERS, rng.randint(1, 4)), *([SPACE] if self._chance(0.9) else [])]
        has_bytes = self._chance(0.5)
        merges = self._merges(self.letters, rng.choice((0, 3, 8, 20)))
        tokens = ["<unk>", "<s>", "</s>", *(BYTES if has_bytes else []), *self.letters]
        tokens += (left + right for left, right in merges)
        if self._chance(0.15):  # a token that no merge makes
            tokens.append("".join(rng.choices(self.letters, k=3)))
        vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
        model = {**BPE, "unk_token": "<unk>", "fuse_unk": self._chance(0.9), "ignore_merges": self._chance(0.1)}
        model |= {"byte_fallback": has_bytes and self._chance(0.9)}
        return self._whole({**model, "vocab": vocab, "merges": [list(pair) for pair in merges]}, **self._spaces())

    def _spaces(self) -> dict[str, Any]:
        rng = self.rng
        scheme = rng.choice(("never", "never", "always", "first"))
        metaspace = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": self._chance(0.7)}
        both = {"type": "Sequence", "normalizers": [PREPENDED, ESCAPED]}
        gemma = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
        return rng.choice(
            (
                {"normalizer": both},
                {"normalizer": ESCAPED},
                {"normalizer": ESCAPED, "pre_tokenizer": gemma},
                {"pre_tokenizer": metaspace},
                {"pre_tokenizer": metaspace},
                {"normalizer": both, "pre_tokenizer": metaspace},
                {"normalizer": {"type": "NFKC"}, "pre_tokenizer": metaspace},
                {"pre_tokenizer": {"type": "Whitespace"}},
                {},
            )
        )

    def _whole(self, model: dict[str, Any], **parts: Any) -> dict[str, Any]:
        """Return a document with this model, added tokens of which some are special, and `parts` as other fields."""
        rng, known = self.rng, model["vocab"]
        late = self._chance(0.2)
        added = [added_token(known[name], name, normalized=late) for name in ("<unk>", "<s>", "</s>")]
        for text in rng.sample(SPECIAL, rng.choice((0, 0, 1))) + rng.sample(PLAIN, rng.choice((0, 0, 0, 1, 2))):
            if text not in known:
                flags = {name: self._chance(0.05) for name in ("lstrip", "rstrip", "single_word")}
                flags |= {"special": text in SPECIAL, "normalized": self._chance(0.1)}
                added.append(added_token(len(known) + len(added) - 3, text, **flags))
        if self._chance(0.4):
            single = f"{'<s> ' * self._chance(0.7)}$A{' </s>' * self._chance(0.5)}"
            ends = [(name, known[name]) for name in ("<s>", "</s>")]
            template = component(processors.TemplateProcessing(single, f"{single} $B:1", ends))
            parts["post_processor"] = template
        return whole_document(model, added_tokens=added, **parts)
