"""A Hub on this machine for tests: the real client speaks with it over a real socket.

    with LocalHub() as hub:
        hub.commit("user/repo", {"tokenizer.json": data})
        hub.fail(drop_body(0.5), path="tokenizer.json")
        subprocess.run([...], env=hub.environment(home))
        assert hub.asked("GET", "tokenizer.json")

It has models only, no Xet, and two users. Two servers stand for the service's hosts: `hub.url`, and one for what is in
LFS, which is reached by signed URLs and never sees a token.
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
from tests.hub.hub_storage import Commit, Entry, Missing, Storage

PATIENCE = Path(__file__).parent / "impatient"
"""A sitecustomize.py that cuts the waits between the client's tries."""
_NOT_PASSED_ON = re.compile(r"(HF_|HUGGING|TRANSFORMERS_|CRAYON_|XDG_|PYTEST_).*|.*_proxy|HOME", re.IGNORECASE)


class LocalHub:
    """A context manager."""

    token = "hf_LocalHubWrites"
    """Of `user`; it may write to what begins with `user/`."""
    read_token = "hf_LocalHubReads"
    """Of `user`; it may read what `user` may."""

    def __init__(self) -> None:
        self.storage = Storage()
        self.requests: list[Request] = []
        """Every request so far, in the order in which they came."""
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
        """What HF_ENDPOINT is for its clients."""
        return self._server.url

    # -- clients

    def environment(
        self, home: Path, *, token: str | None = token, offline: bool = False, timeout: int = 30
    ) -> dict[str, str]:
        """The environment of a client whose home is `home`: this Hub, caches of its own, nothing of the user's.

        `token=None` is somebody who is not logged in. `timeout` is the client's, in seconds. The client tries again
        as often as it always does, but does not wait as long in between.
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
        self,
        repo: str,
        files: Mapping[str, bytes | None],
        *,
        revision: str = "main",
        title: str = "A commit of a test",
    ) -> str:
        """Commits these files (None: removes) and returns the commit's id. Makes the repository and the branch."""
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
        """A Hub that has nothing and was asked for nothing, and makes no faults."""
        self.storage.clear()
        self.requests.clear()
        self.heal()

    def exists(self, repo: str) -> bool:
        try:
            self.storage.repository(repo)
        except Missing:
            return False
        return True

    def head(self, repo: str, revision: str = "main") -> Commit:
        """The commit that a revision means."""
        return self.storage.resolve(repo, revision)

    def files(self, repo: str, revision: str = "main") -> list[str]:
        """The paths of a revision, without the .gitattributes that the service makes."""
        return [path for path in self.head(repo, revision).files if path != ".gitattributes"]

    def read(self, repo: str, path: str, *, revision: str = "main") -> bytes:
        return self.storage.blobs[self.head(repo, revision).files[path].sha256]

    # -- faults and the log

    def fail(self, fault: Fault, *, method: str | None = None, path: str = "", times: int = 1) -> Rule:
        """Makes a fault at the next `times` requests that match.

        `path` is a regular expression for any part of path and query, percent-decoded; a file in LFS has its name in
        the query. See hub_faults for the faults. The first rule that matches is used.
        """
        return self._faults.add(fault, method=method, path=path, times=times)

    def heal(self) -> None:
        """No faults any more."""
        self._faults.clear()

    def asked(self, method: str | None = None, path: str = "") -> list[Request]:
        """The requests so far that match: `path` as for `fail`."""
        wanted = re.compile(path)
        return [r for r in self.requests if (method or r.method) == r.method and wanted.search(unquote(r.target))]

    def unknown(self) -> list[str]:
        """What was asked for that this Hub does not know at all."""
        return [f"{request.method} {request.target}" for request in self.requests if not request.known]
