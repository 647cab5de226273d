"""The same jobs on other stores with their own clients: Google's emulator, Azurite for Azure, and the local Hub."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from crayon_hf import tokenize_corpus
from tests.corpora.job.job_cases import corpus, tree
from tests.corpora.storage.conftest import serve
from tests.hub.local_hub import LocalHub

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account key that Azurite's documentation publishes."""


@pytest.fixture(scope="session")
def google() -> Iterator[str]:
    pytest.importorskip("gcsfs")
    pytest.importorskip("gcp_storage_emulator")
    start = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory", "--default-bucket", "bkt"]
    yield from serve(lambda port: [*start, "--port", str(port)])


@pytest.fixture(scope="session")
def azure() -> Iterator[str]:
    pytest.importorskip("adlfs")
    command = os.environ.get("CRAYON_AZURITE") or shutil.which("azurite-blob")
    if not command:
        pytest.skip("no azurite-blob")
    options = ["--skipApiVersionCheck", "--silent", "--inMemoryPersistence"]
    yield from serve(lambda port: [command, "--blobPort", str(port), *options])


@pytest.fixture(params=["gs", "az"])
def output(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an output directory on each kind of store."""
    if request.param == "gs":
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", request.getfixturevalue("google"))
        monkeypatch.setitem(fsspec.config.conf, "gcs", {"token": "anon"})
        monkeypatch.setenv("FSSPEC_GCS_TOKEN", "anon")
    else:
        url = request.getfixturevalue("azure")
        account = f"AccountName=devstoreaccount1;AccountKey={KEY};BlobEndpoint={url}/devstoreaccount1;"
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"DefaultEndpointsProtocol=http;{account}")
        if not fsspec.filesystem("az").exists("bkt"):
            fsspec.filesystem("az").mkdir("bkt")
    return f"{request.param}://bkt/out"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, 2, 15)
    return directory


def objects(output: str) -> dict[str, bytes]:
    system, path = fsspec.core.url_to_fs(output)
    system.invalidate_cache()
    found = system.find(path)
    return {name[len(path.rstrip("/")) + 1 :]: system.cat_file(name) for name in found}


KILLED = """
import itertools, os, signal, sys
from crayon_hf import tokenize_corpus
from crayon_hf.corpora.storage import store
real, numbers = store.Store.put, itertools.count(1)
def put(self, path, source):
    if next(numbers) == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, path, source)
store.Store.put = put
tokenize_corpus(sys.argv[1], sys.argv[2], tokenizer=sys.argv[3], workers=1, group_bytes=2000, max_tokens_per_shard=400)
"""


@pytest.mark.slow
def test_killed(inputs: Path, gpt2_like: Path, tmp_path: Path, output: str) -> None:
    """The job is killed before it writes its third object, and the repeated job again before its third; the last call
    finishes it."""
    command = [sys.executable, "-c", KILLED, str(inputs), output, str(gpt2_like)]
    tokenize_corpus(
        inputs, tmp_path / "out", tokenizer=str(gpt2_like), workers=1, group_bytes=2000, max_tokens_per_shard=400
    )
    for nth in ("3", "3"):
        assert subprocess.run([*command, nth], check=False).returncode == -signal.SIGKILL
        assert "manifest.json" not in objects(output)
    assert subprocess.run([*command, "0"], check=False).returncode == 0
    assert objects(output) == tree(tmp_path / "out")
    system, path = fsspec.core.url_to_fs(output)
    system.rm(path, recursive=True)


@pytest.mark.slow
def test_the_hub(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A job writes to a Hub repository, with one commit for each object. A killed job continues, and removes its
    temporary objects."""
    how: dict[str, Any] = {"workers": 1, "group_bytes": 2000, "max_tokens_per_shard": 400}
    tokenize_corpus(inputs, tmp_path / "out", tokenizer=str(gpt2_like), **how)
    expected = {f"tokens/{name}": data for name, data in tree(tmp_path / "out").items()}
    with LocalHub() as hub:
        hub.commit("user/repo", {"card.md": b"before"})
        environment = {**hub.environment(tmp_path), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-c", KILLED, str(inputs), "hf://user/repo/tokens", str(gpt2_like)]
        killed = subprocess.run([*command, "3"], check=False, env=environment)
        assert killed.returncode == -signal.SIGKILL
        assert "tokens/_crayon/job.json" in hub.files("user/repo")
        assert subprocess.run([*command, "0"], check=False, env=environment).returncode == 0
        found = {name: hub.read("user/repo", name) for name in hub.files("user/repo")}
        assert hub.unknown() == []
    assert found == {"card.md": b"before", **expected}
