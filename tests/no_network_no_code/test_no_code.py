"""Loading only reads data: no pickle is loaded, no code of a model is run, none of its modules imported."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.no_network_no_code.guard import run

# -- files that run code if they are loaded the wrong way: the code would write the file `canary`

MODULES = ("evil_tokenizer", "tokenization_evil", "tokenizers", "transformers", "json", "regex", "sitecustomize")
"""Python modules in a model's directory: some that its configuration names, some whose names an import might find."""

CHAT_TEMPLATE = "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ cycler.__init__.__globals__.os.system('true') }}"


class _Call:
    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return exec, (self.code,)


def code(canary: Path) -> str:
    return f"open({str(canary)!r}, 'a').write('ran\\n')\n"


def pickled(canary: Path) -> bytes:
    return pickle.dumps(_Call(code(canary)))


def model_directory(directory: Path, tokenizer_json: bytes, canary: Path, *, own_class: bool = False) -> Path:
    """A directory that transformers opens, with code and pickles beside its tokenizer.json.

    With `own_class`, only the code in the directory could make the tokenizer.
    """
    directory.mkdir(parents=True)
    (directory / "tokenizer.json").write_bytes(tokenizer_json)
    auto_map = {"AutoTokenizer": ["evil_tokenizer.EvilTokenizer", "evil_tokenizer.EvilTokenizerFast"]}
    name = "EvilTokenizerFast" if own_class else "GPT2TokenizerFast"
    config = {
        "tokenizer_class": name,
        "auto_map": auto_map,
        "chat_template": CHAT_TEMPLATE,
        "extra": {"__class__": "x"},
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    model = {"auto_map": {"AutoConfig": "evil_tokenizer.EvilConfig"}} if own_class else {"model_type": "gpt2"}
    (directory / "config.json").write_text(json.dumps(model), encoding="utf-8")
    classes = (
        "from transformers import GPT2Config as EvilConfig, GPT2Tokenizer as EvilTokenizer\n"
        "from transformers import PreTrainedTokenizerFast\n"
        "class EvilTokenizerFast(PreTrainedTokenizerFast): pass\n"
    )
    for module in MODULES:
        (directory / f"{module}.py").write_text(code(canary) + classes * (module == "evil_tokenizer"), encoding="utf-8")
    (directory / "__init__.py").write_text(code(canary), encoding="utf-8")
    for name in ("tokenizer.pkl", "pytorch_model.bin", "training_args.bin", "vocab.pkl", "tokenizer.pt", "vocab.npy"):
        (directory / name).write_bytes(pickled(canary))
    return directory


def sources(directory: Path, canary: Path) -> list[Path]:
    """Write pickles under the file names that our readers look for, and JSON that refers to the pickles."""
    directory.mkdir(parents=True)
    names = (
        *("tokenizer.json", "tekken.json", "vocab.json", "merges.txt", "vocab.txt", "cl100k_base.tiktoken"),
        *("tokenizer.model", "spiece.model", "model.gguf", "tokenizer.dat", "lite.dat", "vocab.pkl", "vocab.npy"),
    )
    objects = {"__reduce__": ["os.system", "true"], "py/object": "subprocess.Popen", "!!python/object": "os.system"}
    made = []
    for name in names:
        for kind, data in (("pickle", pickled(canary)), ("object", json.dumps({"model": objects}).encode())):
            path = directory / kind / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            made.append(path)
    return made


# -- the tests

TEXT = "The quick brown fox; it's what they've said. Größe, 敏捷的 🙂"

WARM_UP = f"""
import json, os, warnings
warnings.simplefilter("ignore")
import crayon_hf
from crayon_hf import formats
own, model, *rest = sys.argv[1:]
TEXT = {TEXT!r}
def facts(tokenizer):
    return [int(i) for i in tokenizer(TEXT)["input_ids"]]
"""

AUTO = (
    WARM_UP
    + """
own_class, canary = rest
ids = facts(crayon_hf.AutoTokenizer.from_pretrained(own))  # whatever has to be imported is, from here on
guarded = os.path.dirname(model)
said = []
for options in ({}, {"trust_remote_code": False}, {"use_fast": True}):
    for _ in range(2):  # once from its files, once from what the cache has
        tokenizer = crayon_hf.AutoTokenizer.from_pretrained(model, **options)
        assert facts(tokenizer) == ids
        said.append(type(tokenizer).__module__)
try:
    tokenizer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False)
except Exception as error:
    said.append(type(error).__name__)
for options in ({}, {"trust_remote_code": False}):
    try:
        crayon_hf.AutoTokenizer.from_pretrained(own_class, **options)
    except ValueError as error:
        assert "trust_remote_code=True" in str(error), error
    else:
        raise AssertionError("opened without its class")
ran = os.path.exists(canary)
guarded = None
crayon_hf.AutoTokenizer.from_pretrained(own_class, trust_remote_code=True)
print()  # behind transformers' question
print(json.dumps([said, seen, ran, os.path.exists(canary)]))
"""
)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.mark.slow
def test_a_model_that_brings_code(tmp_path: Path, canary: Path, gpt2_like: Path) -> None:
    own, model, own_class = tmp_path / "own", tmp_path / "models" / "model", tmp_path / "models" / "own-class"
    own.mkdir()
    (own / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    (own / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2TokenizerFast"}', encoding="utf-8")
    model_directory(model, gpt2_like.read_bytes(), canary)
    model_directory(own_class, gpt2_like.read_bytes(), canary, own_class=True)
    out = run(AUTO, own, model, own_class, canary, cwd=model, HF_HUB_OFFLINE="1")
    said, seen, ran, ran_when_trusted = json.loads(out.splitlines()[-1])
    assert seen == []
    assert not ran
    assert ran_when_trusted  # trust_remote_code is passed on, and shows that these files would run
    assert len(said) == 7
    assert not any("evil" in module for module in said)
    assert said[-1] == "SecurityError"  # transformers renders templates in its own sandbox


LOADERS = (
    WARM_UP
    + """
from crayon_hf.cli import main
from crayon_hf.corpora.job import corpus
canary, = rest
plain = crayon_hf.Tokenizer.from_file(own)
crayon_hf.train_bpe(own, vocab_size=300, format="text")
assert main(["info", "-t", own]) == 0
for module in formats.__path__:
    for name in sorted(os.listdir(module)):
        if name.endswith(".py") and name != "transformers_classes.py":
            __import__(f"crayon_hf.formats.{name.removesuffix('.py')}")
guarded = os.path.dirname(model)
refused = []
def attempt(path, load):
    try:
        load(path)
    except (crayon_hf.CrayonError, OSError, ValueError) as error:
        refused.append(type(error).__name__)
for kind in ("pickle", "object"):
    folder = os.path.join(model, kind)
    for path in [folder, *sorted(os.path.join(folder, name) for name in os.listdir(folder))]:
        attempt(path, crayon_hf.Tokenizer.from_file)
        attempt(path, formats.convert)
        attempt(path, lambda path: crayon_hf.CrayonVocab().load_profile(path))
        attempt(path, lambda path: crayon_hf.tiktoken.get_encoding(path))
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            attempt(path, lambda path: crayon_hf.Tokenizer.from_buffer(data))
            attempt(path, lambda path: crayon_hf.Tokenizer.from_str(data.decode("latin-1")))
        assert main(["convert", path, "-o", os.path.join(canary + "-converted")]) != 0
print(json.dumps([len(refused), seen, os.path.exists(canary)]))
"""
)


def test_every_reader(tmp_path: Path, canary: Path, gpt2_like: Path) -> None:
    sources(tmp_path / "sources", canary)
    out = run(LOADERS, gpt2_like, tmp_path / "sources", canary, cwd=tmp_path / "sources")
    refused, seen, ran = json.loads(out.splitlines()[-1])
    assert seen == []
    assert not ran
    assert refused > 100


WORKERS = (
    WARM_UP
    + """
from crayon_hf.cli import main
output, = rest
assert main(["tokenize", model, "-o", output, "--tokenizer", own, "--format", "npy", "--workers", "2"]) == 0
from crayon_hf.parity.compare.children import child_command
import subprocess
done = subprocess.run(child_command("crayon_hf.parity.compare.children"), capture_output=True, text=True)
assert "has no attribute 'main'" in done.stderr, done.stderr
"""
)


def test_modules_in_the_working_directory(tmp_path: Path, canary: Path, gpt2_like: Path) -> None:
    """Processes of a job and of a parity report import nothing from the working directory."""
    model = model_directory(tmp_path / "model", gpt2_like.read_bytes(), canary)
    (tmp_path / "corpus").mkdir()
    for number in range(2):
        (tmp_path / "corpus" / f"{number}.txt").write_text(TEXT, encoding="utf-8")
    run(WORKERS, gpt2_like, tmp_path / "corpus", tmp_path / "tokens", cwd=model)
    assert not canary.exists()
