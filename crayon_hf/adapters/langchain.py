"""`CrayonTextSplitter`: a ``TextSplitter`` for LangChain."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from crayon_hf.adapters.common import Settings, tokenizer_of
from crayon_hf.budgets.boundaries import Boundaries
from crayon_hf.budgets.calls import count_tokens
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.extras import needed

with needed("crayon_hf.adapters.langchain", "langchain"):
    from langchain_core.documents import Document
    from langchain_text_splitters import TextSplitter


class CrayonTextSplitter(TextSplitter):
    """Splits texts and documents into chunks of at most `chunk_size` tokens: see `Tokenizer.split_text`.

    `tokenizer` is a `crayon_hf.Tokenizer`, one from `crayon_hf.AutoTokenizer`, an encoding of `crayon_hf.tiktoken`, or
    a name or path. With `add_start_index` the metadata have the exact start of each chunk.
    """

    def __init__(
        self,
        tokenizer: Any,
        chunk_size: int = 4000,
        chunk_overlap: int = 200,
        boundaries: Boundaries = "paragraph",
        *,
        add_special_tokens: bool = False,
        add_start_index: bool = False,
        strip_whitespace: bool = True,
    ) -> None:
        tokenizer = tokenizer_of(tokenizer)
        super().__init__(
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            length_function=partial(count_tokens, tokenizer, add_special_tokens=add_special_tokens),
            add_start_index=add_start_index,
            strip_whitespace=strip_whitespace,
        )
        self._settings = Settings(
            tokenizer, chunk_size, chunk_overlap, boundaries, add_special_tokens, strip_whitespace
        )

    @classmethod
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> CrayonTextSplitter:
        """The same as ``CrayonTextSplitter(tokenizer, ...)``."""
        return cls(tokenizer, **kwargs)

    @classmethod
    def from_tiktoken_encoder(
        cls, encoding_name: str = "gpt2", model_name: str | None = None, **kwargs: Any
    ) -> CrayonTextSplitter:
        """Use the tiktoken encoding of this name, or the one of a model. Special tokens in a text are ordinary text."""
        if model_name is not None:
            with needed("the encoding of a model", "tiktoken"):
                from tiktoken import encoding_name_for_model
            encoding_name = encoding_name_for_model(model_name)
        tokenizer = Tokenizer.from_tiktoken(encoding_name)
        tokenizer.encode_special_tokens = True
        return cls(tokenizer, **kwargs)

    def split_text(self, text: str) -> list[str]:
        """The texts of all chunks."""
        return [chunk.text for chunk in self._settings.splitter.split(text)]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """A document for each chunk, with the metadata of its text."""
        documents = []
        for number, text in enumerate(texts):
            for chunk in self._settings.splitter.split(text):
                metadata = copy.deepcopy(metadatas[number]) if metadatas else {}
                if self._add_start_index:
                    metadata["start_index"] = chunk.start
                documents.append(Document(page_content=chunk.text, metadata=metadata))
        return documents
