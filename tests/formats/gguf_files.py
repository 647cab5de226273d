"""GGUF files for tests, written with the ``gguf`` package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import tokenizers

from crayon_hf import Tokenizer
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.gguf import read_gguf

NORMAL, CONTROL = 1, 3
Reader = Callable[..., Converted]


def write_gguf(
    path: Path,
    model: str | None,
    tokens: Sequence[str] | None,
    *,
    types: Sequence[int] | None = None,
    scores: Sequence[float] | None = None,
    merges: Iterable[str] | None = None,
    keys: Mapping[str, Any] | None = None,
) -> Path:
    """Write a GGUF file without tensors. The names in `keys` get the prefix ``tokenizer.ggml.``, unless they begin with
    a dot."""
    writer = gguf.GGUFWriter(path, "llama")
    if model is not None:
        writer.add_tokenizer_model(model)
    if tokens is not None:
        writer.add_token_list(list(tokens))
    if types is not None:
        writer.add_token_types(list(types))
    if scores is not None:
        writer.add_token_scores([float(score) for score in scores])
    if merges is not None:
        writer.add_token_merges(list(merges))
    for key, value in (keys or {}).items():
        add(writer, key[1:] if key.startswith(".") else "tokenizer.ggml." + key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def reader(directory: Path) -> Reader:
    """Return a function that writes a file with the arguments of `write_gguf`, and converts the file."""

    def run(*arguments: Any, **keywords: Any) -> Converted:
        return read_gguf(write_gguf(directory / "v.gguf", *arguments, **keywords))

    return run


def both(converted: Converted) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    """The converted tokenizer in our engine, and in stock ``tokenizers``."""
    source = converted.tokenizer_json.decode()
    ours = Tokenizer.from_str(source)
    assert ours.engine_report()["engine"] == "native"
    return ours, tokenizers.Tokenizer.from_str(source)


def ids(converted: Converted, text: str, *pair: str, special: bool = False) -> list[int]:
    """The ids of a text, after checking that our engine and stock ``tokenizers`` give the same."""
    ours, stock = both(converted)
    found = ours.encode(text, *pair, add_special_tokens=special).ids
    assert found == stock.encode(text, *pair, add_special_tokens=special).ids
    return list(found)
