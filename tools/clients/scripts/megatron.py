"""megatron-core: its tokenizers, and its IndexedDataset over what `crayon-hf tokenize --format megatron` writes."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("megatron-core", "ninja"),
    how="`install(tiktoken=True)`; files by `crayon-hf tokenize --format megatron`",
    install=("transformers", "tiktoken"),
    note="stock's files are written by IndexedDatasetBuilder; the files' bytes are compared, too",
)


def tasks(kit: Kit) -> Tasks:
    import json
    import shutil
    from pathlib import Path

    import numpy
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder
    from megatron.core.tokenizers import MegatronTokenizer

    texts = kit.texts(100)
    for name in ("llama3", "gpt2"):
        tokenizer = MegatronTokenizer.from_pretrained(
            kit.directory(name), {"library": "huggingface", "model_type": "gpt"}, use_fast=True
        )
        yield f"tokenize, {name}", lambda tokenizer=tokenizer: [tokenizer.tokenize(text) for text in texts]
        ids = [tokenizer.tokenize(text) for text in texts]
        yield (
            f"detokenize, {name}",
            lambda tokenizer=tokenizer, ids=ids: [tokenizer.detokenize(each) for each in ids],
        )
    yield "text_to_tokens", lambda: [tokenizer._tokenizer.text_to_tokens(text) for text in texts[:50]]

    def by_builder(directory: Path) -> Path:
        builder = IndexedDatasetBuilder(str(directory / "tokens.bin"), dtype=numpy.uint16)
        for text in texts:
            builder.add_item(torch.tensor([*tokenizer.tokenize(text), tokenizer.eod]))
            builder.end_document()
        builder.finalize(str(directory / "tokens.idx"))
        return directory / "tokens"

    def by_ours(directory: Path) -> Path:
        from crayon_hf import Tokenizer, tokenize_corpus

        source = directory / "texts.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        ours = Tokenizer.from_file(kit.file("gpt2"))
        tokenize_corpus(source, directory / "out", "megatron", tokenizer=ours, append_eos=True, eos="<|endoftext|>")
        (found,) = (directory / "out").rglob("*.idx")
        return found.with_suffix("")

    def dataset():
        directory = kit.work / "dataset"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        path = (by_ours if kit.ours else by_builder)(directory)
        data = IndexedDataset(str(path))
        return [
            len(data),
            [data[index].tolist() for index in range(len(data))],  # they are views of a file that is closed
            data.sequence_lengths.tolist(),
            data.document_indices.tolist(),
            path.with_suffix(".bin").read_bytes(),
            path.with_suffix(".idx").read_bytes(),
        ]

    yield "IndexedDataset", dataset
