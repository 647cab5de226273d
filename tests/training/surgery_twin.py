"""Plain implementations of `extend` and `shrink`, over strings. `tokenizers` cuts the texts into words."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import tokenizers

Words = Counter[str]


def words_of(path_or_json: str, texts: list[str], cut_at_marks: bool = False) -> Words:
    """Count the words into which `tokenizers` cuts texts. Added tokens in the texts are not counted."""
    stock = tokenizers.Tokenizer.from_str(path_or_json)
    added = [token.content for token in stock.get_added_tokens_decoder().values()]
    words: Words = Counter()
    for text in texts:
        parts = [text]
        for content in added:
            parts = [part for whole in parts for part in whole.split(content)]
        for part in filter(None, parts):
            spelled = part if stock.normalizer is None else stock.normalizer.normalize_str(part)
            pieces = [spelled] if stock.pre_tokenizer is None else cut(stock, spelled)
            for piece in pieces:
                words.update(marks_apart(piece) if cut_at_marks else [piece])
    return words


def cut(stock: Any, text: str) -> list[str]:
    return [piece for piece, _ in stock.pre_tokenizer.pre_tokenize_str(text)]


def marks_apart(text: str) -> list[str]:
    """Cut a text in front of each run of U+2581."""
    pieces: list[str] = []
    for i, character in enumerate(text):
        if i == 0 or (character == "▁" and text[i - 1] != "▁"):
            pieces.append("")
        pieces[-1] += character
    return pieces


def new_characters(model: dict[str, Any], words: Words, most: int) -> list[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    missing = [c for c in counts if c not in model["vocab"] and not (model["byte_fallback"] and ord(c) < 128)]
    return sorted(sorted(missing, key=lambda c: (-counts[c], -ord(c)))[:most])


def merges_of(model: dict[str, Any], symbols: list[str]) -> Iterator[str]:
    """Merge neighbouring symbols of a list, and yield the product of each merge."""
    ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
    while found := [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks]:
        _, i = min(found)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        yield symbols[i]


def merged(model: dict[str, Any], word: str) -> list[str]:
    """Merge a word. A character that the vocabulary lacks becomes "", which no merge joins."""
    if model["ignore_merges"] and word in model["vocab"]:
        return [word]
    symbols = [c if c in model["vocab"] else "" for c in word]
    list(merges_of(model, symbols))
    return symbols


def extended(
    document: dict[str, Any],
    words: Words,
    total: int,
    *,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    limit_alphabet: int | None = None,
) -> tuple[dict[str, int], list[list[str]], dict[str, list[str]]]:
    """Return the new tokens with their ids, the new merges, and each word's symbols after the last merge."""
    added = {token["content"]: token["id"] for token in document["added_tokens"]}
    model = document["model"] | {"vocab": dict(document["model"]["vocab"])}
    ids = model["vocab"] | added
    following = max(ids.values()) + 1
    room = total - following
    new: dict[str, int] = {}
    for character in new_characters(model, words, room if limit_alphabet is None else limit_alphabet):
        ids[character] = new[character] = model["vocab"][character] = following
        following += 1
    states = {word: merged(model, word) for word in words}
    reusable = (
        model["vocab"].keys()
        - added.keys()
        - {model["unk_token"], *(part for pair in model["merges"] for part in pair)}
    )
    reusable -= {f"<0x{byte:02X}>" for byte in range(256)}
    reusable -= {symbol for symbols in states.values() if len(symbols) > 1 for symbol in symbols}
    merges: list[list[str]] = []
    while following < total:
        counts: Counter[tuple[str, str]] = Counter()
        for word, symbols in states.items():
            for pair in itertools.pairwise(symbols):
                product = "".join(pair)
                if "" in pair or (product in ids and product not in reusable):
                    continue
                if max_token_length is None or len(product) < max_token_length:
                    counts[pair] += words[word]
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))
        if counts[best] < max(min_frequency, 1):
            break
        product = "".join(best)
        if product in ids:
            reusable.remove(product)  # an old token, which merges can make from here on
        else:
            ids[product] = new[product] = following
            following += 1
        merges.append(list(best))
        states = {word: joined(symbols, best) for word, symbols in states.items()}
    return new, merges, states


def joined(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    for symbol in symbols:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return out


def parts_of(model: dict[str, Any], token: str) -> set[str]:
    """Return a token and the products of its own merges, or the token alone if merges do not make it."""
    symbols = list(token)
    made = {token, *merges_of(model, symbols)}
    return made | set(token) if symbols == [token] else {token}


def document_of(tokenizer: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(tokenizer.to_str())
    return document
