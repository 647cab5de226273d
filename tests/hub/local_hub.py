"""A Hub on this machine for tests: the real client talks to it over a real socket.

    with LocalHub() as hub:
        hub.commit("user/repo", {"tokenizer.json": data})
        hub.fail(Fault("drop body"), path="tokenizer.json")
        subprocess.run([...], env=hub.environment(home))
        assert hub.asked("GET", "tokenizer.json")

It has only models, no Xet, and two users. Two servers replace the hosts of huggingface.co: `hub.url`, and one for LFS
files, which refuses a token.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote

from tests.hub.hub_faults import Fault, Faults, Rule
from tests.hub.hub_http import Request, Server
from tests.hub.hub_routes import Routes, Token, upload_mode
from tests.hub.hub_storage import Commit, Entry, Storage

PATIENCE = Path(__file__).parent / "impatient"
"""The directory of a sitecustomize.py that shortens the waits between a client's retries."""
_NOT_PASSED_ON = re.compile(r"(HF_|HUGGING|TRANSFORMERS_|CRAYON_|XDG_|PYTEST_).*|.*_proxy|HOME", re.IGNORECASE)


class LocalHub:
    """A Hub on this machine. As a context manager it starts and ends its servers."""

    token = "hf_LocalHubWrites"
    """A token of `user`, who may write to names that begin with `user/`."""
    read_token = "hf_LocalHubReads"
    """A token of `user` with the right to read only."""

    def __init__(self) -> None:
        self.storage = Storage()
        self.requests: list[Request] = []
        """Every request that the Hub has received, in order."""
        self._faults = Faults()
        self._routes = Routes(self.storage, {self.token: Token("user"), self.read_token: Token("user", "read")})

    def __enter__(self) -> LocalHub:
        self._server = Server(self._routes.answer, self._faults, self.requests)
        self._storage_server = Server(self._routes.answer_storage, self._faults, self.requests)
        self._routes.url = self.url
        self._routes.storage_url = self._storage_server.url
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        self._storage_server.close()

    @property
    def url(self) -> str:
        """The value of HF_ENDPOINT for clients."""
        return self._server.url

    # -- clients

    def environment(
        self, home: Path, *, token: str | None = token, offline: bool = False, timeout: int = 30
    ) -> dict[str, str]:
        """Return the environment variables for a client with the home directory `home`: it uses this Hub and its own
        caches, and nothing of the user who runs the tests.

        `token=None` means not logged in. `timeout` is the client's, in seconds. The client retries as often as usual,
        with shorter waits.
        """
        environment = {name: value for name, value in os.environ.items() if not _NOT_PASSED_ON.fullmatch(name)}
        paths = [str(PATIENCE), *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
        environment |= {
            "HOME": str(home),
            "HF_HOME": str(home / "huggingface"),
            "HF_ENDPOINT": self.url,
            "HF_HUB_OFFLINE": "1" if offline else "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DOWNLOAD_TIMEOUT": str(timeout),
            "HF_HUB_ETAG_TIMEOUT": str(timeout),
            "CRAYON_CACHE_DIR": str(home / "crayon-cache"),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }
        if token is not None:
            environment["HF_TOKEN"] = token
        if "CRAYON_CPU" in os.environ:
            environment["CRAYON_CPU"] = os.environ["CRAYON_CPU"]
        return environment

    # -- repositories, without a client

    def create(self, repo: str, *, private: bool = False, gated: str | bool = False) -> None:
        self.storage.create(repo, private=private, gated=gated)

    def commit(
        self, repo: str, files: Mapping[str, bytes | None], *, revision: str = "main", title: str = "A commit of a test"
    ) -> str:
        """Commit these files; None as contents removes a file. Creates the repository and the branch if necessary.
        Returns the commit's id."""
        if not self.exists(repo):
            self.create(repo)
        if self.storage.ref_of(repo, revision) is None:
            self.storage.repository(repo).refs[f"refs/heads/{revision}"] = self.head(repo).sha
        attributes = self._routes.text(self.head(repo, revision), ".gitattributes")
        changes: dict[str, Entry | None] = {}
        for path, data in files.items():
            is_lfs = data is not None and upload_mode(path, len(data), data[:512], attributes) == "lfs"
            changes[path] = None if data is None else self.storage.entry(data, lfs=is_lfs)
        return self.storage.commit(repo, revision, changes, title).sha

    def clear(self) -> None:
        """Remove all repositories, requests and faults."""
        self.storage.clear()
        self.requests.clear()
        self.heal()

    def exists(self, repo: str) -> bool:
        return repo in self.storage.repositories

    def head(self, repo: str, revision: str = "main") -> Commit:
        """The commit of a revision."""
        return self.storage.resolve(repo, revision)

    def files(self, repo: str, revision: str = "main") -> list[str]:
        """The paths of a revision, without the service's .gitattributes."""
        return [path for path in self.head(repo, revision).files if path != ".gitattributes"]

    def read(self, repo: str, path: str, *, revision: str = "main") -> bytes:
        return self.storage.blobs[self.head(repo, revision).files[path].sha256]

    # -- faults and the log

    def fail(self, fault: Fault, *, method: str | None = None, path: str = "", times: int = 1) -> Rule:
        """Make the fault in the answers to the next `times` requests that match `method` and `path`.

        `path` is a regular expression for any part of path and query, percent-decoded; a file in LFS has its name in
        the query. See hub_faults for the faults. The first rule that matches is used.
        """
        return self._faults.add(fault, method=method, path=path, times=times)

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def asked(self, method: str | None = None, path: str = "") -> list[Request]:
        """Return the requests so far that match `method` and `path`, which is a regular expression as for `fail`."""
        wanted = re.compile(path)
        return [r for r in self.requests if (method or r.method) == r.method and wanted.search(unquote(r.target))]

    def unknown(self) -> list[str]:
        """Return the requests that this Hub does not implement."""
        return [f"{request.method} {request.target}" for request in self.requests if not request.known]
