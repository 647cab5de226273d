"""Every component and option of a tokenizer.json against the reference; and that a fault would be found."""

from __future__ import annotations

import json
import re
import subprocess
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf.parity.compare.children import child_command
from crayon_hf.parity.compare.records import DEFAULT, Mode, TokenizersSide
from parity.components import cases, command
from parity.components.cases import Case, assemble, digest, random_case, single_cases
from parity.components.command import VARIANTS, Failure, check, open_ours, open_reference, smallest
from parity.components.models import SPECIALS, make_model, model_names
from parity.components.parts import charsmap, decoders, normalizers, post_processors, pre_tokenizers
from parity.components.texts import HOSTILE
from tests.support.sampling import sampled
from tests.support.versions import IS_BESIDE_1, REFERENCE

CASES = {case.name: case for case in single_cases()}
SEEDS = 30


@pytest.fixture(scope="module", autouse=True)
def _short_panics() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUST_BACKTRACE", "0")  # the reference panics often here, and traces are slow
        yield


def report(failures: list[Failure]) -> str:
    return "\n".join(line for failure in failures for line in smallest(failure, open_ours).lines())


# -- ours


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_one_component(name: str) -> None:
    if REFERENCE < (0, 23) and re.fullmatch(r"added\(.*normalized.*\), lowercase", name):
        pytest.skip("tokenizers before 0.23 finds these added tokens otherwise in normalized text")
    if IS_BESIDE_1 and name.startswith("model/bpe-words, suffix, byte_fallback"):
        pytest.skip("tokenizers 1.0 has no class for what is not native: a suffix with byte_fallback")
    failures = check(CASES[name], open_ours, strings=4, variants=1, seed=zlib.crc32(name.encode()) % 10_000)
    assert not failures, report(failures)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_components_combined(seed: int) -> None:
    failures = check(random_case(seed), open_ours, strings=12, variants=2, seed=seed)
    assert not failures, report(failures)


@pytest.mark.parametrize("model", ["bpe-bytes", "bpe-spaces, byte_fallback"])
def test_dropout_loses_no_text(model: str) -> None:
    """What is dropped is random: the tokens differ from call to call, and joined they are always the same."""
    case = CASES[f"model/{model}"]
    document = {**case.document, "model": {**case.document["model"], "dropout": 0.5}}
    ours, plain = open_ours(json.dumps(document)), open_reference(case.json)
    text = "international configuration would function because they have information" * 3
    seen = set()
    for _ in range(20):
        encoding = ours.encode(text, add_special_tokens=False)
        seen.add(tuple(encoding.ids))
        assert ours.decode(encoding.ids) == plain.decode(plain.encode(text, add_special_tokens=False).ids)
        assert "".join(dict.fromkeys(text[start:end] for start, end in encoding.offsets)) != ""
        assert encoding.offsets[-1][1] == len(text)
    assert len(seen) > 10


# -- the catalogue


def test_every_kind_is_there() -> None:
    def kinds(parts: dict[str, Any]) -> set[str]:
        return {part["type"] for part in parts.values()}

    assert kinds(normalizers()) == {
        *("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "Strip", "StripAccents", "Replace", "Prepend"),
        *("BertNormalizer", "Precompiled", "ByteLevel", "Sequence"),
    }
    assert kinds(pre_tokenizers()) == {
        *("ByteLevel", "Split", "Metaspace", "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation"),
        *("Digits", "CharDelimiterSplit", "UnicodeScripts", "FixedLength", "Sequence"),
    }
    assert kinds(post_processors()) == {
        *("ByteLevel", "BertProcessing", "RobertaProcessing", "TemplateProcessing", "Sequence"),
    }
    assert kinds(decoders()) == {
        *("ByteLevel", "Replace", "WordPiece", "ByteFallback", "Fuse", "Strip", "Metaspace", "BPEDecoder", "CTC"),
        "Sequence",
    }
    assert {make_model(name)["type"] for name in model_names()} == {"BPE", "WordPiece", "Unigram", "WordLevel"}


@pytest.mark.slow
def test_the_reference_opens_nearly_all_of_them() -> None:
    refused = []
    for name, case in CASES.items():
        try:
            open_reference(case.json)
        except Exception:
            refused.append(name.partition(", bytes")[0])
    assert set(refused) == {
        "pre_tokenizer/Digits, old",
        "pre_tokenizer/Split, no invert",
        "pre_tokenizer/Metaspace, contradicting",
    }


@pytest.mark.slow
def test_models_are_the_same_in_another_process() -> None:
    program = child_command("parity.components.command", "--digest")
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert said == [digest()]


def test_a_model_knows_some_text_and_not_all() -> None:
    tokens = open_reference(CASES["model/bpe-spaces"].json).encode("the implementation \U0001f600").tokens
    assert "<unk>" in tokens
    assert max(map(len, tokens)) > 3
    assert all(open_reference(CASES["model/unigram"].json).token_to_id(name) == i for i, name in enumerate(SPECIALS))


@given(
    st.dictionaries(
        st.text("abcé\u0301中🙂", min_size=1, max_size=4), st.text("xyé🙂", max_size=3), min_size=1, max_size=12
    ),
)
@settings(max_examples=60, deadline=None)
def test_a_charsmap_says_what_its_mapping_says(mapping: dict[str, str]) -> None:
    document = assemble("wordlevel", normalizer={"type": "Precompiled", "precompiled_charsmap": charsmap(mapping)})
    normalizer = tokenizers.Tokenizer.from_str(json.dumps(document)).normalizer
    for key, value in mapping.items():
        if len(key) == 1:  # longer ones are looked up by grapheme
            assert normalizer.normalize_str(key) == value
    assert normalizer.normalize_str("Q") == "Q"


def test_windows_cut_and_pad() -> None:
    case = CASES["post_processor/BertProcessing"]
    side = TokenizersSide(open_reference(case.json))
    mode, width = VARIANTS[5]
    assert (mode.windows, width) == (True, 1)
    (outcome,) = side.outcomes([("several words that are more than six tokens",)], mode)
    assert len(outcome.fields["ids"]) == 8
    assert len(outcome.fields["overflowing"]) >= 2
    (outcome,) = side.outcomes([("several words that are more than six tokens",)], DEFAULT)
    assert "overflowing" not in outcome.fields


# -- the harness


@pytest.mark.slow
def test_the_reference_agrees_with_itself() -> None:
    for name in ("model/unigram, ties", "normalizer/NFKD()", "post_processor/Sequence(two templates)"):
        assert check(CASES[name], open_reference, strings=20, variants=len(VARIANTS), seed=0) == []


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[str], Any]:
    def open_changed(text: str) -> Any:
        document = json.loads(text)
        change(document)
        return open_reference(json.dumps(document))

    return open_changed


