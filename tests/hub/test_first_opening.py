"""Published from one machine, opened for the first time on another: by the published cartridge, for each class.

With CRAYON_SHARED the vocabularies are real ones; without it, small ones of four families. ``pytest -s`` prints what
was fetched and the seconds.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.formats import convert, write
from tests.hub.hub_client import run_client
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing
from tests.support.repositories import FAMILIES, write_repositories

SHARED = (
    *("bert-cased", "gpt2", "llama2", "llama3", "phi-2", "qwen", "roberta-base", "t5-small"),
    "whisper-tiny",
)

OPEN = """
import json, sys, time, transformers
load = __import__(sys.argv[1]).AutoTokenizer.from_pretrained
started = time.process_time()
tokenizer = load(sys.argv[2])
ids = tokenizer("The quick brown fox <pad> déjà vu; 敏捷的 12345")["input_ids"]
seconds = time.process_time() - started
report = tokenizer.engine_report() if sys.argv[1] == "crayon_hf" else {}
print(json.dumps([ids, type(tokenizer).__name__, seconds, report.get("origin"), report.get("cartridge")]))
"""


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory, training_text: list[str]) -> dict[str, Path]:
    return write_repositories(tmp_path_factory.mktemp("families"), training_text)


def opened(hub: LocalHub, home: Path, module: str, repo: str) -> Any:
    """What `OPEN` prints in a new home, and the bytes of the files that the client fetched there."""
    program = home.parent / "open.py"
    program.write_text(OPEN)
    said = json.loads(run_client(hub, [str(program), module, repo], home, check=True).stdout.splitlines()[-1])
    fetched = {path: path.stat().st_size for path in (home / "huggingface").rglob("blobs/*") if path.is_file()}
    return said, sum(fetched.values())


def check(hub: LocalHub, tmp_path: Path, source: Path) -> None:
    """Publish a directory, and open it elsewhere."""
    made = tmp_path / "made"
    write(convert(source), made)
    digest = sha256((made / "tokenizer.json").read_bytes()).hexdigest()
    report = replace(agreeing(), speeds=(), target=replace(agreeing().target, source_digest=digest))
    (tmp_path / "parity.json").write_text(report.to_json())
    repo = f"user/{source.name}"
    command = ["-m", "crayon_hf", "publish", repo, "--from", str(made), "--report", str(tmp_path / "parity.json")]
    run_client(hub, [*command, "--no-speed"], tmp_path / "publisher", check=True)
    (ids, kind, stock_seconds, *_), stock_bytes = opened(hub, tmp_path / "stock", "transformers", repo)
    (ours, our_kind, seconds, origin, cartridge), our_bytes = opened(hub, tmp_path / "reader", "crayon_hf", repo)
    print(
        f"\n{source.name} ({kind}): {our_bytes:,} bytes, {seconds:.3f} s of the processor; "
        f"stock {stock_bytes:,} bytes, {stock_seconds:.3f} s"
    )
    assert (ours, our_kind, origin) == (ids, kind, "repository")
    published = next((tmp_path / "reader" / "huggingface").rglob("snapshots/*/tokenizer.dat"))
    assert cartridge == str(published)
    assert our_bytes == stock_bytes + published.stat().st_size
    assert not list((tmp_path / "reader" / "crayon-cache").glob("*.dat")), "a second copy"


@pytest.mark.parametrize("family", FAMILIES)
def test_families(hub: LocalHub, tmp_path: Path, families: dict[str, Path], family: str) -> None:
    check(hub, tmp_path, families[family])


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_shared_vocabularies(hub: LocalHub, tmp_path: Path, name: str) -> None:
    if "CRAYON_SHARED" not in os.environ:
        pytest.skip("CRAYON_SHARED is not set")
    check(hub, tmp_path, Path(os.environ["CRAYON_SHARED"]) / "vocab" / name)


def test_a_cartridge_that_would_not_be_used(hub: LocalHub, tmp_path: Path, families: dict[str, Path]) -> None:
    """The class has no backend: `AutoTokenizer` opens its own files, and not the tokenizer.json."""
    source = tmp_path / "source"
    write(convert(families["byte_level"]), source)
    (source / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    done = run_client(
        hub, ["-m", "crayon_hf", "publish", "user/unused", "--from", str(source), "--no-speed"], tmp_path / "home"
    )
    assert done.returncode == 1
    assert "AutoTokenizer would not use the cartridge: ByT5Tokenizer: " in done.stderr
    assert "nothing was uploaded" in done.stderr
    assert "comparing with" not in done.stderr
    assert not hub.asked("POST", "/commit/")
