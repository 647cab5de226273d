"""The comparison: it agrees with itself, finds every planted difference, and makes it small."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.parity.compare.comparison import (
    Comparison,
    FastPaths,
    ReferenceDigests,
    Result,
    batches,
    describe,
    pairs,
    singles,
)
from crayon_hf.parity.compare.records import (
    DEFAULT,
    FieldDifference,
    Mode,
    OurBytesSide,
    OurTiktokenSide,
    Outcome,
    SameBytesSide,
    TiktokenSide,
    TokenizersSide,
    compare_outcomes,
)
from crayon_hf.parity.compare.references import find
from crayon_hf.parity.compare.suites import WINDOWS, WINDOWS_OF_PAIRS
from crayon_hf.parity.inputs.byte_strings import generate_bytes
from crayon_hf.parity.inputs.strings import CATEGORIES, generate

N = len(CATEGORIES) * 6


def compare(
    path: Path,
    make: Any,
    mode: Mode = DEFAULT,
    *,
    inputs: Any = None,
    fast: bool = False,
    digests: ReferenceDigests | None = None,
) -> Result:
    vocabulary = find(str(path))
    ours = make(vocabulary.open_reference())
    paths = FastPaths(ours) if fast else None
    comparison = Comparison(TokenizersSide(ours), vocabulary.reference_side, mode, paths, digests)
    given = singles(generate(N, 11, specials=vocabulary.specials())) if inputs is None else singles(inputs)
    return comparison.run(given)


MODES = [DEFAULT, Mode(add_special_tokens=False), Mode(words=True), Mode(special_as_text=True)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.label or "default")
def test_the_reference_agrees_with_itself(any_vocabulary: Path, stand_in: ModuleType, mode: Mode) -> None:
    result = compare(any_vocabulary, stand_in.Agrees, mode, fast=True)
    assert result.total == N
    assert result.total_differing == 0, result.differences[0].lines()
    assert dict(result.inputs) == dict.fromkeys(CATEGORIES, 6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", WINDOWS_OF_PAIRS, ids=lambda mode: mode.label)
@pytest.mark.parametrize("make", [singles, pairs])
def test_windows_agree(roberta_like: Path, stand_in: ModuleType, mode: Mode, make: Any) -> None:
    vocabulary = find(str(roberta_like))
    ours = stand_in.Agrees(vocabulary.open_reference())
    comparison = Comparison(TokenizersSide(ours), vocabulary.reference_side, mode)
    result = comparison.run(make(generate(N // 8, 11, specials=vocabulary.specials())))
    assert (result.total, result.total_differing) == (N // 8, 0)
    assert (ours.truncation, ours.padding) == (None, None)


@pytest.mark.parametrize(
    ("name", "mode", "smallest", "field"),
    [
        ("WrongStride", WINDOWS[0], 5, "overflowing"),
        ("WrongPadding", WINDOWS[3], 0, "ids"),
    ],
)
def test_wrong_windows_are_found(
    gpt2_like: Path, stand_in: ModuleType, name: str, mode: Mode, smallest: int, field: str
) -> None:
    result = compare(gpt2_like, getattr(stand_in, name), mode)
    assert result.total_differing > 0
    difference = result.differences[0]
    assert len(difference.smallest[0]) >= smallest
    assert field in [each.field for each in difference.fields]


def test_windows_that_a_side_refuses_are_errors(gpt2_like: Path, stand_in: ModuleType) -> None:
    side = find(str(gpt2_like)).reference_side()
    mode = Mode(max_length=4, stride=5)
    assert [outcome.error[0] for outcome in side.outcomes([("a",), ("b",)], mode)] == ["ValueError"] * 2
    assert compare(gpt2_like, stand_in.Agrees, mode).total_differing == 0
    assert compare(gpt2_like, stand_in.WrongStride, mode).total_differing == N


def test_truncation_of_the_file_is_kept(gpt2_like: Path) -> None:
    tokenizer = find(str(gpt2_like)).open_reference()
    tokenizer.enable_truncation(3, stride=1)
    tokenizer.enable_padding(length=5)
    side = TokenizersSide(tokenizer)
    before = side.outcomes([("one two three four five six",)], DEFAULT)
    (other,) = side.outcomes([("one two three four five six",)], Mode(max_length=2, pad="left", pad_length=7))
    assert [len(row.fields["ids"]) for row in (*before, other)] == [5, 7]
    assert side.outcomes([("one two three four five six",)], DEFAULT) == before


def test_pairs_agree(template_like: Path, stand_in: ModuleType) -> None:
    vocabulary = find(str(template_like))
    ours = stand_in.Agrees(vocabulary.open_reference())
    comparison = Comparison(TokenizersSide(ours), vocabulary.reference_side, fast_paths=FastPaths(ours))
    result = comparison.run(pairs(generate(N, 11, specials=vocabulary.specials())))
    assert (result.total, result.total_differing) == (N, 0)


def test_a_record_holds_everything(template_like: Path) -> None:
    side = find(str(template_like)).reference_side()
    (outcome,) = side.outcomes([("caf\u00e9 [L]crayon", "two")], DEFAULT)
    assert outcome.error == ()
    fields = outcome.fields
    assert fields["tokens"][0] == "[CLS]"
    assert set(fields["type_ids"]) == {0, 1}
    assert fields["sequence_ids"][0] is None
    assert fields["n_sequences"] == 2
    assert sum(fields["special_tokens_mask"]) == 3
    assert fields["decoded"] != fields["decoded_with_special"]
    assert "lookups" not in fields
    (short,) = side.outcomes([("caf\u00e9",)], DEFAULT)
    assert short.fields["lookups"]


def test_wrong_ids_are_found_and_made_small(gpt2_like: Path, stand_in: ModuleType) -> None:
    texts = [("words", "a caf\u00e9 with 3 rooms, open since 1987"), ("other", "plain")]
    result = compare(gpt2_like, stand_in.WrongIds, inputs=texts)
    assert (result.total, result.total_differing) == (2, 1)
    assert dict(result.differing) == {"words": 1}
    (difference,) = result.differences
    assert difference.found == (texts[0][1],)
    assert difference.smallest == ("\u00e91",)
    assert "ids" in [each.field for each in difference.fields]
    report = "\n".join(difference.lines())
    assert r"'\xe91'  (2 characters, found in 36)" in report
    assert "ids: first difference at 0" in report


def test_generated_strings_find_it_too(gpt2_like: Path, stand_in: ModuleType) -> None:
    result = compare(gpt2_like, stand_in.WrongIds)
    assert 0 < result.total_differing < N / 4
    assert len(result.differences[0].smallest[0]) == 2


@pytest.mark.parametrize(
    ("name", "field", "smallest"),
    [("WrongOffsets", "offsets", 1), ("WrongDecoding", "decoded", 1), ("Raises", "error", 1)],
)
def test_other_fields_are_compared(gpt2_like: Path, stand_in: ModuleType, name: str, field: str, smallest: int) -> None:
    result = compare(gpt2_like, getattr(stand_in, name))
    assert result.total_differing > 0
    difference = result.differences[0]
    assert difference.fields[0].field == field
    assert len(difference.smallest[0]) == smallest
    assert any(field in line for line in difference.lines())


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("WrongRagged", ["own encode_ragged", "own encode_ragged of bytes"]),
        ("WrongFast", ["own encode_batch_fast"]),
        ("WrongCount", ["own count_tokens"]),
    ],
)
def test_fast_paths_must_agree_with_encode_batch(
    gpt2_like: Path, stand_in: ModuleType, name: str, fields: list[str]
) -> None:
    inputs = [("a", "some words"), ("b", "\t"), ("c", "a\ud800")]
    assert compare(gpt2_like, getattr(stand_in, name), inputs=inputs).total_differing == 0
    result = compare(gpt2_like, getattr(stand_in, name), inputs=inputs, fast=True)
    assert [each.field for each in result.differences[0].fields] == fields
    assert result.differing["c"] == 0
    assert result.differing["b"] == 1


def test_bytes_come_back_or_are_reported(gpt2_like: Path, stand_in: ModuleType) -> None:
    side = OurBytesSide(stand_in.WrongBytes(None))
    given = [(name, data.decode("latin-1")) for name, data in generate_bytes(500)]
    result = Comparison(side, SameBytesSide).run(singles(given))
    assert result.differing["valid"] == 0
    assert min(result.differing[name] for name in ("random", "mutated", "truncated", "malformed")) > 10
    assert len(result.differences[0].smallest[0]) == 1
    assert result.differences[0].fields[0].field == "bytes"


def test_a_difference_only_within_a_batch_is_said_to_be_one(gpt2_like: Path, stand_in: ModuleType) -> None:
    result = compare(gpt2_like, stand_in.WrongInBatch, inputs=[("a", "x"), ("b", "clean")])
    (difference,) = result.differences
    assert not difference.alone
    assert difference.smallest == ("clean",)
    assert "only within its batch" in difference.lines()[1]


def test_pairs_shrink_on_both_sides(gpt2_like: Path, stand_in: ModuleType) -> None:
    vocabulary = find(str(gpt2_like))
    comparison = Comparison(
        TokenizersSide(stand_in.WrongOffsets(vocabulary.open_reference())), vocabulary.reference_side
    )
    result = comparison.run([("pair", ("ends in white space ", "some other text"))])
    assert result.differences[0].smallest == (" ", "a") or result.differences[0].smallest[0] == " "
    assert len(result.differences[0].smallest[1]) <= 1


# -- errors are outcomes


def test_surrogates_raise_on_both_sides(gpt2_like: Path, stand_in: ModuleType) -> None:
    texts = [("s", "a\ud800b"), ("s", "plain"), ("s", "\udfff")]
    reference = find(str(gpt2_like)).reference_side()
    outcomes = reference.outcomes([(text,) for _, text in texts], DEFAULT)
    assert [outcome.error[:1] for outcome in outcomes] == [("TypeError",), (), ("TypeError",)]
    assert compare(gpt2_like, stand_in.Agrees, inputs=texts, fast=True).total_differing == 0


def test_an_error_of_a_class_below_is_the_same_error(gpt2_like: Path, stand_in: ModuleType) -> None:
    assert compare(gpt2_like, stand_in.OwnErrors, inputs=[("s", "a\ud800b")]).total_differing == 0


def test_which_errors_agree() -> None:
    record = Outcome({"ids": [1]})
    type_error, value_error = Outcome.of_error(TypeError("no")), Outcome.of_error(ValueError("no"))
    unicode_error = Outcome.of_error(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"))
    assert compare_outcomes(type_error, type_error) == []
    assert compare_outcomes(unicode_error, value_error) == []
    for ours, reference in (
        (value_error, unicode_error),
        (value_error, type_error),
        (record, type_error),
        (type_error, record),
    ):
        assert [each.field for each in compare_outcomes(ours, reference)] == ["error"]


def test_a_missing_field_is_a_difference() -> None:
    assert compare_outcomes(Outcome({"ids": [1]}), Outcome({"ids": [1], "tokens": ["a"]})) == [
        FieldDifference("tokens", None, ["a"])
    ]
    assert compare_outcomes(Outcome({"ids": [1], "more": 0}), Outcome({"ids": [1]})) == [
        FieldDifference("more", 0, None)
    ]


# -- kept results of the reference


def test_kept_results_stand_in_for_the_reference(gpt2_like: Path, stand_in: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "kept" / "digests"
    first = compare(gpt2_like, stand_in.Agrees, digests=ReferenceDigests(path))
    assert first.total_differing == 0
    assert path.stat().st_size == N * ReferenceDigests.WIDTH

    vocabulary = find(str(gpt2_like))
    asked = []

    class Watched(TokenizersSide):
        def outcomes(self, items: Any, mode: Mode) -> list[Outcome]:
            asked.extend(items)
            return super().outcomes(items, mode)

    def rerun(make: Any, seed: int) -> Result:
        asked.clear()
        side = TokenizersSide(make(vocabulary.open_reference()))
        reference = Watched(vocabulary.open_reference())
        comparison = Comparison(side, lambda: reference, digests=ReferenceDigests(path), minimise_seconds=0)
        return comparison.run(singles(generate(N, seed, specials=vocabulary.specials())), reports=0)

    assert rerun(stand_in.Agrees, 11).total_differing == 0
    assert asked == []
    wrong = rerun(stand_in.WrongIds, 11)
    assert wrong.total_differing == compare(gpt2_like, stand_in.WrongIds).total_differing == len(asked) > 0
    # Results for other inputs are not believed: the reference is asked.
    other = rerun(stand_in.Agrees, 12)
    assert other.total_differing == 0
    assert len(asked) > N / 2


def test_digests_are_the_same_for_equal_records() -> None:
    def record(last: int) -> Outcome:
        # Equal values in objects of their own: built here, not constants.
        tokens = [chr(97), chr(98) + chr(0xD800)]
        return Outcome({"ids": [1, 2, last], "tokens": tokens, "word_ids": [None, 0, last], "offsets": [(0, last)]})

    one, same, other = record(300), record(300), record(301)
    assert one.digest() == same.digest() != other.digest()
    assert Outcome.of_error(TypeError("x")).digest() == Outcome.of_error(TypeError("y")).digest()
    assert Outcome({"ids": object()}).digest() is None


# -- tiktoken


@pytest.fixture
def tiktoken_encoding() -> Any:
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {token: 256 + i for i, token in enumerate((b"he", b"ll", b"hell", b"hello", b"  ", "\u00e9".encode()))}
    return tiktoken.Encoding(
        "own", pat_str=r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+", mergeable_ranks=ranks, special_tokens={"<end>": 300}
    )


def test_tiktoken_agrees_with_itself(tiktoken_encoding: Any, stand_in: ModuleType) -> None:
    ours = OurTiktokenSide(stand_in.OfTiktoken(tiktoken_encoding), stand_in.OfTiktoken(tiktoken_encoding))
    comparison = Comparison(ours, lambda: TiktokenSide(tiktoken_encoding))
    result = comparison.run(singles(generate(N, 3, specials=("<end>",))))
    assert (result.total, result.total_differing) == (N, 0), result.differences[0].lines()


def test_tiktoken_records(tiktoken_encoding: Any) -> None:
    side = TiktokenSide(tiktoken_encoding)
    special, surrogate = side.outcomes([("hello<end>",), ("\ud800\u00e9",)], DEFAULT)
    assert special.fields["ids"] == [259, 300]
    assert special.fields["ordinary"] == [259, *b"<end>"]
    assert special.fields["starts"] == [0, 5]
    assert special.fields["decoded_bytes"] == b"hello<end>"
    assert surrogate.fields["decoded_with_special"] == "\ufffd\u00e9"
    assert "starts" not in surrogate.fields


def test_planted_differences_from_tiktoken_are_found(tiktoken_encoding: Any, stand_in: ModuleType) -> None:
    class Ordinary(stand_in.OfTiktoken):  # type: ignore[name-defined,misc]
        """Never recognises a special token."""

        def encode(self, text: str) -> Any:
            self.encode_special_tokens = True
            return super().encode(text)

    ours = OurTiktokenSide(Ordinary(tiktoken_encoding), Ordinary(tiktoken_encoding))
    comparison = Comparison(ours, lambda: TiktokenSide(tiktoken_encoding))
    result = comparison.run(singles(generate(N, 3, specials=("<end>",))))
    assert result.differences[0].smallest == ("<end>",)
    assert result.differences[0].fields[0].field == "ids"


# -- small parts


def test_batches_keep_order_and_bounds() -> None:
    inputs = [("c", (text,)) for _, text in generate(2000, 1)]
    parts = list(batches(iter(inputs)))
    assert [entry for part in parts for entry in part] == inputs
    assert len(parts) > 5
    assert list(batches([])) == []


def test_a_long_difference_is_shown_where_it_begins() -> None:
    lines = describe(FieldDifference("ids", [*range(100), -1], [*range(101)]))
    assert lines[0] == "ids: first difference at 100, lengths 101 and 101"
    assert lines[1].endswith("[96, 97, 98, 99, -1]")
    assert lines[2].endswith("[96, 97, 98, 99, 100]")
    assert describe(FieldDifference("error", "TypeError: no", None)) == [
        "error: ours 'TypeError: no'",
        "       reference None",
    ]
