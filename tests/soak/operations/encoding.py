"""Encoding, by every way, and decoding."""

from __future__ import annotations

import asyncio
import io
from itertools import pairwise

import numpy as np

from crayon_hf import DecodeStream, Pipeline
from tests.soak.world import Run


def encode(run: Run) -> None:
    """One text after the other, with everything that an Encoding has."""
    of = run.material
    for i in run.some():
        encoding = run.subject.tokenizer.encode(of.texts[i], add_special_tokens=False)
        run.same(encoding.ids, of.ids[i], "encode")
        run.same(encoding.offsets, of.offsets[i], "offsets")
        run.same(run.subject.tokenizer.encode(of.texts[i]).ids, of.whole[i], "encode with special tokens")


def encode_batch(run: Run) -> None:
    """A batch of Encodings."""
    of, numbers = run.material, run.some(60)
    texts = [of.texts[i] for i in numbers]
    threads = run.rng.randrange(4)
    batch = run.subject.tokenizer.encode_batch(texts, add_special_tokens=False, threads=threads)
    run.same([one.ids for one in batch], [of.ids[i] for i in numbers], "encode_batch")
    run.same([one.offsets for one in batch], [of.offsets[i] for i in numbers], "offsets of encode_batch")
    batch = run.subject.tokenizer.encode_batch_fast(texts, threads=threads)
    run.same([one.ids for one in batch], [of.whole[i] for i in numbers], "encode_batch_fast")


def encode_ragged(run: Run) -> None:
    """Arrays, of str and of bytes, and a text that is cut for threads."""
    of, numbers = run.material, run.some(60)
    texts: list[str | bytes] = [of.texts[i] if run.rng.random() < 0.5 else of.texts[i].encode() for i in numbers]
    wanted = [of.ids[i] for i in numbers]
    if run.rng.random() < 0.3:
        texts.append(of.large)
        wanted.append(of.large_ids)
    flat, splits = run.subject.tokenizer.encode_ragged(texts, False, run.rng.randrange(4))
    run.same([flat[a:b].tolist() for a, b in pairwise(splits)], wanted, "encode_ragged")


def count_tokens(run: Run) -> None:
    """Counts, and columns for a model."""
    of, numbers = run.material, run.some(60)
    texts = [of.texts[i] for i in numbers]
    counts = run.subject.tokenizer.count_tokens(texts)
    run.same(counts, [len(of.whole[i]) for i in numbers], "count_tokens")
    columns = run.subject.tokenizer.encode_columns(texts, columns=["input_ids"])
    if columns is not None:
        run.same(columns["input_ids"], [of.whole[i] for i in numbers], "encode_columns")


def encode_spans(run: Run) -> None:
    """Texts where they lie in one buffer."""
    of, numbers = run.material, run.some(60)
    parts = [of.texts[i].encode() for i in numbers]
    ends = np.cumsum([len(part) for part in parts])
    begins = ends - [len(part) for part in parts]
    engine = run.subject.tokenizer._engine
    assert engine is not None
    flat, splits = engine.encode_spans(b"".join(parts), begins, ends, False, dtype="uint32")
    wanted = [of.ids[i] for i in numbers]
    run.same([flat[a:b].tolist() for a, b in pairwise(splits)], wanted, "encode_spans")


def encode_file(run: Run) -> None:
    """A file, mapped or read, in windows of any size."""
    of = run.material
    size = run.rng.choice([100, 5_000, 100_000, 1 << 20])
    file = run.subject.text if run.rng.random() < 0.5 else io.BytesIO(of.large.encode())
    offsets = run.rng.random() < 0.3
    chunks = run.subject.tokenizer.encode_file(file, chunk_bytes=size, offsets=offsets, add_special_tokens=False)
    run.same(np.concatenate([chunk.ids for chunk in chunks]).tolist(), of.large_ids, "encode_file")


def encode_async(run: Run) -> None:
    """Awaited, some of it cancelled."""
    of = run.material
    numbers = run.some(8)
    cancelled = [run.rng.random() < 0.3 for _ in numbers]

    async def work() -> list[object]:
        batch = run.subject.tokenizer.async_encode_batch([of.texts[i] for i in numbers], add_special_tokens=False)
        tasks = [run.subject.tokenizer.async_encode(of.texts[i], add_special_tokens=False) for i in numbers]
        for task, is_cancelled in zip(tasks, cancelled, strict=True):
            if is_cancelled:
                task.cancel()
        run.same([one.ids for one in await batch], [of.ids[i] for i in numbers], "async_encode_batch")
        return await asyncio.gather(*tasks, return_exceptions=True)

    for i, is_cancelled, got in zip(numbers, cancelled, asyncio.run(work()), strict=True):
        if is_cancelled:
            run.same(isinstance(got, asyncio.CancelledError), True, "cancelled")
            run.expected_errors += 1
        else:
            run.same(getattr(got, "ids", got), of.ids[i], "async_encode")


def encode_pipeline(run: Run) -> None:
    """Through a pipeline, which is closed or cancelled with items on their way."""
    of, numbers = run.material, run.some()
    texts = [of.texts[i] for i in numbers]
    with Pipeline(lambda text: run.subject.tokenizer.encode(text, add_special_tokens=False).ids, workers=2) as pipeline:
        got = [result["input_ids"] for result in pipeline.map(texts)]
        run.same(got, [of.ids[i] for i in numbers], "Pipeline.map")
    pipeline = Pipeline(run.subject.tokenizer, workers=2)
    for key, text in enumerate(texts[:4]):
        pipeline.submit(key, text)
    pipeline.cancel()


def encode_tiktoken(run: Run) -> None:
    """tiktoken's interface."""
    subject = run.rng.choice(run.world.encodings)
    of, encoding = subject.material, subject.encoding
    numbers = run.rng.sample(range(len(of.texts)), 10)
    for i in numbers:
        run.same(encoding.encode_ordinary(of.texts[i]), of.ids[i], "encode_ordinary")
        run.same(encoding.decode(of.ids[i]), of.decoded[i], "decode")
    got = encoding.encode_ordinary_batch([of.texts[i] for i in numbers], num_threads=2)
    run.same(got, [of.ids[i] for i in numbers], "encode_ordinary_batch")
    with run.refused(ValueError):
        encoding.encode("a <|endoftext|>")


def decode(run: Run) -> None:
    """Back to text."""
    of, numbers = run.material, run.some(60)
    for i in numbers[:10]:
        run.same(run.subject.tokenizer.decode(of.whole[i]), of.decoded[i], "decode")
    batch = run.subject.tokenizer.decode_batch([of.whole[i] for i in numbers], threads=run.rng.randrange(4))
    run.same(batch, [of.decoded[i] for i in numbers], "decode_batch")
    flat = np.array(of.large_ids, np.int32)
    whole = run.subject.tokenizer.decode(flat)
    run.same(run.subject.tokenizer.decode(of.large_ids), whole, "decode of a list and of an array")


def decode_stream(run: Run) -> None:
    """Id by id."""
    of = run.material
    for i in run.some(4):
        ids = of.whole[i][:300]
        wanted = run.subject.tokenizer.decode(ids)
        stream = DecodeStream(skip_special_tokens=True)
        got = "".join(stream.step(run.subject.tokenizer, id) or "" for id in ids)
        # What is left at the end are bytes that are no whole character.
        if "\ufffd" not in wanted:
            run.same(got, wanted, "DecodeStream")
