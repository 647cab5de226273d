"""A plain and slow model of llama.cpp's tokenizers for GGUF files.

The model follows llama.cpp's src/llama-vocab.cpp (October 2026), except for our differences (docs/sources.md):

- Patterns and Unicode tables are those of the models' own tokenizers.
- Special tokens are found from the left.
- Merging makes neither control nor byte tokens of a SentencePiece model.
- No part of a user-defined token keeps text from its rules.
- A literal U+2581 begins no word.
- Decoding drops neither unused tokens nor spaces.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import regex  # type: ignore[import-untyped]

from crayon_hf.formats.gguf_patterns import PRE_TOKENIZERS

UNDEFINED, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(7)
SPACE = "\u2581"

# Settings, besides the pattern, of each value of `tokenizer.ggml.pre`.
WHOLE_FIRST = {
    *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"),
    *("minicpm5", "youtu", "glm4", "glm5", "tekken", "granite-embed-multi-97m"),
}
BEGINS = {
    *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"),
    *("tekken", "chameleon"),
}
OVER_TEXT = {"gemma4", "granite-embed-multi-311m", "sarvam-moe"}
ALWAYS_BEGINS = {"gemma4", "granite-embed-multi-311m"}
WITHOUT_BEGIN = {"chatglm-bpe", "glm4", "glm5"}

# Texts that make a token a control token. `parity.llama_cpp.made` uses only these.
CONTROL_BY_TEXT = {"</s>", "<|im_end|>", "<|endoftext|>", "<eos>", "<|fim_prefix|>"}
SHOWN_BY_TEXT = {"<|message|>"}

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_LETTERS = [chr(byte) if byte in _PRINTABLE else chr(0x100 + _HIDDEN.index(byte)) for byte in range(256)]


@dataclass(frozen=True)
class Vocabulary:
    """A GGUF file's metadata about its tokens. `keys` are other keys, without the prefix ``tokenizer.ggml.``."""

    model: str
    tokens: list[str]
    types: list[int]
    scores: list[float] = field(default_factory=list)
    merges: list[tuple[str, str]] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    """The name of the model, which decides about white space beside special tokens."""
    charsmap: bytes = b""
    rules: Callable[[str], str] = lambda text: text
    """Applies the `charsmap` to a text."""


