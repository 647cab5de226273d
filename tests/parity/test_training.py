"""Training beside the trainers of others: what differs is found, what is chance is not taken for a difference."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import _core
from crayon_hf.parity.compare.records import Outcome
from parity.training import command
from parity.training.cases import Case, names_symbols, pre_tokenizers, random_case, with_named_symbols
from parity.training.compare import check, difference, reference, smallest, train_with
from parity.training.crayon_trainer import NotBuiltError, first_slip, trainer
from tests.training.bpe_trainer_reference import train

SPLIT = pre_tokenizers()["WhitespaceSplit"]
CASE = Case("some", SPLIT, None, ("ab ab abc bca bca",) * 3, {"vocab_size": 20})


class Late:
    """A trainer that leaves out the last merges."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    @staticmethod
    def from_str(text: str) -> Late:
        return Late(tokenizers.Tokenizer.from_str(text))

    def train_from_iterator(self, texts: Any, trainer: Any) -> None:
        trainer.min_frequency += 10
        self.tokenizer.train_from_iterator(texts, trainer)

    def train(self, files: Any, trainer: Any) -> None:
        trainer.min_frequency += 10
        self.tokenizer.train(files, trainer)

    def to_str(self) -> str:
        return str(self.tokenizer.to_str())


def late(case: Case) -> str:
    return train_with(Late, case)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng = random.Random(7)
    words = ["".join(rng.choices("etaoin shrdlu", k=rng.randint(2, 9))) for _ in range(300)]
    path = tmp_path / "some.txt"
    path.write_text("\n".join(" ".join(rng.choices(words, k=12)) for _ in range(400)), encoding="utf-8")
    return path


@pytest.mark.parametrize("number", range(30))
def test_ours_trains_as_the_reference(number: int) -> None:
    for finding in check(random_case(number, seed=2), command.ours_or("")):
        assert not finding.what, "\n".join(finding.lines())


def test_cases_are_always_the_same_and_varied() -> None:
    cases = [random_case(number) for number in range(200)]
    assert cases[:20] == [random_case(number) for number in range(20)]
    assert random_case(3, seed=2) != cases[3]
    drawn = {name for case in cases for name in case.options}
    assert drawn == {
        "vocab_size",
        "min_frequency",
        "special_tokens",
        "initial_alphabet",
        "limit_alphabet",
        "max_token_length",
        "continuing_subword_prefix",
        "end_of_word_suffix",
    }
    assert {case.as_file for case in cases} == {True, False}


def test_a_difference_is_found_and_made_small() -> None:
    assert not check(CASE, reference)[0].what
    (finding,) = check(CASE, late)
    assert "merge" in finding.what
    small = smallest(CASE, late)
    assert small.what
    assert sum(map(len, small.case.texts)) < 10
    assert any("WhitespaceSplit" in line or "null" in line for line in small.lines())


def test_chance_in_the_reference_is_no_difference() -> None:
    answers = cycle([train_with(tokenizers.Tokenizer, replace(CASE, options={"vocab_size": n})) for n in (6, 7)])

    def fickle(_: Case) -> str:
        return next(answers)

    seven = train_with(tokenizers.Tokenizer, replace(CASE, options={"vocab_size": 7}))
    (finding,) = check(CASE, lambda _: seven, fickle)
    assert (finding.what, finding.by_chance, finding.undecided) == ("", True, False)
    (finding,) = check(CASE, late, fickle)
    assert (finding.what, finding.by_chance, finding.undecided) == ("", False, True)


def test_symbols_get_their_ids_from_special_tokens() -> None:
    case = replace(CASE, options={"vocab_size": 40, "end_of_word_suffix": "</w>", "special_tokens": ["x"]})
    assert names_symbols(case)
    named = with_named_symbols(case, ["x", "a", "b", "ab"])
    assert named.options["special_tokens"][0] == "x"
    assert set(named.options["special_tokens"][1:]) == {"a</w>", "b</w>", "x</w>"}
    whole = with_named_symbols(case, json.loads(train_with(tokenizers.Tokenizer, case))["model"]["vocab"])
    assert len({train_with(tokenizers.Tokenizer, whole) for _ in range(5)}) == 1


