"""The timed calls: functions of stock or of ours, by the name of the call and of its input.

Each function here takes one side's class, and returns that side's calls. Both sides have the same names.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["of_encoding", "of_fast", "of_stream", "of_tiktoken", "of_tokenizer"]

Calls = dict[tuple[str, str], Callable[[], Any]]
"""Functions to time. The key is the name of the timed call, and a name for its input."""


def of_tokenizer(kind: Any, path: str, short: str, long: str, directory: str) -> Calls:
    """Return the calls of the class `kind`: `tokenizers.Tokenizer` or ours."""
    tokenizer = kind.from_file(path)
    text = Path(path).read_text(encoding="utf-8")
    pairs = [(short, long)] * 8
    few, many = [short] * 32, [long] * 32
    ids = {"short": tokenizer.encode(short).ids, "long": tokenizer.encode(long).ids}
    token = tokenizer.id_to_token(ids["short"][-1])
    plain = tokenizer.encode(short, add_special_tokens=False)
    calls: Calls = {
        ("encode", "pair"): lambda: tokenizer.encode(short, long),
        ("encode", "words"): lambda: tokenizer.encode(long.split(), is_pretokenized=True),
        ("encode_batch", "pairs"): lambda: tokenizer.encode_batch(pairs),
        ("decode_batch", "long"): lambda: tokenizer.decode_batch([ids["long"]] * 32),
        ("id_to_token", ""): lambda: tokenizer.id_to_token(ids["short"][0]),
        ("token_to_id", ""): lambda: tokenizer.token_to_id(token),
        ("get_vocab_size", ""): tokenizer.get_vocab_size,
        ("get_vocab", ""): tokenizer.get_vocab,
        ("get_added_tokens_decoder", ""): tokenizer.get_added_tokens_decoder,
        ("num_special_tokens_to_add", ""): lambda: tokenizer.num_special_tokens_to_add(False),
        ("post_process", "short"): lambda: tokenizer.post_process(plain),
        ("enable_truncation, no_truncation", ""): lambda: (tokenizer.enable_truncation(8), tokenizer.no_truncation()),
        ("enable_padding, no_padding", ""): lambda: (tokenizer.enable_padding(), tokenizer.no_padding()),
        ("to_str", ""): tokenizer.to_str,
        ("to_str", "pretty"): lambda: tokenizer.to_str(pretty=True),
        ("save", ""): lambda: tokenizer.save(os.path.join(directory, "saved.json")),
        ("copy.deepcopy", ""): lambda: copy.deepcopy(tokenizer),
        ("pickle", ""): lambda: pickle.loads(pickle.dumps(tokenizer)),
        ("from_file", ""): lambda: kind.from_file(path),
        ("from_str", ""): lambda: kind.from_str(text),
        ("add_tokens", "of a copy"): lambda: copy.deepcopy(tokenizer).add_tokens(["[NEW]"]),
    }
    for name, one, batch in (("short", short, few), ("long", long, many)):
        calls |= {
            ("encode", name): lambda one=one: tokenizer.encode(one),  # type: ignore[misc]
            ("encode_batch", name): lambda batch=batch: tokenizer.encode_batch(batch),  # type: ignore[misc]
            ("encode_batch_fast", name): lambda batch=batch: tokenizer.encode_batch_fast(batch),  # type: ignore[misc]
            ("decode", name): lambda name=name: tokenizer.decode(ids[name]),  # type: ignore[misc]
        }
    for name in ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"):
        calls[name, ""] = lambda name=name: getattr(tokenizer, name)  # type: ignore[misc]
    return calls


def of_encoding(kind: Any, path: str, short: str, long: str) -> Calls:
    """Return the calls of `Encoding`: each attribute, read from a new encoding (with the time to encode) or a used
    one."""
    tokenizer = kind.from_file(path)
    encoding = tokenizer.encode(long)
    names = (
        *("ids", "tokens", "type_ids", "offsets", "attention_mask", "special_tokens_mask", "overflowing", "word_ids"),
        *("sequence_ids", "n_sequences"),
    )
    calls: Calls = {}
    for name in names:
        calls[name, "long"] = lambda name=name: getattr(encoding, name)  # type: ignore[misc]
        calls[name, "new"] = lambda name=name: getattr(tokenizer.encode(short), name)  # type: ignore[misc]
    for name in ("char_to_token", "char_to_word", "token_to_chars", "token_to_word", "word_to_tokens", "word_to_chars"):
        calls[name, "long"] = lambda name=name: getattr(encoding, name)(5)  # type: ignore[misc]
    calls["token_to_sequence", "long"] = lambda: encoding.token_to_sequence(5)
    calls["len", "long"] = lambda: len(encoding)
    calls["pad", "new"] = lambda: tokenizer.encode(short).pad(64)
    calls["truncate", "new"] = lambda: tokenizer.encode(short).truncate(4)
    calls["merge", "new"] = lambda: type(encoding).merge([tokenizer.encode(short), tokenizer.encode(short)])
    calls["pickle", "long"] = lambda: pickle.loads(pickle.dumps(encoding))
    return calls


def of_stream(kind: Any, tokenizer_kind: Any, path: str, text: str) -> Calls:
    """Return the one call of the class `kind`, a `DecodeStream`: a step for each id of a text."""
    tokenizer = tokenizer_kind.from_file(path)
    ids = tokenizer.encode(text).ids

    def steps() -> None:
        stream = kind(skip_special_tokens=True)
        for id in ids:
            stream.step(tokenizer, id)

    return {("DecodeStream.step", f"{len(ids)} times"): steps}


def of_fast(kind: Any, path: str, short: str, long: str, directory: str) -> Calls:
    """Return the calls of a fast tokenizer. `kind` opens it: the `AutoTokenizer` of transformers or ours."""
    tokenizer = kind.from_pretrained(path)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    added = copy.deepcopy(tokenizer)
    added.add_tokens(["[NEW]"])
    batch = [short, long] * 8
    cut = {"padding": True, "truncation": True, "max_length": 64}
    ids, tokens = tokenizer(long)["input_ids"], tokenizer.tokenize(long)
    save = os.path.join(directory, "fast")
    calls: Calls = {
        ("call", "short"): lambda: tokenizer(short),
        ("call", "long"): lambda: tokenizer(long),
        ("call", "pair"): lambda: tokenizer(short, long),
        ("call", "words"): lambda: tokenizer(long.split(), is_split_into_words=True),
        ("call", "batch"): lambda: tokenizer(batch),
        ("call", "batch, padding, truncation"): lambda: tokenizer(batch, **cut),
        ("call", "batch, np"): lambda: tokenizer(batch, return_tensors="np", **cut),
        ("call", "batch, offsets"): lambda: tokenizer(batch, return_offsets_mapping=True),
        ("call", "batch, overflowing"): lambda: tokenizer(batch, return_overflowing_tokens=True, **cut),
        ("encode", "short"): lambda: tokenizer.encode(short),
        ("encode", "long"): lambda: tokenizer.encode(long),
        ("tokenize", "short"): lambda: tokenizer.tokenize(short),
        ("tokenize", "one word"): lambda: tokenizer.tokenize("the"),
        ("tokenize", "long"): lambda: tokenizer.tokenize(long),
        ("decode", "long"): lambda: tokenizer.decode(ids),
        ("decode", "one id"): lambda: tokenizer.decode(ids[1]),
        ("batch_decode", "long"): lambda: tokenizer.batch_decode([ids] * 8),
        ("convert_ids_to_tokens", "long"): lambda: tokenizer.convert_ids_to_tokens(ids),
        ("convert_ids_to_tokens", "one id"): lambda: tokenizer.convert_ids_to_tokens(ids[1]),
        ("convert_tokens_to_ids", "long"): lambda: tokenizer.convert_tokens_to_ids(tokens),
        ("convert_tokens_to_ids", "one token"): lambda: tokenizer.convert_tokens_to_ids(tokens[0]),
        ("convert_tokens_to_string", "long"): lambda: tokenizer.convert_tokens_to_string(tokens),
        ("_encode_without_added_tokens", "short"): lambda: tokenizer._encode_without_added_tokens(short),
        ("pad", "batch"): lambda: tokenizer.pad({"input_ids": [ids, ids[:5]]}),
        ("get_special_tokens_mask", "long"): lambda: tokenizer.get_special_tokens_mask(
            ids, already_has_special_tokens=True
        ),
        ("get_vocab", ""): tokenizer.get_vocab,
        ("get_added_vocab", ""): tokenizer.get_added_vocab,
        ("len", ""): lambda: len(tokenizer),
        ("num_special_tokens_to_add", ""): tokenizer.num_special_tokens_to_add,
        ("add_tokens", "of a copy"): lambda: copy.deepcopy(tokenizer).add_tokens(["[NEW]"]),
        ("copy.deepcopy", ""): lambda: copy.deepcopy(tokenizer),
        ("pickle", ""): lambda: pickle.loads(pickle.dumps(tokenizer)),
        ("save_pretrained", ""): lambda: tokenizer.save_pretrained(save),
        ("save_pretrained", "a token was added"): lambda: added.save_pretrained(save),
        ("from_pretrained", ""): lambda: kind.from_pretrained(path),
    }
    for name in ("vocab_size", "added_tokens_decoder", "added_tokens_encoder", "all_special_ids", "special_tokens_map"):
        calls[name, ""] = lambda name=name: getattr(tokenizer, name)  # type: ignore[misc]
    return calls


def of_tiktoken(kind: Any, name: str, parts: dict[str, Any], short: str, long: str) -> Calls:
    """Return the calls of the class `kind`: `tiktoken.Encoding` or ours."""
    encoding = kind(name, **parts)
    ids = encoding.encode_ordinary(long)
    batch = [short, long] * 8
    calls: Calls = {
        ("encode_with_unstable", "short"): lambda: encoding.encode_with_unstable(short),
        ("encode_batch", ""): lambda: encoding.encode_batch(batch),
        ("encode_ordinary_batch", ""): lambda: encoding.encode_ordinary_batch(batch),
        ("encode_single_token", ""): lambda: encoding.encode_single_token("a"),
        ("decode_batch", ""): lambda: encoding.decode_batch([ids] * 8),
        ("decode_bytes_batch", ""): lambda: encoding.decode_bytes_batch([ids] * 8),
        ("decode_single_token_bytes", ""): lambda: encoding.decode_single_token_bytes(ids[0]),
        ("decode_with_offsets", "long"): lambda: encoding.decode_with_offsets(ids),
        ("token_byte_values", ""): encoding.token_byte_values,
        ("is_special_token", ""): lambda: encoding.is_special_token(ids[0]),
        ("pickle", ""): lambda: pickle.loads(pickle.dumps(encoding)),
        ("Encoding(...)", ""): lambda: kind(name, **parts),
    }
    for size, text, some in (("short", short, ids[:8]), ("long", long, ids)):
        for call in ("encode", "encode_ordinary", "encode_to_numpy"):
            calls[call, size] = lambda call=call, text=text: getattr(encoding, call)(text)  # type: ignore[misc]
        for call in ("decode", "decode_bytes", "decode_tokens_bytes"):
            calls[call, size] = lambda call=call, some=some: getattr(encoding, call)(some)  # type: ignore[misc]
    for call in ("n_vocab", "eot_token", "special_tokens_set", "max_token_value"):
        calls[call, ""] = lambda call=call: getattr(encoding, call)  # type: ignore[misc]
    return calls
