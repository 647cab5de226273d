"""`CrayonVocab` on available and unavailable devices: which engine encodes, and which messages appear."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tokenizers

from crayon_hf import CrayonVocab, DelegatedWarning, UnsupportedError

TEXTS = ["Hello, world!", "naïve 日本語"]


@pytest.fixture(autouse=True)
def _no_device(monkeypatch):
    """Simulate a build without GPU engines. test_devices.py tests those."""
    monkeypatch.delenv("CRAYON_DEVICE", raising=False)
    for module in ("crayon_hf._cuda", "crayon_hf._hip"):
        monkeypatch.setitem(sys.modules, module, None)


def loaded(device: str) -> CrayonVocab:
    vocab = CrayonVocab(device=device)
    vocab.load_profile("lite")
    return vocab


@pytest.mark.parametrize(
    ("device", "variable", "state", "why"),
    [
        ("auto", None, "ready", "best device"),
        ("auto", " CPU ", "ready", "CRAYON_DEVICE is cpu"),
        ("auto", "cuda", "fallback", "CRAYON_DEVICE is cuda, but this build has no engine for cuda"),
        ("cpu", None, "ready", "as asked"),
        ("cpu", "nonsense", "ready", "as asked"),
        ("cuda", None, "fallback", "no engine for cuda"),
        ("rocm", "cpu", "fallback", "no engine for rocm"),
    ],
)
def test_choice(device, variable, state, why, monkeypatch):
    if variable is not None:
        monkeypatch.setenv("CRAYON_DEVICE", variable)
    vocab = loaded(device)
    assert (vocab.device, vocab.device_state, vocab.is_gpu, vocab.fast_mode) == ("cpu", state, False, True)
    info = vocab.get_info()
    assert (info["device"], info["requested_device"], info["device_state"]) == ("cpu", device, state)
    assert why in info["reason"]
    assert (info["backend"], info["active_profile"], info["profile_loaded"]) == ("cpu_extension", "lite.dat", True)
    assert info["hardware"] == {"name": vocab.hardware.name, "features": vocab.hardware.features}
    assert vocab.tokenize(TEXTS) == loaded("cpu").tokenize(TEXTS)
    assert "device='cpu'" in repr(vocab)


def test_set_device():
    vocab = loaded("cpu")
    before = vocab.tokenize(TEXTS)
    for device, state in (("cuda", "fallback"), ("rocm", "fallback"), ("cpu", "ready"), ("auto", "ready")):
        vocab.set_device(device, reload_profile=device != "rocm")
        assert (vocab.device, vocab.device_state) == ("cpu", state)
        assert vocab.get_info()["requested_device"] == device
        assert vocab.tokenize(TEXTS) == before


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        *(("device", value) for value in ("gpu", "", "CPU", None, 0)),
        *(("mode", value) for value in ("fast", None)),
        *(("compat", value) for value in ("crayon", "")),
    ],
)
def test_bad_options(keyword, value):
    with pytest.raises(ValueError, match=f"{keyword} is .*expected"):
        CrayonVocab(**{keyword: value})
    vocab = CrayonVocab()
    if keyword == "device":
        with pytest.raises(ValueError, match="device is"):
            vocab.set_device(value)
    assert vocab.device == "cpu"


def test_what_the_reference_encodes(refusing, wordpiece_like):
    vocab = CrayonVocab()
    with pytest.warns(DelegatedWarning):
        vocab.load_profile(wordpiece_like)
    reference = tokenizers.Tokenizer.from_file(str(wordpiece_like))
    assert not vocab.fast_mode
    assert vocab.tokenize(["the thesis", ""]) == [reference.encode("the thesis").ids, []]
    assert vocab.decode(vocab.tokenize("the thesis")) == "the thesis"
    assert vocab.id_to_token[0] == "[UNK]"
    assert vocab.token_to_id("[UNK]") == 0
    assert len(vocab) == 1500
    with pytest.raises(UnsupportedError, match="longest_match needs the native engine"):
        vocab.longest_match("the")
    with pytest.raises(UnsupportedError, match="greedy mode needs the native engine"):
        CrayonVocab(mode="greedy").load_profile(wordpiece_like)


# -- messages


USE = "vocab.load_profile('lite'); vocab.tokenize('a'); vocab.set_device('cpu'); vocab.close()"


def test_verbose_when_asked():
    program = (
        "import sys; sys.modules['crayon_hf._cuda'] = None  # the build may have it\n"
        f"import crayon_hf.compat_crayon.vocab as v; vocab = v.CrayonVocab(); {USE}\n"
        f"v.enable_verbose_logging(); v.enable_verbose_logging(); vocab = v.CrayonVocab(device='cuda'); {USE}\n"
        f"v.disable_verbose_logging(); vocab = v.CrayonVocab(); {USE}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert (done.stdout, len(lines)) == ("", 3)
    assert "no engine for cuda" in lines[0]
    assert "lite.dat" in lines[1]
