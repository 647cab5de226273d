"""`compat="xerv"` beside the compiled CPU engine of CRAYON itself: the same ids, bit for bit."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import CrayonVocab, TokenIdError, Tokenizer
from crayon_hf.parity.compare.records import has_surrogates
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import read_text
from tests.support.version_2_files import WORDS, longest_match, write_version_2

crayon = pytest.importorskip("crayon.c_ext.crayon_cpu")
if not str(crayon.__file__).endswith((".so", ".pyd")):
    pytest.skip("xerv-crayon has no compiled engine here", allow_module_level=True)

PROFILES = "lite", "standard"
CORPUS = "english", "code", "multi"


def crayon_ids(cartridge: Path, texts: list[str]) -> list[list[int]]:
    """Its state is one for the whole process, so that a cartridge is loaded for each row of texts."""
    crayon.load_dat(cartridge.read_bytes())
    return [crayon.tokenize(text) for text in texts]


@pytest.fixture(scope="module", params=PROFILES)
def profile(request) -> Path:
    package = Path(importlib.import_module("crayon").__file__).parent
    return package / "resources" / "dat" / f"vocab_{request.param}.dat"


@pytest.fixture(scope="module")
def compatible(profile) -> CrayonVocab:
    vocab = CrayonVocab(compat="xerv")
    vocab.load_profile(profile)
    return vocab


@pytest.fixture(scope="module")
def repaired(profile) -> CrayonVocab:
    vocab = CrayonVocab()
    vocab.load_profile(profile)
    return vocab


def agree(profile: Path, compatible: CrayonVocab, repaired: CrayonVocab, texts: list[str]) -> None:
    expected = crayon_ids(profile, texts)
    assert compatible.tokenize(texts) == expected
    assert [compatible.tokenize(text) for text in texts[:50]] == expected[:50]
    size = compatible.vocab_size
    ours = repaired.tokenize(texts)
    assert [[id if id < size else 1 for id in row] for row in ours] == expected
    assert [repaired.decode(row) for row in ours] == texts


@pytest.mark.slow
def test_hostile_strings(profile, compatible, repaired):
    texts = [text for _, text in generate(1500, seed=5) if not has_surrogates((text,))]
    agree(profile, compatible, repaired, texts)


@pytest.mark.slow
def test_every_character_of_the_basic_plane(profile, compatible, repaired):
    chars = [chr(point) for point in range(0x10000) if not 0xD800 <= point < 0xE000]
    agree(profile, compatible, repaired, ["".join(chars), " ".join(chars), *chars[::37]])


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPUS)
def test_corpus(shared, name, profile, compatible, repaired):
    text = read_text(shared / "corpus" / f"{name}.txt.xz", 3_000_000).decode()
    agree(profile, compatible, repaired, [text, *text[:300_000].splitlines()])


@pytest.mark.slow
def test_tokens(profile, compatible, repaired):
    strings = json.loads(profile.with_suffix(".json").read_bytes())
    assert compatible.vocab_size == len(compatible) == len(compatible.id_to_token) == len(strings)
    assert compatible.unk_token_id == 1
    agree(profile, compatible, repaired, strings[::11])
    for id in range(0, len(strings), 11):
        given = compatible.id_to_token(id)
        # of equal strings CRAYON's compiler keeps one, and drops what follows a NUL
        assert given == strings[id] or (given is None and (strings.count(strings[id]) > 1 or "\0" in strings[id]))
    text = "The quick brown fox"
    assert compatible.decode(compatible.tokenize(text)) == text
    assert compatible.decode(compatible.tokenize("\0\0")) == '""'  # what CRAYON loses is lost
    with pytest.raises(TokenIdError):
        compatible.decode([len(strings)])
    assert repaired.decode([len(strings)]) != ""
    assert compatible.longest_match("\x00a") == (1, 1)
    assert compatible.longest_match("a") == (64, 1)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab é日🙂"), min_size=1, max_size=4), min_size=2, max_size=12),
    st.text(st.sampled_from("ab é\x00日🙂c"), max_size=80),
)
def test_any_vocabulary(tmp_path_factory, tokens, text):
    path = write_version_2(tmp_path_factory.getbasetemp() / "any.dat", tokens)
    (expected,) = crayon_ids(path, [text])
    ids = {token.encode(): id for id, token in enumerate(tokens)}
    assert expected == longest_match(ids, text.encode(), unknown=1)
    if 1 not in ids.values():  # CRAYON gives it even so, and nobody can decode it
        with pytest.raises(ValueError, match="needs a token with id 1"):
            CrayonVocab(tokens, compat="xerv")
        return
    vocab = CrayonVocab(tokens, compat="xerv")
    assert vocab.tokenize(text) == expected
    vocab.load_profile(path)
    assert vocab.tokenize(text) == expected
    assert vocab.encode_ragged([text])[0].tolist() == expected


@pytest.mark.parametrize("mode", ["exact", "greedy"])
def test_only_for_version_2(tmp_path, mode, gpt2_like, monkeypatch):
    path = write_version_2(tmp_path / "vocab_words.dat", WORDS)
    vocab = CrayonVocab(mode=mode, compat="xerv")
    vocab.load_profile(path)
    assert (vocab.get_info()["compat"], vocab.get_info()["mode"]) == ("xerv", "greedy")
    Tokenizer.from_file(gpt2_like).save(tmp_path / "words.dat")
    for other in (gpt2_like, tmp_path / "words.dat", "lite"):
        with pytest.raises(ValueError, match="compat='xerv' needs a version 2 cartridge"):
            vocab.load_profile(other)
    assert vocab.current_profile_path == str(path)
    # among profiles of one name it is CRAYON's that is meant
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path))
    vocab.load_profile("words")
    assert vocab.current_profile_path == str(path)
    # and what was made of one is one
    Tokenizer.from_file(path).save(tmp_path / "three.dat")
    vocab.load_profile(path)
    assert vocab.tokenize("ü the") == [1, 1, 11]


@pytest.mark.slow
def test_ids_from_an_iterator(compatible, repaired):
    for vocab in (compatible, repaired):
        ids = vocab.tokenize("ij of a text")
        assert vocab.decode(iter(ids)) == vocab.decode(ids) == "ij of a text"
