"""The compared chunkers, each used as its documentation says, with one tokenizer and one budget.

A chunker is a function from a text to its chunks: their texts, or (start, end) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Chunker: TypeAlias = "Callable[[str], list[Any]]"


def candidates(path: str, budget: int) -> Iterator[tuple[str, Chunker]]:
    """Yield each chunker's name and the chunker. `path` is a tokenizer.json, `budget` the most tokens of a chunk."""
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
    """Yield our `split_text` for each kind of boundary."""
    from crayon_hf import Tokenizer

    tokenizer = Tokenizer.from_file(path)

    def splitting_at(kind: str) -> Chunker:
        return lambda text: [(each.start, each.end) for each in tokenizer.split_text(text, budget, 0, kind)]

    for kind in ("paragraph", "sentence", "word"):
        yield f'crayon-hf, `"{kind}"`', splitting_at(kind)


def of_semchunk(count: Callable[[str], int], budget: int) -> Iterator[tuple[str, Chunker]]:
    """Yield semchunk with the counting function `count`. Its cache of counts is off, because each text is new."""
    import semchunk

    chunker = semchunk.chunkerify(count, budget, memoize=False)
    yield "semchunk", lambda text: chunker(text, offsets=True)[1]


def of_semantic_text_splitter(stock: Any, budget: int) -> Iterator[tuple[str, Chunker]]:
    """Yield semantic-text-splitter, whose chunker and tokenizer run in Rust."""
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter.from_huggingface_tokenizer(stock, budget, trim=False)
    yield (
        "semantic-text-splitter",
        lambda text: [(start, start + len(chunk)) for start, chunk in splitter.chunk_indices(text)],
    )


def of_chonkie(stock: Any, budget: int) -> Iterator[tuple[str, Chunker]]:
    """Yield chonkie's three rule-based chunkers."""
    from chonkie import RecursiveChunker, SentenceChunker, TokenChunker

    def chunking_by(chunker: Any) -> Chunker:
        return lambda text: [each.text for each in chunker(text)]

    for kind in (RecursiveChunker, SentenceChunker, TokenChunker):
        yield f"chonkie, `{kind.__name__}`", chunking_by(kind(stock, chunk_size=budget))


def of_langchain(count: Callable[[str], int], budget: int) -> Iterator[tuple[str, Chunker]]:
    """Yield the splitter that LangChain's documentation recommends. It keeps separators by default."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=budget, chunk_overlap=0, length_function=count)
    yield "langchain, `RecursiveCharacterTextSplitter`", splitter.split_text
