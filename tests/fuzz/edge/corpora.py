"""Any bytes as a file of documents: CorpusError, or the documents that the plain way of reading finds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator

from crayon_hf.corpora import InputFile, Reading, read_documents
from crayon_hf.errors import CorpusError
from tests.fuzz.edge.choices import Choices
from tests.fuzz.edge.judging import Defect, check_message, directory
from tests.text_readers.reading_reference import at_most, contents, json_records, read, text_records

_ENDINGS = (".jsonl", ".txt", ".jsonl", ".txt", ".parquet", ".arrow", ".jsonl.gz", ".txt.bz2", ".jsonl.xz", ".txt.zst")
_UNPACKED = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_MOST_DOCUMENT = (1 << 20, 200, 7)


def one_input(data: bytes) -> None:
    choices = Choices(data)
    ending, policy = choices.pick(_ENDINGS), choices.pick(("skip", "replace", "stop"))
    limit, size = choices.pick(_MOST_DOCUMENT), choices.pick((1 << 16, 1, 64, 300))
    template = choices.pick((None, None, "{title}\n{text}"))
    separator = choices.pick((None, b"\n", b"\n\n", b"ab"))
    few = choices.pick((None, 1, 3))
    body = choices.rest()
    is_text = ending.startswith(".txt")
    reading = Reading(
        template=None if is_text else template,
        separator=separator if is_text else None,
        bad_records=policy,
        batch_bytes=size,
        max_document_bytes=limit,
        threads=1,
    )
    path = directory() / f"file{ending}"
    path.write_bytes(body)
    file = InputFile(str(path), len(body), "")
    with at_most(few):
        if policy == "stop" or ending not in (".jsonl", ".txt"):
            _typed(file, reading)
        else:
            records = text_records(body, reading) if is_text else json_records(body, reading)
            said, expected = read(file, reading, every=3), contents(records, policy)
            if said != expected:
                raise Defect(f"{reading}: {body!r} is read as {said}, and is {expected}")


def _typed(file: InputFile, reading: Reading) -> None:
    try:
        for batch in read_documents(file, reading):
            for begin, end in zip(batch.begins.tolist(), batch.ends.tolist(), strict=True):
                if not 0 <= begin <= end <= len(batch.data):
                    raise Defect(f"a document at {begin}:{end} of {len(batch.data)} bytes")
                bytes(batch.data[begin:end]).decode()
    except CorpusError as error:
        check_message(error)
        if file.address not in str(error):
            raise Defect(f"the error does not name the file: {error}") from error


def seeds() -> Iterator[bytes]:
    """Files of each kind."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    lines = (
        b'{"text": "one", "title": "t"}\n\n{"title": "x", "text": "z\\u00e9\\n\xc3\xa9"}\n{"text": 5}\n{"text": "\xff"}'
    )
    text = "one\n\ntwo ab three\n\u00e9".encode() + b"\xff end"
    table = pa.table({"title": ["a", "b", None], "text": ["one", "", "zw\u00f6lf"]})
    columns, stream = io.BytesIO(), io.BytesIO()
    parquet.write_table(table, columns, compression="none")
    with ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    lines_of = ipc_stream(table)
    for head in (b"\0\0\0\0\0\0\0", b"\0\x01\0\x02\x02\0\x01", b"\0\0\x01\x03\0\0\x02", b"\0\x02\0\0\0\0\0"):
        yield head + lines
    for head in (
        b"\x01\0\0\0\0\0\0",
        b"\x01\x01\0\x02\0\x01\x01",
        b"\x01\0\x02\x03\0\x02\x02",
        b"\x01\0\0\x01\0\x03\0",
    ):
        yield head + text
    yield b"\x04\0\0\0\0\0\0" + columns.getvalue()
    yield b"\x05\0\0\0\0\0\0" + stream.getvalue()
    yield b"\x05\x01\0\0\x02\0\0" + lines_of
    yield b"\x06\0\0\0\0\0\0" + gzip.compress(lines, mtime=0)
    yield b"\x07\0\0\0\0\0\0" + bz2.compress(text)
    yield b"\x08\0\0\0\0\0\0" + lzma.compress(lines)


def ipc_stream(table: object) -> bytes:
    """The table as a stream of Arrow."""
    from pyarrow import ipc

    written = io.BytesIO()
    with ipc.new_stream(written, table.schema) as writer:  # type: ignore[attr-defined]
        writer.write_table(table)
    return written.getvalue()
