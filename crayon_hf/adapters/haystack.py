"""`CrayonDocumentSplitter`: a splitter component for Haystack."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from crayon_hf.adapters.common import Settings, tokenizer_of
from crayon_hf.budgets.boundaries import Boundaries
from crayon_hf.budgets.chunks import Chunk
from crayon_hf.util.extras import needed

with needed("crayon_hf.adapters.haystack", "haystack"):
    from haystack import Document, component
    from haystack.core.serialization import default_from_dict, default_to_dict


@component
class CrayonDocumentSplitter:
    """Splits documents into documents of at most `split_length` tokens: see `Tokenizer.split_text`.

    `tokenizer` is a `crayon_hf.Tokenizer`, one from `crayon_hf.AutoTokenizer`, an encoding of `crayon_hf.tiktoken`, or
    a name or path. A pipeline file can store only a name or path. Chunks have the metadata of Haystack's own
    splitters: ``source_id``, ``split_id``, ``split_idx_start``, ``page_number``, and ``_split_overlap``.
    """

    def __init__(
        self,
        tokenizer: Any,
        split_length: int = 200,
        split_overlap: int = 0,
        boundaries: Boundaries = "paragraph",
        add_special_tokens: bool = False,
        strip: bool = False,
    ) -> None:
        self._arguments = {
            "tokenizer": tokenizer,
            "split_length": split_length,
            "split_overlap": split_overlap,
            "boundaries": boundaries,
            "add_special_tokens": add_special_tokens,
            "strip": strip,
        }
        opened = tokenizer_of(tokenizer)
        self._settings = Settings(opened, split_length, split_overlap, boundaries, add_special_tokens, strip)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Return the chunks of all documents. Raises ValueError for a document without text."""
        made = []
        for document in documents:
            if document.content is None:
                raise ValueError(f"the document {document.id} has no text to split")
            made += self._split(document, document.content)
        return {"documents": made}

    def to_dict(self) -> dict[str, Any]:
        """The arguments, for a pipeline file. Raises ValueError unless tokenizer and boundaries were given by name."""
        for name in ("tokenizer", "boundaries"):
            value = self._arguments[name]
            named = value if isinstance(value, list) else [value]
            if not all(each is None or isinstance(each, str) for each in named):
                raise ValueError(f"{name} is {type(value).__name__}, which cannot be written: give its name")
        written: dict[str, Any] = default_to_dict(self, **self._arguments)
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CrayonDocumentSplitter:
        """Make a component from the values of `to_dict`."""
        made: CrayonDocumentSplitter = default_from_dict(cls, data)
        return made

    def _split(self, document: Document, text: str) -> list[Document]:
        made: list[Document] = []
        before: Chunk | None = None
        pages, seen = 1, 0
        for number, chunk in enumerate(self._settings.splitter.split(text)):
            begins = chunk.start + _leading_page_breaks(chunk.text)
            pages += text.count("\f", seen, begins) - text.count("\f", begins, seen)
            seen = begins
            place = {"page_number": pages, "split_id": number, "split_idx_start": chunk.start}
            meta = {**deepcopy(document.meta), "source_id": document.id, **place}
            made.append(Document(content=chunk.text, meta=meta))
            if self._settings.splitter.overlap:
                _note_overlap(made, before, chunk)
            before = chunk
        return made


def _leading_page_breaks(text: str) -> int:
    """Return the number of page breaks at the beginning of a text, or 0 if the text has nothing else."""
    rest = text.lstrip("\f")
    return len(text) - len(rest) if rest else 0


def _note_overlap(made: list[Document], before: Chunk | None, chunk: Chunk) -> None:
    """Record the overlap of the chunks `before` and `chunk` in the metadata of the last two documents of `made`."""
    made[-1].meta["_split_overlap"] = []
    if before is not None and chunk.start < before.end:
        shared = before.end - chunk.start
        ours = {"doc_id": made[-2].id, "range": (chunk.start - before.start, before.end - before.start)}
        made[-1].meta["_split_overlap"].append(ours)
        made[-2].meta["_split_overlap"].append({"doc_id": made[-1].id, "range": (0, shared)})