def drop_lowercase(document: dict[str, Any]) -> None:
    nothing = '{"type": "Sequence", "normalizers": []}'
    document["normalizer"] = json.loads(json.dumps(document["normalizer"]).replace('{"type": "Lowercase"}', nothing))


def test_a_fault_is_found_and_made_small() -> None:
    parts = [{"type": "NFC"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True}]
    document = assemble(
        "bpe-bytes",
        normalizer={"type": "Sequence", "normalizers": parts},
        pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        post_processor=post_processors()["BertProcessing"],
    )
    wrong = changed(drop_lowercase)
    (failure,) = check(Case("planted", document, "bpe-bytes"), wrong, strings=20, variants=0, seed=1)
    least = smallest(failure, wrong)
    assert least.case.document["normalizer"] == {"type": "Lowercase"}
    assert least.case.document["post_processor"] is None
    assert least.difference is not None
    assert [len(text) for text in least.difference.smallest] == [1]
    printed = "\n".join(least.lines())
    assert '"normalizer": {"type": "Lowercase"}' in printed
    assert '"variant": "bpe-bytes"' in printed


@pytest.mark.parametrize(
    ("name", "variant", "change"),
    [
        ("decoder/Fuse(), bpe-spaces, byte_fallback", 0, lambda document: document.update(decoder=None)),
        ("added(lstrip)", 0, lambda document: document["added_tokens"][-1].update(lstrip=False)),
        (
            "post_processor/Template(bert)",
            2,
            lambda document: document["post_processor"]["pair"][-1]["SpecialToken"].update(type_id=0),
        ),
    ],
)
def test_small_faults_are_found(name: str, variant: int, change: Callable[[dict[str, Any]], Any]) -> None:
    case = CASES[name]
    failures = check(case, changed(change), strings=20, variants=len(VARIANTS), seed=variant)
    assert [failure.reason for failure in failures] == ["differs"]


def test_only_one_side_refusing_is_a_fault() -> None:
    def refuse(text: str) -> Any:
        raise ValueError("not this one")

    (failure,) = check(CASES["model/wordlevel"], refuse, strings=0, variants=0, seed=1)
    assert failure.reason == "only ours refuses it: ValueError: not this one"
    old = CASES["pre_tokenizer/Digits, old"]
    assert check(old, refuse, strings=0, variants=0, seed=1) == []
    (failure,) = check(old, lambda text: object(), strings=0, variants=0, seed=1)
    assert failure.reason.startswith("only the reference refuses it")


def test_a_delegated_tokenizer_is_a_fault_unless_it_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    class Delegated:
        def engine_report(self) -> dict[str, Any]:
            return {"engine": "delegated", "reason": "a component"}

    case = CASES["model/wordlevel"]
    (failure,) = check(case, lambda text: Delegated(), strings=0, variants=0, seed=1)
    assert failure.reason == "not native: a component"
    monkeypatch.setattr(cases, "DELEGATED", (lambda document: document["model"]["type"] == "WordLevel",))
    assert case.delegated
    assert not CASES["model/wordpiece"].delegated


def test_random_cases_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    assert random_case(7) == random_case(7)
    assert len({random_case(seed).json for seed in range(1, 60)}) == 59


@pytest.mark.slow
def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    assert command.main(["--itself", "--only", "model/word", "--seeds", "2", "--strings", "2"]) == 0
    assert capsys.readouterr().out == "16 tokenizers: all agree\n"
    monkeypatch.setattr(command, "open_ours", changed(drop_lowercase))
    saved = tmp_path / "failures"
    arguments = ["--only", "normalizer/Lowercase", "--allow-delegated", "--stop", "1", "--save", str(saved)]
    assert command.main(arguments) == 1
    printed = capsys.readouterr().out
    assert "normalizer/Lowercase(): differs" in printed
    assert printed.splitlines()[-1] == "1 tokenizers: 1 do not agree"
    assert json.loads((saved / "failure-1.json").read_text("utf-8"))["normalizer"] == {"type": "Lowercase"}


def test_hostile_texts_are_all_different() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE)
    assert sum(map(len, HOSTILE)) < 1200
    assert Mode(words=True) in [mode for mode, _ in VARIANTS]