def test_differences_are_named() -> None:
    right = train_with(tokenizers.Tokenizer, CASE)

    def other(**changes: Any) -> str:
        value = json.loads(right)
        value["model"].update(changes)
        return difference(right, json.dumps(value))

    model = json.loads(right)["model"]
    assert difference(right, right) == ""
    assert "merge 0" in other(merges=[["c", "a"], *model["merges"][1:]])
    assert "merges, the reference has" in other(merges=model["merges"][:-1])
    assert "a token and its id" in other(vocab={**model["vocab"], "a": 1, "b": 0})
    assert "tokens, the reference has" in other(vocab={**model["vocab"], "more": 99})
    assert other(dropout=0.5).startswith("model is")
    assert difference(right, json.dumps(json.loads(right))) == "the same values, written otherwise"
    error = Outcome.of_error(ValueError("no"))
    assert "only ours is refused" in difference(right, error)
    assert "only the reference refuses" in difference(error, right)
    assert difference(error, error) == ""


def test_counts_that_the_reference_has_no_room_for() -> None:
    """On purpose: with its 32 bits the most frequent pairs seem to be rare, or not there at all."""
    letters = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    engine = _core.compile_tokenizer_json(json.dumps({**CASE.document(), "model": letters}).encode(), "{}")
    counter = _core.WordCounter(_core.Engine.from_bytes(engine))
    words = {"ab": 2**31 + 5, "cd": 7, "ef": 2**40 + 1, "abab": 3}
    counter.add_words(words)
    tokens, merges = _core.train_bpe(counter, vocab_size=20)
    right, overflowed = train(words, vocab_size=20), train(words, vocab_size=20, bits=32)
    assert (tokens, merges) == right
    assert right[0][6:9] == ["ef", "ab", "cd"]
    assert overflowed[0][6:8] == ["cd", "ba"]


def plain_merges(data: bytes, count: int) -> list[tuple[int, int]]:
    """BPE on bytes, by definition."""
    ids, merges = list(data), []
    for new in range(256, 256 + count):
        pairs = list(pairwise(ids))
        if not pairs:
            break
        best = max(sorted(set(pairs)), key=pairs.count)
        merges.append(best)
        merged, at = [], 0
        while at < len(ids):
            found = tuple(ids[at : at + 2]) == best
            merged.append(new if found else ids[at])
            at += 1 + found
        ids = merged
    return merges


@pytest.mark.parametrize("data", [b"abracadabra abracadabra", b"aaaaaaaabaaabaaaaab" * 3, b"x", b"ab" * 50])
def test_bpe_does_not_slip(data: bytes) -> None:
    merges = plain_merges(data, 30)
    assert first_slip(data, merges) is None


def test_a_slip_is_found() -> None:
    data = b"abcabcabcxyxy"
    slip = first_slip(data, [(ord("a"), ord("b")), (ord("x"), ord("y"))])
    assert slip is not None
    assert (slip.rank, slip.pair, slip.count, slip.best_count) == (1, (b"x", b"y"), 2, 3)
    assert "3 times" in str(slip)
    ended = first_slip(data, [(ord("a"), ord("b"))], ended=2)
    assert ended is not None
    assert ended.rank == 1
    assert first_slip(data, [(ord("a"), ord("b"))]) is None


@pytest.mark.slow
def test_the_trainer_of_crayon_slips(text: Path) -> None:
    try:
        with trainer() as crayons:
            assert command.slips(crayons, text.read_bytes(), 2000) is not None
            assert crayons(b"", 300) == []
    except NotBuiltError as error:
        pytest.skip(str(error))


def test_the_command(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--text", f"two={text},{text}", "--megabytes", "0.02", "--vocab-size", "400", "--no-crayon"]
    assert command.main([*options, "--random", "3"]) == 0
    out = capsys.readouterr().out
    assert "two, 0.0 MB, vocabulary 400: tokenizer.json equal" in out
    assert "3 random corpora" in out
    assert command.main(["--no-texts", "--random", "0", "--no-crayon"]) == 0
    assert command.main(["--text", "no-such-text"]) == 2
    assert "no-such-text" in capsys.readouterr().err


def test_the_command_notices(text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "train_with", lambda _, case: late(case))
    options = ["--text", str(text), "--vocab-size", "2000", "--random", "0", "--no-crayon"]
    assert command.main([*options, "--ours", "tokenizers:Tokenizer"]) == 1
    assert "the reference" in capsys.readouterr().out
