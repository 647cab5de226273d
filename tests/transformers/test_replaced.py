"""A program's replacements of transformers' methods, and of `_tokenizer`, take effect in every call."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
from tokenizers import normalizers
from transformers import PreTrainedTokenizerFast

import crayon_hf
from tests.transformers.comparing import outcome

TEXT = "The quick  brown fox."
METHODS = (
    *("__call__", "encode", "_encode_plus", "set_truncation_and_padding", "decode", "_decode", "batch_decode"),
    *("convert_ids_to_tokens", "convert_tokens_to_ids", "_convert_token_to_id_with_added_voc"),
    *(["_encode_without_added_tokens"] if hasattr(PreTrainedTokenizerFast, "_encode_without_added_tokens") else []),
)


def said(tokenizer: Any, calls: list[str]) -> list[Any]:
    """The results of some calls, and the replaced methods that each of them called."""
    ids = tokenizer.encode(TEXT, add_special_tokens=False)
    tokens = tokenizer.convert_ids_to_tokens(ids)
    results = []
    for call in (
        lambda: tokenizer(TEXT),
        lambda: tokenizer(TEXT, truncation=True, max_length=4),
        lambda: tokenizer([TEXT, "b"], return_tensors="np", padding=True),
        lambda: tokenizer.encode(TEXT),
        lambda: tokenizer.encode(TEXT, add_special_tokens=False),
        lambda: tokenizer.tokenize(TEXT),
        lambda: tokenizer.decode(ids),
        lambda: tokenizer.decode(ids, skip_special_tokens=True),
        lambda: tokenizer.decode(ids, clean_up_tokenization_spaces=True),
        lambda: tokenizer.decode(ids[0]),
        lambda: tokenizer.batch_decode([ids, ids[:2]]),
        lambda: tokenizer.convert_ids_to_tokens(ids),
        lambda: tokenizer.convert_ids_to_tokens(ids[0]),
        lambda: tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=True),
        lambda: tokenizer.convert_tokens_to_ids(tokens),
        lambda: tokenizer.convert_tokens_to_ids(tokens[0]),
        lambda: tokenizer.all_special_ids,
        lambda: tokenizer._encode_without_added_tokens(TEXT),
    ):
        calls.clear()
        results.append((outcome(call), list(calls)))
    return results


def recording(original: Any, name: str, calls: list[str]) -> Any:
    def replaced(*arguments: Any, **keywords: Any) -> Any:
        calls.append(name)
        return original(*arguments, **keywords)

    return replaced


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_a_class(pair: tuple[Any, Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [said(tokenizer, []) for tokenizer in pair]
    calls: list[str] = []
    owner = next(cls for cls in PreTrainedTokenizerFast.__mro__ if name in cls.__dict__)
    monkeypatch.setattr(owner, name, recording(getattr(owner, name), name, calls))
    stock, ours = (said(tokenizer, calls) for tokenizer in pair)
    assert ours == stock
    assert any(called for _, called in stock)
    monkeypatch.undo()
    assert [said(tokenizer, calls) for tokenizer in pair] == before


@pytest.mark.parametrize("name", [name for name in METHODS if name != "__call__"])
def test_a_method_of_an_instance(pair: tuple[Any, Any], name: str) -> None:
    results = []
    for tokenizer in pair:
        calls: list[str] = []
        setattr(tokenizer, name, recording(getattr(tokenizer, name), name, calls))
        results.append(said(tokenizer, calls))
        delattr(tokenizer, name)
        results.append(said(tokenizer, calls))
    assert results[2:] == results[:2]
    assert any(called for _, called in results[0])


def test_a_method_of_the_backend(pair: tuple[Any, Any]) -> None:
    results = []
    for tokenizer in pair:
        calls: list[str] = []
        backend = tokenizer.backend_tokenizer
        for name in ("encode_batch", "decode", "id_to_token", "token_to_id"):
            setattr(backend, name, recording(getattr(backend, name), name, calls))
        results.append(said(tokenizer, calls))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["_encode_plus", "decode", "_decode", "_convert_token_to_id_with_added_voc"])
def test_a_method_of_a_subclass(repository: Any, name: str) -> None:
    results = []
    for base in (PreTrainedTokenizerFast, crayon_hf.CrayonTokenizerFast):
        calls: list[str] = []
        derived: Any = type("Derived", (base,), {name: recording(getattr(base, name), name, calls)})
        results.append([(result, set(called)) for result, called in said(derived.from_pretrained(repository), calls)])
    assert results[0] == results[1]
    assert any(called for _, called in results[0])


def test_a_reference_that_is_assigned(pair: tuple[Any, Any]) -> None:
    """A program assigns a tokenizer of the library as `_tokenizer`. While the program holds that object, changes of it
    take effect; afterwards it is converted to ours."""
    stock, ours = pair
    attributes = set(vars(ours))
    references = [copy.deepcopy(stock.backend_tokenizer) for _ in pair]
    for tokenizer, reference in zip(pair, references, strict=True):
        tokenizer._tokenizer = reference
    with pytest.warns(crayon_hf.DelegatedWarning, match="still holds the tokenizer"):
        assert ours._tokenizer is ours.backend_tokenizer is references[1]
    for reference in references:
        reference.add_tokens(["quick"])
        reference.normalizer = normalizers.Replace("o", "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert said(ours, []) == said(stock, [])
    assert ours.engine_report()["engine"] == "delegated"
    del reference
    references.clear()
    assert said(ours, []) == said(stock, [])
    assert ours.engine_report()["engine"] == "native"
    assert set(vars(ours)) == attributes  # so that its pickle is the same as without an assignment
    assert isinstance(copy.deepcopy(ours)._tokenizer, crayon_hf.Tokenizer)
