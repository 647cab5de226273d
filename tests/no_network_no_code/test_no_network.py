"""No network access unless the caller names a remote resource, and no usage reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub.hub_tokenizers import repository
from tests.hub.local_hub import LocalHub
from tests.no_network_no_code.guard import run

LOCAL = """
network_is_forbidden = True
import json, os, warnings
warnings.simplefilter("ignore")
import crayon_hf
own, directory, text, out = sys.argv[1:]
TEXT = open(text, encoding="utf-8").read()
tok = crayon_hf.Tokenizer.from_file(own)
ids = tok.encode(TEXT).ids
assert tok.decode(ids) == TEXT
assert crayon_hf.Tokenizer.from_profile("lite").encode(TEXT).ids
assert sum(len(chunk.ids) for chunk in tok.encode_file(text)) == len(ids)
tok.save(os.path.join(out, "saved.dat"))
assert crayon_hf.Tokenizer.from_file(os.path.join(out, "saved.dat")).encode(TEXT).ids == ids
crayon_hf.train_bpe(text, vocab_size=300, output=os.path.join(out, "trained"))
from crayon_hf import cli
assert cli.main(["convert", own, "-o", os.path.join(out, "converted")]) == 0
assert cli.main(["info", "-t", own]) == 0
job = ["tokenize", text, "-o", os.path.join(out, "tokens"), "--tokenizer", own, "--format", "npy", "--workers", "1"]
assert cli.main(job) == 0
with crayon_hf.CrayonVocab() as vocab:
    vocab.load_profile("lite")
    assert vocab.decode(vocab.tokenize(TEXT)) == TEXT
fast = crayon_hf.AutoTokenizer.from_pretrained(directory)
assert fast(TEXT, add_special_tokens=False)["input_ids"] == ids
fast.save_pretrained(os.path.join(out, "written"))
print(json.dumps(seen))
"""


@pytest.mark.slow
def test_what_is_local_needs_no_network(tmp_path: Path, gpt2_like: Path) -> None:
    """Work with local files looks up no address and makes no connection, without any offline setting.

    If Linux permits, the process has no network at all, so that compiled code cannot use it either.
    """
    (tmp_path / "text.txt").write_text("The quick brown fox. Größe, 敏捷的 🙂\n" * 20, encoding="utf-8")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    (tmp_path / "model" / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2TokenizerFast"}')
    (tmp_path / "out").mkdir()
    arguments = (gpt2_like, tmp_path / "model", tmp_path / "text.txt", tmp_path / "out")
    out = run(LOCAL, *arguments, cwd=tmp_path / "out", prefix=without_network())
    assert json.loads(out.splitlines()[-1]) == []


def without_network() -> tuple[str, ...]:
    """The command that starts a program without network access, or [] if unavailable."""
    command = ("unshare", "--map-root-user", "--net") if hasattr(os, "geteuid") and os.geteuid() else ("unshare", "-n")
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        return ()
    return command


IN_PYTHON = """
import crayon_hf
tok = crayon_hf.AutoTokenizer.from_pretrained("user/plain")
other = crayon_hf.Tokenizer.from_pretrained("user/plain")
assert tok("Hello")["input_ids"] == other.encode("Hello").ids
"""

COMMAND = """
from crayon_hf import Tokenizer, cli
assert cli.main(["pull", "user/plain"]) == 0
assert Tokenizer.from_pretrained("user/plain").encode("Hello").ids
"""

OF_THE_CLIENT = "/api/agent-harnesses"
"""huggingface_hub's own daily request, for its User-Agent, unless HF_HUB_DISABLE_TELEMETRY is set."""


@pytest.mark.slow
def test_what_the_hub_is_asked(tmp_path: Path, gpt2_like: Path) -> None:
    """The Hub gets only requests for the repository that the caller names, and no usage report, although no setting
    disables reports."""
    pytest.importorskip("huggingface_hub")
    with LocalHub() as hub:
        hub.create("user/plain")
        hub.commit("user/plain", repository(gpt2_like))
        environment = hub.environment(tmp_path)
        for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_UPDATE_CHECK", "DO_NOT_TRACK"):
            environment.pop(name, None)

        def asked_by(program: str, **more: str) -> set[str]:
            hub.requests.clear()
            run = [sys.executable, "-c", program]
            subprocess.run(run, env={**environment, **more}, cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
            return {request.target.partition("?")[0] for request in hub.requests}

        def is_of_the_repository(target: str) -> bool:
            path = r"(/api(/resolve-cache)?/models)?/user/plain(/|$)|/repos/[0-9a-f]+$"  # the last are its large files
            return re.match(path, target) is not None

        targets = asked_by(COMMAND)
        assert targets
        assert {target for target in targets if not is_of_the_repository(target)} == set()
        targets = asked_by(IN_PYTHON)
        assert targets
        assert {target for target in targets if not is_of_the_repository(target)} <= {OF_THE_CLIENT}
        for program in (COMMAND, IN_PYTHON):
            assert asked_by(program, HF_HUB_OFFLINE="1") == set()
