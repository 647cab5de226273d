"""With tokenizers 1.0, which has no components, no added tokens and writes no files: ours still has what is native."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stand_in_cases import KINDS, trained

pytestmark = pytest.mark.slow

REQUIREMENT = "tokenizers==1.0.0rc3"
SCRIPT = """
import copy, os, pickle, sys
import crayon_hf
from crayon_hf import AddedToken, DecodeStream, Tokenizer

for path in sys.argv[1:]:
    tokenizer = Tokenizer.from_file(path)
    text = "Hello, the <s> quick  brown fox\\n[NEW] Zo\u00eb \u72d0 <q>x"
    print(tokenizer.add_tokens(["[NEW]", AddedToken("fox", single_word=True, lstrip=True)]))
    print(tokenizer.add_special_tokens(["<q>", AddedToken("<r>", rstrip=True, normalized=True)]))
    for twin in (tokenizer, copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        for one in twin.encode_batch([text, (text, "b")]):
            print(one.ids, one.tokens, one.offsets, one.word_ids, one.sequence_ids, one.special_tokens_mask)
    ids = tokenizer.encode(text).ids
    print(repr(tokenizer.decode(ids)), repr(tokenizer.decode(ids, skip_special_tokens=False)))
    stream = DecodeStream(skip_special_tokens=True)
    print([stream.step(tokenizer, id) for id in ids])
    print(tokenizer.get_added_tokens_decoder(), sorted(tokenizer.get_vocab().items()), tokenizer.token_to_id("fox"))
    tokenizer.enable_padding(length=40, pad_token="<pad>", pad_id=3)
    tokenizer.enable_truncation(30, stride=2)
    print([one.ids for one in tokenizer.encode_batch([text, text * 9])], tokenizer.padding, tokenizer.truncation)
    for name in ("saved.json", "saved.dat"):
        tokenizer.save(name)
        print(Tokenizer.from_file(name).encode(text).ids)
    print(tokenizer.to_str(), tokenizer.to_str(pretty=True))
"""
REFUSED = """
import sys
import crayon_hf
import tokenizers

tokenizer = crayon_hf.Tokenizer.from_file(sys.argv[1])
for call in (
    lambda: tokenizer.model,
    lambda: tokenizer.post_processor,
    lambda: setattr(tokenizer, "normalizer", None),
    lambda: crayon_hf.Tokenizer.from_tokenizers(tokenizers.Tokenizer.from_file(sys.argv[1])),
):
    try:
        call()
    except crayon_hf.UnsupportedError as error:
        print(error)
crayon_hf.install(transformers=False, tokenizers=True)
for name, state in crayon_hf.installed().items():
    print(name, state)
print(type(tokenizers.Tokenizer.from_file(sys.argv[1])).__module__)
crayon_hf.uninstall()
"""


@pytest.fixture(scope="module")
def version_1(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory to put on the path, which has the pre-release."""
    directory = str(tmp_path_factory.mktemp("tokenizers-1"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", directory, REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{REQUIREMENT} cannot be installed: {done.stderr.strip()[-200:]}")
    return directory


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    for kind in KINDS:
        (tmp_path / f"{kind}.json").write_text(trained(kind), encoding="utf-8")
    return [str(tmp_path / f"{kind}.json") for kind in KINDS]


def run(script: str, paths: list[str], directory: Path, first: str = "") -> str:
    path = os.pathsep.join(filter(None, (first, *sys.path)))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", script, *paths]
    return subprocess.run(
        command, env=environment, cwd=directory, stdout=subprocess.PIPE, encoding="utf-8", check=True
    ).stdout


def test_what_is_native_stays(version_1: str, paths: list[str], tmp_path: Path) -> None:
    said, expected = (run(SCRIPT, paths, tmp_path, first) for first in (version_1, ""))
    # The library reads scores back as neighbours of what it wrote.
    rounded = [re.sub(r"\d+\.\d{5,}", lambda score: f"{float(score[0]):.12g}", text) for text in (said, expected)]
    assert rounded[0] == rounded[1]
    assert said.count("\n") > 20 * len(paths)


def test_what_takes_the_library_says_so(version_1: str, paths: list[str], tmp_path: Path) -> None:
    lines = run(REFUSED, paths, tmp_path, version_1).splitlines()
    for name, line in zip(("model", "post_processor", "normalizer", "from_tokenizers"), lines, strict=False):
        assert line == f"{name} takes a class of tokenizers before 1.0, and 1.0.0-rc.3 is installed"
    assert "tokenizers.Tokenizer.from_str not in this version" in lines
    assert "tokenizers.Tokenizer.from_file in place" in lines
    assert lines[-1] == "crayon_hf.tokenizer"
