"""`CrayonNodeParser`: a ``NodeParser`` for LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crayon_hf.adapters.common import Settings, tokenizer_of
from crayon_hf.budgets.boundaries import Boundaries
from crayon_hf.budgets.calls import count_tokens
from crayon_hf.budgets.chunks import Chunk, Splitter
from crayon_hf.budgets.holders import engine_of
from crayon_hf.util.extras import needed

with needed("crayon_hf.adapters.llama_index", "llama-index"):
    from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_serializer
    from llama_index.core.node_parser.interface import TextSplitter
    from llama_index.core.node_parser.node_utils import build_nodes_from_splits
    from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode
    from llama_index.core.utils import get_tqdm_iterable

_MODES = (MetadataMode.EMBED, MetadataMode.LLM)


class CrayonNodeParser(TextSplitter):
    """Splits documents into nodes of at most `chunk_size` tokens: see `Tokenizer.split_text`.

    With `include_metadata`, the tokens of a node's metadata count, too, as embedding and language models get them. If
    the metadata leave no room for text, `ValueError` is raised. Nodes have their exact place in the document.
    `tokenizer` is a `crayon_hf.Tokenizer`, one from `crayon_hf.AutoTokenizer`, an encoding of `crayon_hf.tiktoken`, or
    a name or path.
    """

    chunk_size: int = Field(default=1024, gt=0)
    chunk_overlap: int = Field(default=20, ge=0)
    tokenizer: Any = Field(description="A tokenizer, or its name or path")
    boundaries: Any = Field(default="paragraph", description="Where texts may be cut")
    keep_whitespaces: bool = Field(default=False)
    add_special_tokens: bool = Field(default=False)
    _settings: Settings = PrivateAttr()
    _tokenizer: Any = PrivateAttr()

    def __init__(
        self,
        tokenizer: Any,
        chunk_size: int = 1024,
        chunk_overlap: int = 20,
        boundaries: Boundaries = "paragraph",
        *,
        add_special_tokens: bool = False,
        keep_whitespaces: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(
            tokenizer=tokenizer,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            boundaries=boundaries,
            add_special_tokens=add_special_tokens,
            keep_whitespaces=keep_whitespaces,
            **named,
        )
        self._tokenizer = tokenizer_of(tokenizer)
        self._settings = Settings(
            self._tokenizer, chunk_size, chunk_overlap, boundaries, add_special_tokens, not keep_whitespaces
        )

    @field_serializer("tokenizer", "boundaries")
    def _written(self, value: Any) -> Any:
        """Return a name unchanged, and for any other object a text that identifies it, as LlamaIndex's cache needs."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (list, tuple)):
            return [self._written(each) for each in value]
        if hasattr(value, "finditer"):
            return f"pattern {value.pattern!r}"
        kind = value if hasattr(value, "__qualname__") else type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return f"{name} {engine_of(value)[0].source_digest}" if value is self.tokenizer else name

    @classmethod
    def class_name(cls) -> str:
        """The name of this class in the dicts that LlamaIndex's ``to_dict`` makes."""
        return "CrayonNodeParser"

    def split_text(self, text: str) -> list[str]:
        """The texts of all chunks."""
        return [chunk.text for chunk in self._settings.splitter.split(text)]

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        return [
            node for each in get_tqdm_iterable(nodes, show_progress, "Parsing nodes") for node in self._nodes_of(each)
        ]

    def _nodes_of(self, source: BaseNode) -> list[TextNode]:
        text = source.get_content(metadata_mode=MetadataMode.NONE)
        splitter, room = self._settings.splitter, self.chunk_size
        while True:
            chunks = splitter.split(text)
            nodes = self._built(source, chunks)
            excess = self._excess(source, nodes) if self.include_metadata and source.metadata else 0
            if excess <= 0:
                return nodes
            room -= excess
            splitter = self._smaller(room, source)

    def _built(self, source: BaseNode, chunks: list[Chunk]) -> list[TextNode]:
        nodes: list[TextNode] = build_nodes_from_splits([chunk.text for chunk in chunks], source, id_func=self.id_func)
        for node, chunk in zip(nodes, chunks, strict=True):
            node.start_char_idx, node.end_char_idx = chunk.start, chunk.end
        return nodes

    def _excess(self, source: BaseNode, nodes: list[TextNode]) -> int:
        """Return the number of tokens by which the largest node, with its metadata, exceeds the size of a chunk."""
        largest = 0
        for node in nodes:
            whole = node.model_copy(update={"metadata": source.metadata})
            texts = {whole.get_content(metadata_mode=mode) for mode in _MODES}
            largest = max(largest, *count_tokens(self._tokenizer, list(texts), self.add_special_tokens))
        return largest - self.chunk_size

    def _smaller(self, room: int, source: BaseNode) -> Splitter:
        if room < 1:
            raise ValueError(
                f"chunk_size is {self.chunk_size}, but the metadata of the document {source.node_id} take all of it: "
                "give a larger chunk_size, include_metadata=False, or the document's excluded_embed_metadata_keys and "
                "excluded_llm_metadata_keys"
            )
        return self._settings.with_room(room)

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        places = [(node.start_char_idx, node.end_char_idx) for node in nodes if isinstance(node, TextNode)]
        nodes = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node, (start, end) in zip((node for node in nodes if isinstance(node, TextNode)), places, strict=True):
            node.start_char_idx, node.end_char_idx = start, end  # the exact place, not the first occurrence of its text
        return nodes
