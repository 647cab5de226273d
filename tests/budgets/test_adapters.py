"""Our splitters inside LangChain, LlamaIndex, Haystack and Chonkie, which `make chunkers` installs. Tests of a missing
library are skipped."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import re
from importlib import import_module

import pytest

import crayon_hf

for quiet in ("HAYSTACK_TELEMETRY_ENABLED", "ANONYMIZED_TELEMETRY"):
    os.environ[quiet] = "False"
WORDS = re.compile(r"\s+")
TEXTS = [
    "Of all the words there are.\n\nThe same words. The same words.\n\n" * 4,
    "",
    "  Größe \f und mehr\n\n" * 6 + "👩‍👩‍👧‍👦",
]


@pytest.fixture
def tokenizer(llama3_like):
    return crayon_hf.Tokenizer.from_file(str(llama3_like))


@pytest.fixture
def kind(request):
    """The adapter of each class of tests."""
    pytest.importorskip(request.cls.module)
    module, _, name = request.cls.name.partition(".")
    return getattr(import_module(f"crayon_hf.adapters.{module}"), name)


def places(tokenizer, text, size, overlap=0, **options):
    return [
        (chunk.text, chunk.start, chunk.end) for chunk in tokenizer.split_text(text, size, overlap, WORDS, **options)
    ]


class TestLangChain:
    module, name = "langchain_text_splitters", "langchain.CrayonTextSplitter"

    def test_texts_and_documents(self, kind, tokenizer):
        from langchain_core.documents import Document
        from langchain_text_splitters import TextSplitter

        splitter = kind(tokenizer, 9, 3, WORDS, add_start_index=True)
        assert isinstance(splitter, TextSplitter)
        documents = [Document(page_content=text, metadata={"n": [number]}) for number, text in enumerate(TEXTS)]
        expected = [
            (text, {"n": [number], "start_index": start})
            for number, whole in enumerate(TEXTS)
            for text, start, _ in places(tokenizer, whole, 9, 3, strip=True)
        ]
        for made in (
            splitter.split_documents(documents),
            splitter.transform_documents(documents),
            asyncio.run(splitter.atransform_documents(documents)),
        ):
            assert [(each.page_content, each.metadata) for each in made] == expected
        assert [text for each in TEXTS for text in splitter.split_text(each)] == [text for text, _ in expected]
        made[0].metadata["n"].append(1)
        assert documents[0].metadata == {"n": [0]}
        assert splitter._length_function("one two") == tokenizer.count_tokens("one two", add_special_tokens=False)

    def test_other_ways_to_make_one(self, kind, tokenizer, llama3_like):
        expected = kind(tokenizer, 9, 0, WORDS).split_text(TEXTS[0])
        sizes = {"chunk_size": 9, "chunk_overlap": 0, "boundaries": WORDS}
        assert kind(str(llama3_like), **sizes).split_text(TEXTS[0]) == expected
        assert kind.from_huggingface_tokenizer(tokenizer, **sizes).split_text(TEXTS[0]) == expected
        assert pickle.loads(pickle.dumps(kind(tokenizer, **sizes))).split_text(TEXTS[0]) == expected


class TestLlamaIndex:
    module, name = "llama_index.core", "llama_index.CrayonNodeParser"

    def test_documents_to_nodes(self, kind, tokenizer):
        from llama_index.core.ingestion import IngestionPipeline
        from llama_index.core.node_parser import NodeParser
        from llama_index.core.schema import Document

        parser = kind(tokenizer, 9, 3, WORDS)
        assert isinstance(parser, NodeParser)
        documents = [Document(text=text, doc_id=f"document {number}") for number, text in enumerate(TEXTS)]
        expected = [
            (text, start, end, f"document {number}")
            for number, whole in enumerate(TEXTS)
            for text, start, end in places(tokenizer, whole, 9, 3, strip=True)
        ]
        for nodes in (
            parser.get_nodes_from_documents(documents),
            asyncio.run(parser.aget_nodes_from_documents(documents)),
            IngestionPipeline(transformations=[parser]).run(documents=documents),
        ):
            assert [(node.text, node.start_char_idx, node.end_char_idx, node.ref_doc_id) for node in nodes] == expected
            assert nodes[0].next_node.node_id == nodes[1].node_id
        assert parser.split_texts(TEXTS) == [text for text, *_ in expected]

    def test_nodes_fit_with_their_metadata(self, kind, tokenizer):
        from llama_index.core.schema import Document, MetadataMode

        documents = [Document(text=text, metadata={"title": "A title of words", "page": 3}) for text in TEXTS]
        nodes = kind(tokenizer, 40, 5, WORDS).get_nodes_from_documents(documents)
        assert nodes[0].metadata == documents[0].metadata
        for node in nodes:
            for mode in (MetadataMode.EMBED, MetadataMode.LLM):
                whole = node.get_content(metadata_mode=mode)
                assert "A title of words" in whole
                assert tokenizer.count_tokens(whole, add_special_tokens=False) <= 40
        bare = kind(tokenizer, 40, 5, WORDS, include_metadata=False).get_nodes_from_documents(documents)
        assert len(bare) < len(nodes)
        with pytest.raises(ValueError, match="metadata"):
            kind(tokenizer, 6, 0, WORDS).get_nodes_from_documents(documents)

    def test_what_is_written_and_copied(self, kind, tokenizer, llama3_like):
        parser = kind(str(llama3_like), 9, 2, WORDS)
        said = parser.to_dict()
        assert (said["tokenizer"], said["class_name"]) == (str(llama3_like), "CrayonNodeParser")
        assert tokenizer.source_digest in kind(tokenizer, 9, 2, WORDS).to_json()
        for twin in (copy.deepcopy(parser), pickle.loads(pickle.dumps(parser)), kind(tokenizer, 9, 2, WORDS)):
            assert twin.split_text(TEXTS[0]) == parser.split_text(TEXTS[0])


class TestHaystack:
    module, name = "haystack", "haystack.CrayonDocumentSplitter"

    def test_documents(self, kind, tokenizer):
        from haystack import Document

        documents = [Document(content=text, meta={"n": number}) for number, text in enumerate(TEXTS)]
        made = kind(tokenizer, 9, 3, WORDS).run(documents=documents)["documents"]
        expected = [(text, start) for whole in TEXTS for text, start, _ in places(tokenizer, whole, 9, 3)]
        assert [(each.content, each.meta["split_idx_start"]) for each in made] == expected
        for each in made:
            whole = TEXTS[each.meta["n"]]
            assert each.meta["source_id"] == documents[each.meta["n"]].id
            begins = each.meta["split_idx_start"] + len(each.content) - len(each.content.lstrip("\f"))
            assert each.meta["page_number"] == 1 + whole.count("\f", 0, begins)
        by_id = {each.id: each for each in made}
        shared = 0
        for each in made:
            for note in each.meta["_split_overlap"]:
                other = by_id[note["doc_id"]]
                begin, end = note["range"]
                assert other.content[begin:end] in each.content
                shared += 1
        assert shared > 4
        assert "_split_overlap" not in kind(tokenizer, 9, 0, WORDS).run(documents=documents)["documents"][0].meta

    def test_in_a_pipeline_that_is_written(self, kind, llama3_like):
        pytest.importorskip("icu4py")
        from haystack import Document, Pipeline
        from haystack.components.writers import DocumentWriter
        from haystack.document_stores.in_memory import InMemoryDocumentStore
        from haystack.document_stores.types import DuplicatePolicy

        pipeline = Pipeline()
        pipeline.add_component("splitter", kind(str(llama3_like), 9, 2))
        pipeline.add_component("writer", DocumentWriter(InMemoryDocumentStore(), DuplicatePolicy.OVERWRITE))
        pipeline.connect("splitter.documents", "writer.documents")
        expected = kind(str(llama3_like), 9, 2).run([Document(content=TEXTS[0])])["documents"]
        read = Pipeline.loads(pipeline.dumps(), allowed_modules=["crayon_hf.adapters.haystack"])
        for each in (pipeline, read):
            each.run({"splitter": {"documents": [Document(content=TEXTS[0])]}})
            stored = each.get_component("writer").document_store.filter_documents()
            assert sorted(document.id for document in stored) == sorted(document.id for document in expected)


class TestChonkie:
    module, name = "chonkie", "chonkie.CrayonChunker"

    def test_texts_batches_and_documents(self, kind, tokenizer):
        from chonkie import BaseChunker
        from chonkie.types import Document

        chunker = kind(tokenizer, 9, 3, WORDS)
        assert isinstance(chunker, BaseChunker)
        expected = [places(tokenizer, text, 9, 3) for text in TEXTS]

        def shown(chunks):
            for chunk in chunks:
                assert chunk.token_count == tokenizer.count_tokens(chunk.text, add_special_tokens=False) <= 9
            return [(chunk.text, chunk.start_index, chunk.end_index) for chunk in chunks]

        assert [shown(chunker(text)) for text in TEXTS] == expected
        assert [shown(chunks) for chunks in chunker(TEXTS, show_progress=False)] == expected
        assert [shown(chunks) for chunks in asyncio.run(chunker.achunk_batch(TEXTS, show_progress=False))] == expected
        document = chunker.chunk_document(Document(content=TEXTS[0], metadata={"a": 1}))
        assert shown(document.chunks) == expected[0]
        assert document.chunks[0].metadata == {"a": 1}
        assert chunker.tokenizer.count_tokens("one two") == tokenizer.count_tokens("one two")
        assert kind(tokenizer, 10, 0.5, WORDS).chunk_overlap == 5
        assert repr(chunker) == "CrayonChunker(chunk_size=9, chunk_overlap=3)"

    def test_in_a_pipeline(self, kind, llama3_like, tokenizer):
        from chonkie import Pipeline

        pipeline = Pipeline().chunk_with("crayon", tokenizer=str(llama3_like), chunk_size=9, boundaries=["paragraph"])
        document = pipeline.run(texts=TEXTS[0])
        assert [chunk.text for chunk in document.chunks] == [
            chunk.text for chunk in tokenizer.split_text(TEXTS[0], 9, boundaries=["paragraph"])
        ]