class Plain:
    """Encodes and decodes as llama.cpp does with a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._all = vocabulary
        self.ids = {text: id for id, text in enumerate(vocabulary.tokens)}
        self._scores = vocabulary.scores or [0.0] * len(vocabulary.tokens)
        self._ranks: dict[tuple[str, str], int] = {}
        for rank, pair in enumerate(vocabulary.merges):
            self._ranks.setdefault(pair, rank)
        self._pre = "gemma4" if vocabulary.model == "gemma4" else vocabulary.keys.get("pre", "")
        self._types = self._corrected()
        self._bos, self._eos, self._unknown, self._sep = map(self._role, ("bos", "eos", "unknown", "seperator"))
        run = {"llama": self._spm, "gpt2": self._bpe, "gemma4": self._bpe, "bert": self._wpm, "t5": self._ugm}
        self._model = run[vocabulary.model]

    def _corrected(self) -> list[int]:
        types = list(self._all.types)
        for id, text in enumerate(self._all.tokens):
            named = text == "<|fim_prefix|>" and "fim_pre_token_id" in self._all.keys
            if text in CONTROL_BY_TEXT and not named:
                types[id] = CONTROL
            elif text in SHOWN_BY_TEXT:
                types[id] = USER_DEFINED
        return types

    def _role(self, role: str) -> int | None:
        defaults: dict[str, dict[str, int]] = {
            "llama": {"bos": 1, "eos": 2, "unknown": 0},
            "bert": {"bos": 101, "unknown": 100, "seperator": 102},
            "gpt2": {"eos": 11} if self._pre in WITHOUT_BEGIN else {"bos": 11, "eos": 11},
            "t5": {"eos": 1, "unknown": 2},
            "gemma4": {},
        }
        for id in (self._all.keys.get(f"{role}_token_id"), defaults[self._all.model].get(role)):
            if id is not None and id < len(self._all.tokens):
                return int(id)
        return None

    # -- a text

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Return the ids that ``llama_tokenize`` gives for a text."""
        ids: list[int] = []
        after_token = True  # the beginning of a text counts as the place after a token
        for part in self._parts(text, parse_special):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids += self._model(part, after_token)
            after_token = isinstance(part, int)
        return self._framed(ids) if add_special else ids

    def _framed(self, ids: list[int]) -> list[int]:
        if self._all.model == "bert":
            return [self._bos, *ids, self._sep]  # type: ignore[list-item]
        begins = {"llama": True, "t5": False}.get(self._all.model, self._pre in BEGINS)
        begins = self._all.keys.get("add_bos_token", begins) or self._pre in ALWAYS_BEGINS
        ends = self._all.keys.get("add_eos_token", self._all.model == "t5")
        before = [self._bos] if begins and self._bos is not None else []
        after = [self._eos] if ends and self._eos is not None else []
        return [*before, *ids, *after]

    def _parts(self, text: str, parse_special: bool) -> Iterator[str | int]:
        """Yield the parts of a text in order: the ids of special tokens, and the texts between these tokens.

        Longer special tokens are found first, as in llama.cpp.
        """
        wanted = (CONTROL, UNKNOWN, USER_DEFINED) if parse_special else (USER_DEFINED,)
        found = {text: id for text, id in self.ids.items() if self._types[id] in wanted}
        ordered = sorted(found, key=lambda one: (-len(one.encode()), found[one]))
        parts: list[str | int] = [text] if text else []
        for special in ordered:
            left, right = self._takes_space(special)
            cut: list[str | int] = []
            for part in parts:
                if isinstance(part, int):
                    cut.append(part)
                    continue
                rest = part
                while special in rest:
                    before, _, rest = rest.partition(special)
                    before = before.rstrip(" \t\n\v\f\r") if left else before
                    rest = rest.lstrip(" \t\n\v\f\r") if right else rest
                    cut += [before, found[special]] if before else [found[special]]
                cut += [rest] if rest else []
            parts = cut
        yield from parts

    def _takes_space(self, special: str) -> tuple[bool, bool]:
        """Return two flags: whether a special token absorbs the white space to its left, and to its right."""
        if any(name in self._pre for name in ("jina-v2-de", "jina-v2-es", "jina-v2-code")):
            return special == "<mask>", False
        if "phi-3" in self._all.name.lower():
            return False, special not in ("<unk>", "<s>", "<|endoftext|>")
        return False, False

    # -- the models

    def _spm(self, text: str, after_token: bool) -> list[int]:
        prefixed = self._all.keys.get("add_space_prefix", True) and after_token
        symbols = list(((" " if prefixed else "") + text).replace(" ", SPACE))
        while True:
            pairs = [
                (-self._scores[id], place)
                for place, (left, right) in enumerate(pairwise(symbols))
                if (id := self.ids.get(left + right)) is not None and self._is_joined(id)
            ]
            if not pairs:
                break
            _, place = min(pairs)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        return [id for symbol in symbols for id in self._spelled(symbol)]

    def _is_joined(self, id: int) -> bool:
        escaped = self._types[id] == USER_DEFINED and SPACE in self._all.tokens[id]
        return escaped or self._types[id] in (UNDEFINED, NORMAL, UNUSED)

    def _spelled(self, symbol: str) -> list[int]:
        if symbol in self.ids:
            return [self.ids[symbol]]
        return [self.ids[name] for byte in symbol.encode() if (name := f"<0x{byte:02X}>") in self.ids]

    def _bpe(self, text: str, after_token: bool) -> list[int]:
        over_text = self._pre in OVER_TEXT
        pieces = [text.replace(" ", SPACE) if over_text else text]
        name = self._pre or "default"
        for pattern in PRE_TOKENIZERS[name].patterns:
            compiled = regex.compile(pattern, regex.V1 if "&&" in pattern else 0)
            pieces = [part for piece in pieces for part in _cut(compiled, piece)]
        ids: list[int] = []
        for piece in pieces:
            word = piece if over_text else "".join(BYTE_LETTERS[byte] for byte in piece.encode())
            lines = self._pre in ALWAYS_BEGINS and not word.strip("\n")
            if (self._pre in WHOLE_FIRST or lines) and word in self.ids:
                ids.append(self.ids[word])
                continue
            for symbol in self._merged(list(word)):
                ids += self._spelled(symbol) if over_text else [self.ids[symbol]] if symbol in self.ids else []
        return ids

    def _merged(self, symbols: list[str]) -> list[str]:
        while True:
            pairs = [(self._ranks[pair], place) for place, pair in enumerate(pairwise(symbols)) if pair in self._ranks]
            if not pairs:
                return symbols
            _, place = min(pairs)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]

    def _wpm(self, text: str, after_token: bool) -> list[int]:
        lowercase = self._all.keys.get("normalizer.lowercase", True)
        strip_accents = self._all.keys.get("normalizer.strip_accents", lowercase)
        words = [""]
        for char in unicodedata.normalize("NFD", text) if strip_accents else text:
            category = unicodedata.category(char)
            if char.isspace():
                words.append("")
            elif char in "\0\ufffd" or category[0] == "C" or (strip_accents and category == "Mn"):
                continue
            elif category[0] == "P" or (char.isascii() and category[0] == "S") or "\u4e00" <= char <= "\u9fff":
                words += [char, ""]
            else:
                words[-1] += char.lower() if lowercase else char
        ids: list[int] = []
        for word in filter(None, words):
            found = [] if SPACE in word else self._longest(SPACE + word)
            ids += found or [self._unknown]  # type: ignore[list-item]
        return ids

    def _longest(self, word: str) -> list[int]:
        ids = []
        while word:
            end = next((end for end in range(len(word), 0, -1) if word[:end] in self.ids), 0)
            if not end:
                return []
            ids.append(self.ids[word[:end]])
            word = word[end:]
        return ids

    def _ugm(self, text: str, after_token: bool) -> list[int]:
        text = self._ugm_spaces(self._all.rules(text))
        stated = self._all.types  # before corrections
        worst = min((score for score, kind in zip(self._scores, stated, strict=True) if kind == NORMAL), default=0.0)
        longest = max(map(len, self._all.tokens))
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        best += [(float("-inf"), 0, -1)] * len(text)
        for start in range(len(text)):
            reached = best[start][0]
            known = False
            for end in range(start + 1, min(len(text), start + longest) + 1):
                id = self.ids.get(text[start:end])
                if id is None or stated[id] not in (NORMAL, USER_DEFINED, UNUSED):
                    continue
                known = known or end == start + 1
                score = reached + (0.0 if stated[id] == USER_DEFINED else self._scores[id])
                if score > best[end][0]:
                    best[end] = (score, start, id)
            if not known and reached + worst - 10 > best[start + 1][0]:
                best[start + 1] = (reached + worst - 10, start, self._unknown)  # type: ignore[assignment]
        ids: list[int] = []
        at = len(text)
        while at:
            _, at, id = best[at]
            if not (ids and ids[-1] == id == self._unknown):
                ids.append(id)
        return ids[::-1]

    def _ugm_spaces(self, text: str) -> str:
        if self._all.keys.get("remove_extra_whitespaces", False):
            return "".join(SPACE + word for word in text.split(" ") if word)
        prefix = SPACE if self._all.keys.get("add_space_prefix", False) and text.strip(" ") else ""
        return prefix + text.replace(" ", SPACE)

    # -- ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text that ``llama_detokenize`` gives with special tokens shown and no clean-up of spaces."""
        text = b"".join(map(self._piece, ids))
        model = self._all.model
        if model in ("llama", "t5") and self._all.keys.get("add_space_prefix", model == "llama"):
            text = text.removeprefix(b" ")
        return text.decode(errors="replace")

    def _piece(self, id: int) -> bytes:
        text, kind = self._all.tokens[id], self._types[id]
        if kind == BYTE:
            return bytes([int(text[3:5], 16)])
        if self._all.model in ("llama", "t5") or self._pre in OVER_TEXT:
            return text.replace(SPACE, " ").encode()
        if kind in (CONTROL, UNKNOWN, USER_DEFINED):
            return text.encode()
        return bytes(map(BYTE_LETTERS.index, text))


def _cut(pattern: Any, text: str) -> Iterator[str]:
    """Cut a text into the matches of the pattern and the texts between them."""
    at = 0
    for match in pattern.finditer(text):
        yield from filter(None, (text[at : match.start()], match.group()))
        at = match.end()
    if at < len(text):
        yield text[at:]
