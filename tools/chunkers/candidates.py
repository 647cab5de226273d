"""The chunkers that are compared, each as its documentation has it, with one tokenizer and one budget.

A chunker is a function of a text that gives its chunks: their texts, or from where to where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Chunker: TypeAlias = "Callable[[str], list[Any]]"


def candidates(path: str, budget: int) -> Iterator[tuple[str, Chunker]]:
    """The names of all chunkers, and the chunkers; `path` is that of a tokenizer.json."""
    from tokenizers import Tokenizer

    stock = Tokenizer.from_file(path)

    def count(text: str) -> int:
        return len(stock.encode(text, add_special_tokens=False).ids)

    yield from ours(path, budget)
    yield from of_semchunk(count, budget)
    yield from of_semantic_text_splitter(stock, budget)
    yield from of_chonkie(stock, budget)
    yield from of_langchain(count, budget)


def ours(path: str, budget: int) -> Iterator[tuple[str, Chunker]]:
    """`split_text`, by the kinds of boundaries."""
    from crayon_hf import Tokenizer

    tokenizer = Tokenizer.from_file(path)

    def splitting_at(kind: str) -> Chunker:
        return lambda text: [(each.start, each.end) for each in tokenizer.split_text(text, budget, 0, kind)]

    for kind in ("paragraph", "sentence", "word"):
        yield f'crayon-hf, `"{kind}"`', splitting_at(kind)


def of_semchunk(count: Callable[[str], int], budget: int) -> Iterator[tuple[str, Chunker]]:
    """By a function that counts, and without the memory of what it counted, as a new text has it."""
    import semchunk

    chunker = semchunk.chunkerify(count, budget, memoize=False)
    yield "semchunk", lambda text: chunker(text, offsets=True)[1]


def of_semantic_text_splitter(stock: Any, budget: int) -> Iterator[tuple[str, Chunker]]:
    """In Rust, with the tokenizer in Rust."""
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter.from_huggingface_tokenizer(stock, budget, trim=False)
    yield (
        "semantic-text-splitter",
        lambda text: [(start, start + len(chunk)) for start, chunk in splitter.chunk_indices(text)],
    )


def of_chonkie(stock: Any, budget: int) -> Iterator[tuple[str, Chunker]]:
    """Its three chunkers by rules."""
    from chonkie import RecursiveChunker, SentenceChunker, TokenChunker

    def chunking_by(chunker: Any) -> Chunker:
        return lambda text: [each.text for each in chunker(text)]

    for kind in (RecursiveChunker, SentenceChunker, TokenChunker):
        yield f"chonkie, `{kind.__name__}`", chunking_by(kind(stock, chunk_size=budget))


def of_langchain(count: Callable[[str], int], budget: int) -> Iterator[tuple[str, Chunker]]:
    """The splitter that it recommends, which keeps separators by default."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=budget, chunk_overlap=0, length_function=count)
    yield "langchain, `RecursiveCharacterTextSplitter`", splitter.split_text
