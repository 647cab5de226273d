"""`compat="xerv"` against the compiled CPU engine of CRAYON itself: the same ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import CrayonVocab, Tokenizer
from tests.support.version_2_files import WORDS, longest_match, write_version_2

crayon = pytest.importorskip("crayon.c_ext.crayon_cpu")
if not str(crayon.__file__).endswith((".so", ".pyd")):
    pytest.skip("xerv-crayon has no compiled engine here", allow_module_level=True)


def crayon_ids(cartridge: Path, texts: list[str]) -> list[list[int]]:
    """The ids of CRAYON's own engine for texts. Its state is global, so each call loads the cartridge anew."""
    crayon.load_dat(cartridge.read_bytes())
    return [crayon.tokenize(text) for text in texts]


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
    if 1 not in ids.values():  # CRAYON returns this id nevertheless, though it cannot be decoded
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
        with pytest.raises(ValueError, match="version 2 cartridge"):
            vocab.load_profile(other)
    assert vocab.current_profile_path == str(path)
    # of several profiles with this name, CRAYON's is used
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path))
    vocab.load_profile("words")
    assert vocab.current_profile_path == str(path)
    # also a profile converted from one of CRAYON's
    Tokenizer.from_file(path).save(tmp_path / "three.dat")
    vocab.load_profile(path)
    assert vocab.tokenize("ü the") == [1, 1, 11]
