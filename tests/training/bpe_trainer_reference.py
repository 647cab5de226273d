"""The BPE trainer of Hugging Face tokenizers 0.23, plainly: what a trainer has to give, and every oddity of it.

A queue holds pairs of ids with a count and the words they were seen in. The pair with the highest count is taken, of
equals the smaller ids, and merged in those words. What an optimised trainer easily gets wrong, and this does not:

- A count in the queue may be stale. A pair whose count has changed goes back with its count of now.
- The count of a pair is not lowered by its own merge. A pair that comes up again (a merge whose product was already a
  token reuses that id, so that pairs of it may be known) starts from its old count.
- A pair that comes up again gets a second entry in the queue, with the words of this time and the count of all. Both
  entries are merged, each in its own words; of a pair that was merged twice the last rank counts.
- Words of a pair are remembered only where the count was above zero after the merge that made it.
- Under ``max_token_length`` pairs that would be as long (in characters) or longer are not counted when they come up,
  but taken off when they go. Counts fall below zero, and a pair of the queue with such a count is read as unsigned, so
  it comes next. The pairs of single characters are always counted.
- Occurrences are counted where they overlap: ``aaa`` has the pair twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

UNSIGNED = 1 << 64


class Trainer:
    """One training. ``ambiguous``: it may hang on which of two equal characters or entries of the queue was taken."""

    def __init__(self, prefix: str, suffix: str, max_token_length: int | None, bits: int, newest_first: bool) -> None:
        self.prefix, self.suffix = prefix, suffix
        self.max_token_length = max_token_length if max_token_length is not None else UNSIGNED
        self.bits, self.newest_first = bits, newest_first
        self.tokens: list[str] = []
        self.ids: dict[str, int] = {}
        self.words: list[list[tuple[int, int]]] = []  # of each word (id, characters)
        self.counts: list[int] = []
        self.pair_counts: dict[tuple[int, int], int] = {}
        self.seen_in: dict[tuple[int, int], set[int]] = {}
        self.queue: list[tuple[int, tuple[int, int], int, set[int]]] = []
        self.pushed = 0
        self.merges: dict[tuple[int, int], int] = {}  # to the last rank
        self.ambiguous = False

    def add_token(self, token: str) -> int:
        if token not in self.ids:
            self.ids[token] = len(self.tokens)
            self.tokens.append(token)
        return self.ids[token]

    def wrap(self, count: int) -> int:
        half = 1 << (self.bits - 1)
        return (count + half) % (2 * half) - half

    def add_alphabet(self, words: list[tuple[str, int]], initial: Iterable[str], limit: int | None) -> None:
        frequency: dict[str, int] = {}
        for word, count in words:
            for character in word:
                frequency[character] = (frequency.get(character, 0) + count) % UNSIGNED
        for character in initial:
            frequency[character] = UNSIGNED - 1
        kept = sorted(frequency, key=lambda character: (frequency[character], character))
        if limit is not None:
            cut = max(len(kept) - limit, 0)
            self.ambiguous |= 0 < cut < len(kept) and frequency[kept[cut - 1]] == frequency[kept[cut]]
            kept = kept[cut:]
        for character in sorted(kept):
            self.add_token(character)

    def symbol(self, word: str, index: int) -> str:
        before = self.prefix if index > 0 else ""
        after = self.suffix if index == len(word) - 1 else ""
        return before + word[index] + after

    def add_words(self, words: list[tuple[str, int]], symbol_order: Sequence[str] | None) -> None:
        # Special tokens of one character are of the alphabet, too; decided before symbols join the vocabulary.
        symbols = [[self.symbol(w, i) for i in range(len(w)) if w[i] in self.ids] for w, _ in words]
        if symbol_order is not None:
            of_words = {symbol for word in symbols for symbol in word}
            for symbol in symbol_order:
                if symbol in of_words:
                    self.add_token(symbol)
        for word, (_, count) in zip(symbols, words, strict=True):
            self.words.append([(self.add_token(symbol), 1) for symbol in word])
            self.counts.append(count)

    def change(self, pair: tuple[int, int], by: int, word: int) -> None:
        self.pair_counts[pair] = self.wrap(self.pair_counts.get(pair, 0) + self.wrap(by * self.counts[word]))
        if by > 0:
            self.seen_in.setdefault(pair, set()).add(word)

    def push_seen(self) -> None:
        for pair, seen_in in self.seen_in.items():
            if self.pair_counts[pair] > 0:
                self.push(pair, self.pair_counts[pair], seen_in)
        self.seen_in = {}

    def push(self, pair: tuple[int, int], count: int, seen_in: set[int]) -> None:
        self.pushed += 1
        turn = -self.pushed if self.newest_first else self.pushed
        heapq.heappush(self.queue, (-count, pair, turn, seen_in))

    def product(self, pair: tuple[int, int]) -> int:
        return self.add_token(self.tokens[pair[0]] + self.tokens[pair[1]].removeprefix(self.prefix))

    def merge_word(self, index: int, pair: tuple[int, int], product: int) -> None:
        word = self.words[index]
        i = 0
        while i + 1 < len(word):
            (left, left_length), (right, right_length) = word[i], word[i + 1]
            if (left, right) == pair:
                length = left_length + right_length
                word[i : i + 2] = [(product, length)]
                if i > 0:
                    before, before_length = word[i - 1]
                    self.change((before, left), -1, index)
                    if before_length + length < self.max_token_length:
                        self.change((before, product), 1, index)
                if i + 1 < len(word):
                    after, after_length = word[i + 1]
                    self.change((right, after), -1, index)
                    if after_length + length < self.max_token_length:
                        self.change((product, after), 1, index)
            i += 1

    def run(self, vocab_size: int, min_frequency: int) -> None:
        for index, word in enumerate(self.words):
            for (left, _), (right, _) in pairwise(word):
                self.change((left, right), 1, index)
        self.push_seen()
        rank = 0
        while len(self.tokens) < vocab_size and self.queue:
            negative, pair, _, seen_in = heapq.heappop(self.queue)
            count = self.pair_counts[pair] % UNSIGNED
            if -negative != count:
                self.push(pair, count, seen_in)
                continue
            if count < max(min_frequency, 1):
                break
            if self.queue and self.queue[0][:2] == (negative, pair) and self.queue[0][3] != seen_in:
                self.ambiguous = True
            product = self.product(pair)
            self.merges.pop(pair, None)
            self.merges[pair] = rank
            rank += 1
            for index in seen_in:
                self.merge_word(index, pair, product)
            self.push_seen()


def trained(
    words: Mapping[str, int] | Iterable[tuple[Sequence[str], int]],
    *,
    vocab_size: int = 30000,
    min_frequency: int = 0,
    special_tokens: Sequence[str] = (),
    limit_alphabet: int | None = None,
    initial_alphabet: Sequence[str] = (),
    continuing_subword_prefix: str = "",
    end_of_word_suffix: str = "",
    max_token_length: int | None = None,
    symbol_order: Sequence[str] | None = None,
    bits: int = 64,
    newest_first: bool = False,
) -> Trainer:
    """A trainer that has trained. Arguments as of `train`; ``newest_first`` orders equal entries of the queue."""
    trainer = Trainer(continuing_subword_prefix, end_of_word_suffix, max_token_length, bits, newest_first)
    pairs = words.items() if isinstance(words, Mapping) else words
    counted = sorted(("".join(word), count) for word, count in pairs if count)
    for token in special_tokens:
        trainer.add_token(token)
    trainer.add_alphabet(counted, initial_alphabet, limit_alphabet)
    trainer.add_words(counted, symbol_order)
    trainer.run(vocab_size, min_frequency)
    return trainer


def train(
    words: Mapping[str, int] | Iterable[tuple[Sequence[str], int]], **options: object
) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens by id, and the merges by rank, of words (text or characters) with counts below 2^63.

    Options are those of BpeTrainer, and: ``symbol_order``, the order in which symbols with a prefix or suffix get their
    ids (the reference's is that of a hash map; without it, by the words' UTF-8, words of equal text together);
    ``bits`` of the pair counts, 32 in the reference. Of characters of equal count ``limit_alphabet`` keeps the higher
    code points, where the reference keeps any.
    """
    trainer = trained(words, **options)  # type: ignore[arg-type]
    return trainer.tokens, list(trainer.merges)
