"""mosaicml-streaming: its StreamingDataset over what `crayon-hf tokenize --format mds` writes."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("brotli", "catalogue", "pillow", "python-snappy", "zstd", "zstandard"),
    ("mosaicml-streaming",),
    library="mosaicml-streaming",
    how="files by `crayon-hf tokenize --format mds`",
    install=(),
    note="stock encodes with tokenizers and writes with MDSWriter; torchvision, for pictures alone, is a stub",
)


def tasks(kit: Kit) -> Tasks:
    import json
    import shutil
    from pathlib import Path

    import numpy
    import transformers.utils  # it looks for torchvision, and remembers what it found
    from clients import stubs

    assert transformers.utils
    stubs.put("torchvision")
    from streaming import MDSWriter, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    texts = kit.texts(100)
    tokenizer = kit.tokenizer_class().from_file(kit.file("gpt2"))
    end = tokenizer.token_to_id("<|endoftext|>")

    def by_writer(directory: Path) -> Path:
        with MDSWriter(columns={"tokens": "ndarray:int32"}, out=str(directory / "out")) as writer:
            for text in texts:
                writer.write({"tokens": numpy.array([*tokenizer.encode(text).ids, end], numpy.int32)})
        return directory / "out"

    def by_ours(directory: Path) -> Path:
        from crayon_hf import tokenize_corpus

        source = directory / "texts.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        tokenize_corpus(source, directory / "out", "mds", tokenizer=tokenizer, append_eos=True, eos="<|endoftext|>")
        return directory / "out"

    def dataset():
        directory = kit.work / "dataset"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        path = (by_ours if kit.ours else by_writer)(directory)
        data = StreamingDataset(local=str(path), batch_size=1)
        rows = [data[index]["tokens"] for index in range(len(data))]
        del data
        clean_stale_shared_memory()
        return rows

    yield "StreamingDataset", dataset
