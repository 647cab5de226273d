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
TRAINS = """
import pickle, sys
import crayon_hf as tokenizers
from crayon_hf import decoders, models, normalizers, pre_tokenizers, processors, trainers

texts = ["the quick brown fox, 12 of them", "the lazy dog", "Zo\u00eb"] * 20
tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
tokenizer.normalizer = normalizers.Sequence(
    [normalizers.NFC(), normalizers.Replace(tokenizers.Regex("o+"), "o"), normalizers.Strip(left=False)]
)
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(tokenizers.Regex(r"\\d"), "merged_with_previous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=320,
    special_tokens=["[UNK]", "[CLS]", tokenizers.AddedToken("[SEP]")],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(texts, trainer)
tokenizer.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
)
for one in tokenizer.encode_batch(["the fox 12", ("the", "dog")]):
    print(one.ids, one.tokens, one.offsets, one.type_ids, one.word_ids)
print(tokenizer.to_str())
tokenizer.pre_tokenizer[1].add_prefix_space = True  # a part of a part
tokenizer.model.unk_token = None
print(tokenizer.encode("the").tokens, tokenizer.normalizer[2].left, tokenizer.pre_tokenizer[0].behavior)
tokenizer.normalizer = None
print(pickle.loads(pickle.dumps(tokenizer)).to_str())
for part in (
    normalizers.BertNormalizer(lowercase=False), normalizers.Prepend("x"), pre_tokenizers.Punctuation("contiguous"),
    pre_tokenizers.Metaspace(), pre_tokenizers.Digits(True), decoders.Strip("a", 1, 2), decoders.CTC(),
    decoders.Sequence([decoders.Fuse(), decoders.Replace("a", "b")]), processors.BertProcessing(("a", 1), ("b", 2)),
    processors.RobertaProcessing(("a", 1), ("b", 2)), processors.ByteLevel(trim_offsets=False),
    processors.TemplateProcessing("$0 $1 $B:3", "$A $B:1 X:2", [(1, "X")]), models.WordLevel({"a": 0}),
):
    print(part.__getstate__(), pickle.loads(pickle.dumps(part)).__getstate__())
like = tokenizers.train_bpe(texts, vocab_size=300, tokenizer=tokenizer, show_progress=False)
print(like.to_str())
pattern = tokenizers.Regex(r"\\w+|\\s+")
print(tokenizers.train_bpe(texts, vocab_size=300, pattern=pattern, show_progress=False, output="made").to_str())
print(tokenizers.train_bpe(texts, vocab_size=300, show_progress=False).encode("the dog").offsets)
"""
REFUSED = """
import sys
import crayon_hf
import tokenizers

tokenizer = crayon_hf.Tokenizer.from_file(sys.argv[1])
for call in (
    lambda: crayon_hf.train_unigram(["a"]),
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


def test_training(version_1: str, tmp_path: Path) -> None:
    """A program of the library, with ours in its place: its parts and trainer are the library's, or descriptions."""
    said, expected = (run(TRAINS, [], tmp_path, first) for first in (version_1, ""))
    assert said == expected
    assert said.count("\n") == 21


def test_what_takes_the_library_says_so(version_1: str, paths: list[str], tmp_path: Path) -> None:
    lines = run(REFUSED, paths, tmp_path, version_1).splitlines()
    for name, line in zip(("training a Unigram model", "from_tokenizers"), lines, strict=False):
        assert line == f"{name} needs tokenizers before 1.0, but 1.0.0-rc.3 is installed"
    assert "tokenizers.Tokenizer.from_str not in this version" in lines
    assert "tokenizers.Tokenizer.from_file in place" in lines
    assert lines[-1] == "tokenizers"  # the class has the name of the library's
