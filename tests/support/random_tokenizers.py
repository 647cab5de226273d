"""Small random ``tokenizer.json`` documents over a few letters, for tests that convert them to other formats. These
formats can express most of the documents' components."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from crayon_hf.tokenizer_json.parts import added_token, byte_level, split, whole_document
from crayon_hf.util.byte_level import spell
from tests.conftest import LLAMA3_PATTERN, QWEN_PATTERN

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
        self.kind = self.rng.choice(("text", "text", "text", "bytes", "bytes", "unigram", "unigram", "wordpiece"))
        self.document: dict[str, Any] = getattr(self, f"_{self.kind}")()

    def texts(self, count: int) -> list[str]:
        """Return texts of the tokenizer's letters and tokens, white space, and unknown characters."""
        rng = self.rng
        tokens = [token["content"] for token in self.document["added_tokens"]]
        words = [
            *self.letters,
            *LETTERS,
            "ab",
            "aab",
            " ",
            " ",
            "  ",
            SPACE,
            "\n",
            "\t",
            "7",
            "é",
            "日",
            "e\u0301",
            "'s",
        ]
        words += ["<0x41>", "<unk>", "##a", ".", "A"]
        texts = ["", " ", "  ", "a", " a", "a ", SPACE, f"{SPACE}a", "aaa", "aaaa", "\n", "日日 é日"]
        for _ in range(count - len(texts)):
            chosen = words + tokens if rng.random() < 0.4 else words[: len(self.letters) + 10]
            texts.append("".join(rng.choices(chosen, k=rng.choice((2, 4, 8, 20)))))
        return texts

    def special(self) -> list[str]:
        """The texts of the document's special tokens."""
        return [token["content"] for token in self.document["added_tokens"] if token["special"]]

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- models

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
            ways = [
                (text[:cut], text[cut:])
                for text in sorted(order, key=order.__getitem__)
                for cut in range(1, len(text))
                if text[:cut] in made and text[cut:] in made
            ]
            merges = ways
        elif how < 0.7 and len(merges) > 2:
            at = rng.randrange(len(merges) - 1)
            merges[at], merges[at + 1] = merges[at + 1], merges[at]
        return merges

    def _bpe(self, letters: Sequence[str], count: int, first: Sequence[str] = ()) -> dict[str, Any]:
        merges = self._merges(letters, count)
        tokens = [*first, *letters, *(left + right for left, right in merges)]
        if self._chance(0.15):  # a token that no merge makes
            tokens.append("".join(self.rng.choices(letters, k=3)))
        vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
        options = {"dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None}
        flags = {"fuse_unk": False, "byte_fallback": False, "ignore_merges": self._chance(0.1)}
        return {"type": "BPE", **options, **flags, "vocab": vocab, "merges": [list(pair) for pair in merges]}

    def _text(self) -> dict[str, Any]:
        rng = self.rng
        self.letters = [*rng.sample(LETTERS, rng.randint(1, 4)), *([SPACE] if self._chance(0.9) else [])]
        has_bytes = self._chance(0.5)
        first = ["<unk>", "<s>", "</s>", *(BYTES if has_bytes else [])]
        model = self._bpe(self.letters, rng.choice((0, 3, 8, 20)), first)
        fused = self._chance(0.9)
        model |= {"unk_token": "<unk>", "fuse_unk": fused, "byte_fallback": has_bytes and self._chance(0.9)}
        return self._whole(model, **self._spaces())

    def _unigram(self) -> dict[str, Any]:
        rng = self.rng
        self.letters = [*rng.sample(LETTERS, rng.randint(1, 4)), SPACE]
        pieces = dict.fromkeys(self.letters)
        for _ in range(rng.choice((2, 6, 20))):
            pieces["".join(rng.choices(self.letters, k=rng.choice((2, 2, 3))))] = None
        if self._chance(0.6):
            pieces = {piece: None for piece in pieces if SPACE not in piece[1:]}
        has_bytes = self._chance(0.2)
        names = ["<unk>", "<s>", "</s>", *(BYTES if has_bytes else [])]
        step = 0.25 if self._chance(0.7) else 0.1
        vocab = [[name, 0.0] for name in names] + [[piece, -step * rng.randint(4, 60)] for piece in pieces]
        model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": has_bytes}
        return self._whole(model, **self._spaces())

    def _bytes(self) -> dict[str, Any]:
        rng = self.rng
        self.letters = [*LETTERS]
        letters = [spell(bytes([byte])) for byte in range(256)]
        model = self._bpe(letters, rng.choice((0, 10, 40)))
        use_regex = self._chance(0.4)
        steps = [] if use_regex else [split(rng.choice((LLAMA3_PATTERN, QWEN_PATTERN, r"\p{N}", r"a+")))]
        steps.append(byte_level(add_prefix_space=self._chance(0.1), use_regex=use_regex))
        cuts = {"type": "Sequence", "pretokenizers": steps}
        normalizer = {"type": rng.choice(("NFC", "Lowercase"))} if self._chance(0.1) else None
        return self._whole(model, normalizer=normalizer, pre_tokenizer=cuts if len(steps) > 1 else steps[0])

    def _wordpiece(self) -> dict[str, Any]:
        rng = self.rng
        self.letters = [*LETTERS]
        pieces = ["".join(rng.choices(LETTERS, k=rng.randint(1, 3))) for _ in range(20)]
        pieces = [piece if self._chance(0.5) else f"##{piece}" for piece in pieces]
        tokens = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *pieces])
        names = ("clean_text", "handle_chinese_chars", "lowercase")
        normalizer: dict[str, Any] = {"type": "BertNormalizer", "strip_accents": rng.choice((None, False, True))}
        normalizer |= {name: self._chance(0.9) for name in names}
        longest = 2**53 - 1 if self._chance(0.8) else 100
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
        model |= {"max_input_chars_per_word": longest, "vocab": {token: id for id, token in enumerate(tokens)}}
        made = self._whole(model, normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"}, first=4)
        ends = [{"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]")]
        single = [ends[0], {"Sequence": {"id": "A", "type_id": 0}}, ends[1]]
        specials = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in (("[CLS]", 2), ("[SEP]", 3))}
        template = {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": specials}
        template["pair"] = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
        return made | {"post_processor": template}

    # -- the other fields of a document

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

    def _whole(self, model: dict[str, Any], first: int = 3, **parts: Any) -> dict[str, Any]:
        """Return a document with this model, added tokens of which some are special, and `parts` as other fields. The
        special tokens are among the model's `first` tokens."""
        rng = self.rng
        known = (
            model["vocab"]
            if isinstance(model["vocab"], dict)
            else {row[0]: id for id, row in enumerate(model["vocab"])}
        )
        names = [token for token in [*known][:first] if token.startswith(("<", "["))]
        late = self._chance(0.2)
        added = [added_token(known[name], name, normalized=late) for name in names]
        size = len(known)
        if model["type"] != "Unigram":
            for text in rng.sample(SPECIAL, rng.choice((0, 0, 1))) + rng.sample(PLAIN, rng.choice((0, 0, 0, 1, 2))):
                if text in known:
                    continue
                flags = {"special": text in SPECIAL, "normalized": self._chance(0.1)}
                flags |= {name: self._chance(0.05) for name in ("lstrip", "rstrip", "single_word")}
                added.append(added_token(size, text, **flags))
                size += 1
        ends = [name for name in ("<s>", "</s>") if name in known]
        if ends and self._chance(0.4):
            specials = {name: {"id": name, "ids": [known[name]], "tokens": [name]} for name in ends}
            single: list[Any] = [{"Sequence": {"id": "A", "type_id": 0}}]
            if self._chance(0.7):
                single.insert(0, {"SpecialToken": {"id": "<s>", "type_id": 0}})
            if self._chance(0.5):
                single.append({"SpecialToken": {"id": "</s>", "type_id": 0}})
            pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
            template = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials}
            parts["post_processor"] = template
        return whole_document(model, added_tokens=added, **parts)
