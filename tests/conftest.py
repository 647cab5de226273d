"""Fixtures for all tests: an isolated cache directory, published vocabularies if available, and small trained ones.

The trainer of ``tokenizers`` makes the small vocabularies, one for each type of published vocabulary that crayon_hf
runs natively. Each vocabulary fixture is the path of a ``tokenizer.json``.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# A shell starts background processes with interrupts ignored, and processes that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported: no test asks the network for anything
# Tests start Python hundreds of times: compile each module once, even after `pip --no-compile`.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False

import pytest
from hypothesis import HealthCheck, settings
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors

from tests.support import families

# Fixtures for the tests of every folder.
from tests.support.cartridge_fixtures import every_case, longest, longest_case, merging, small, source  # noqa: F401
from tests.support.examples import fewer_examples
from tests.support.libraries import INSTALLED, importorskip
from tests.support.native_trainings import native  # noqa: F401
from tests.support.refusing import refusing  # noqa: F401
from tests.support.source_files import source_files  # noqa: F401

pytest.importorskip = importorskip  # for every test file

# No test depends on timing: a machine may be busy. And none depends on chance: examples are the same every time. Tests
# with their own settings start from these.
settings.register_profile(
    "crayon", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("crayon")

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3_PATTERN = (
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_PATTERN = LLAMA3_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")

SENTENCES = (
    "The quick brown fox jumps over the lazy dog; it's what they've said, isn't it? We'll see 12345 of them in 2024.",
    "Der schnelle braune Fuchs springt über den faulen Hund. Größe, Äpfel, Öl und Übung!",
    "Le renard brun saute par-dessus le chien paresseux, déjà vu à l'été où naïve Zoë mangeait des crêpes.",
    "Быстрая коричневая лиса прыгает через ленивую собаку. Сколько это стоит?",
    "敏捷的棕色狐狸跳过了懒狗。今天天气很好,我们去公园散步吧。",
    "素早い茶色の狐がのろまな犬を飛び越えた。カタカナとひらがな。",
    "다람쥐 헌 쳇바퀴에 타고파. 안녕하세요 세계!",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।",
    "الثعلب البني السريع يقفز فوق الكلب الكسول",
    "def encode(self, text: str) -> list[int]:\n    return [self.vocab[t] for t in text.split()]\n",
    "100% 🙂🙂 👩‍👩‍👧‍👦 ①②③ ½ ٣٤٥ e\u0301 \u00a0\u2003\u3000",
)


def pytest_configure(config: pytest.Config) -> None:
    """With README's test command, try fewer hypothesis examples than CI, which sets CRAYON_TESTS."""
    if config.getoption("markexpr") == "not slow" and not INSTALLED:
        fewer_examples()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of published vocabularies, which use the fixture `shared`, as slow: only `make test-all` runs them."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Exclude imported and collected objects from later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _isolated_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a cache directory of their own, and unset variables with the user's profiles and CPU level."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CACHE_DIR", str(tmp_path_factory.mktemp("crayon-cache")))
        patch.delenv("CRAYON_PROFILE_DIR", raising=False)
        patch.delenv("CRAYON_CPU", raising=False)
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A running Chromium. The test is skipped if none is installed."""
    from tests.support.browser import started

    with started() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory with vocab/ and corpus/ that CRAYON_SHARED names. The test is skipped if CRAYON_SHARED is unset."""
    directory = os.environ.get("CRAYON_SHARED")
    if not directory:
        pytest.skip("CRAYON_SHARED is not set")
    return Path(directory)


@pytest.fixture(scope="session")
def training_text() -> list[str]:
    """Varied texts to train on, the same on every machine with the same Python."""
    return [*SENTENCES * 20, Path(tokenize.__file__).read_text(encoding="utf-8")]


@pytest.fixture(scope="session")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory, in which the fixtures below write the trained vocabularies."""
    return tmp_path_factory.mktemp("vocabularies")


@pytest.fixture(scope="session")
def gpt2_like(vocabularies: Path, training_text: list[str]) -> Path:
    """Byte-level BPE with the gpt2 pattern, a ByteLevel post-processor and one special token."""
    tokenizer = families.byte_level(training_text, 2000, ["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return _written(tokenizer, vocabularies / "gpt2_like.json")


@pytest.fixture(scope="session")
def llama3_like(vocabularies: Path, training_text: list[str]) -> Path:
    """Byte-level BPE with the llama3 pattern, `ignore_merges`, special tokens after the vocabulary, and a template that
    puts a special token first."""
    document = json.loads(families.byte_level(training_text, 2000, [], _split(LLAMA3_PATTERN)).to_str())
    document["model"]["ignore_merges"] = True
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_special_tokens(
        [AddedToken(f"<|{name}|>", normalized=False) for name in ("begin_of_text", "end_of_text", "eot_id")]
    )
    begin = families.template(tokenizer, "<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), begin])
    return _written(tokenizer, vocabularies / "llama3_like.json")


@pytest.fixture(scope="session")
def qwen_like(vocabularies: Path, training_text: list[str]) -> Path:
    """Byte-level BPE with NFC, a pattern that separates digits, and special tokens after the vocabulary."""
    tokenizer = families.byte_level(training_text, 2000, [], _split(QWEN_PATTERN), normalizers.NFC())
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return _written(tokenizer, vocabularies / "qwen_like.json")


@pytest.fixture(scope="session")
def roberta_like(vocabularies: Path, training_text: list[str]) -> Path:
    """Byte-level BPE with Roberta's post-processor, trimmed offsets, and a mask token that takes the space before
    it."""
    tokenizer = families.byte_level(training_text, 2000, ["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")), add_prefix_space=False
    )
    return _written(tokenizer, vocabularies / "roberta_like.json")


@pytest.fixture(scope="session")
def template_like(vocabularies: Path, training_text: list[str]) -> Path:
    """Byte-level BPE with two special tokens and two type ids in its template, and added tokens with every flag."""
    tokenizer = families.byte_level(training_text, 2000, ["[CLS]", "[SEP]"])
    tokenizer.add_tokens(
        [
            AddedToken("crayon", single_word=True),
            AddedToken("[L]", lstrip=True),
            AddedToken("[R]", rstrip=True, normalized=False),
            AddedToken("    "),
        ]
    )
    tokenizer.post_processor = families.template(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return _written(tokenizer, vocabularies / "template_like.json")


@pytest.fixture(scope="session", params=["gpt2_like", "llama3_like", "qwen_like", "roberta_like", "template_like"])
def any_vocabulary(request: pytest.FixtureRequest) -> Path:
    """Each of the trained vocabularies in turn."""
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture(scope="session")
def wordpiece_like(vocabularies: Path, training_text: list[str]) -> Path:
    """WordPiece with BERT's components. With the fixture `refusing` the engine refuses it."""
    tokenizer = families.word_piece(training_text, 1500, ["[UNK]", "[CLS]", "[SEP]"])
    return _written(tokenizer, vocabularies / "wordpiece_like.json")


def _split(pattern: str) -> pre_tokenizers.PreTokenizer:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])


def _written(tokenizer: Tokenizer, path: Path) -> Path:
    tokenizer.save(str(path))
    return path
