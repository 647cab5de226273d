"""What a local Hub keeps on disk: blobs by their digest, commits that never change, and refs that name commits.

A commit is a file that maps every path to a blob. It is written whole and then a ref is replaced by rename, so one that
is interrupted changes nothing that anybody can see.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

MAIN = "refs/heads/main"


class Missing(LookupError):
    """No such repository, revision or entry; `code` is the service's name for which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Refused(ValueError):
    """A change that cannot be made; `status` is the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Entry:
    """One file of a commit: its length, its SHA-256, the id git would give it, and whether git would hold a pointer."""

    size: int
    sha256: str
    oid: str
    lfs: bool
    pointer_size: int = 0

    @property
    def etag(self) -> str:
        """What names the content to a client: SHA-256 with LFS, else git's SHA-1."""
        return self.sha256 if self.lfs else self.oid


@dataclass(frozen=True)
class Commit:
    """One state of a repository."""

    sha: str
    parent: str | None
    title: str
    description: str
    author: str
    date: str
    files: Mapping[str, Entry]


@dataclass
class Repository:
    """What is true of a repository besides its commits."""

    id: str
    private: bool = False
    gated: str | bool = False
    members: list[str] = field(default_factory=list)
    """Who may read a gated repository besides its owner."""
    created: str = ""
    author: str = ""
    """Who created it."""

    @property
    def owner(self) -> str:
        return self.id.split("/")[0]


def git_oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def pointer(sha256: str, size: int) -> bytes:
    """The text that git holds in the place of a file in LFS."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


class Storage:
    """Repositories, commits, refs and blobs under one directory. Every method may be called from any thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = threading.RLock()
        self._make()

    def _make(self) -> None:
        for name in ("blobs", "repositories", "incoming"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def clear(self) -> None:
        """Everything goes."""
        with self.lock:
            shutil.rmtree(self.root)
            self._make()

    # -- blobs

    def blob(self, sha256: str) -> Path:
        return self.root / "blobs" / sha256

    def add_blob(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        if not self.blob(sha256).exists():
            _replace(self.blob(sha256), data, self.root / "incoming")
        return sha256

    # -- repositories

    def _home(self, repo_id: str) -> Path:
        return self.root / "repositories" / quote(repo_id, safe="")

    def create(self, repo_id: str, *, private: bool = False, gated: str | bool = False, author: str = "") -> Repository:
        """A repository with the first commit that the service makes: .gitattributes. Refused (409) if it exists."""
        with self.lock:
            if self._home(repo_id).exists():
                raise Refused(409, "You already created this model repo")
            repository = Repository(repo_id, private, gated, created=now(), author=author)
            for name in ("commits", "refs"):
                (self._home(repo_id) / name).mkdir(parents=True)
            self.save(repository)
            files = {".gitattributes": self.entry(GIT_ATTRIBUTES.encode())}
            self._commit(repository, MAIN, None, files, "initial commit", "", author or repository.owner)
            return repository

    def save(self, repository: Repository) -> None:
        data = json.dumps(asdict(repository)).encode()
        _replace(self._home(repository.id) / "repository.json", data, self.root / "incoming")

    def repository(self, repo_id: str) -> Repository:
        try:
            return Repository(**json.loads((self._home(repo_id) / "repository.json").read_bytes()))
        except FileNotFoundError:
            raise Missing("RepoNotFound", "Repository not found") from None

    def delete(self, repo_id: str) -> None:
        with self.lock:
            self.repository(repo_id)
            shutil.rmtree(self._home(repo_id))

    # -- refs

    def refs(self, repo_id: str) -> dict[str, str]:
        """Every ref's full name and the commit that it names."""
        found = {unquote(p.name): p.read_text() for p in (self._home(repo_id) / "refs").iterdir()}
        return dict(sorted(found.items()))

    def set_ref(self, repo_id: str, ref: str, sha: str | None) -> None:
        path = self._home(repo_id) / "refs" / quote(ref, safe="")
        if sha is None:
            path.unlink()
        else:
            _replace(path, sha.encode(), self.root / "incoming")

    def ref_of(self, repo_id: str, revision: str) -> str | None:
        """The full name of the ref that a revision means, None if it means none."""
        refs = self.refs(repo_id)
        for ref in (revision, f"refs/heads/{revision}", f"refs/tags/{revision}"):
            if ref in refs:
                return ref
        return None

    def resolve(self, repo_id: str, revision: str) -> Commit:
        """The commit that a branch, a tag, a ref or a commit's id (seven characters or more) means."""
        ref = self.ref_of(repo_id, revision)
        if ref is not None:
            return self._load(repo_id, self.refs(repo_id)[ref])
        if len(revision) >= 7 and not set(revision) - set("0123456789abcdef"):
            for path in sorted((self._home(repo_id) / "commits").glob(f"{revision}*")):
                return self._load(repo_id, path.name)
        raise Missing("RevisionNotFound", f"Invalid rev id: {revision}")

    # -- commits

    def entry(self, data: bytes, *, lfs: bool = False) -> Entry:
        """Keeps the bytes; what a commit says of them."""
        return self._entry(self.add_blob(data), len(data), data=data, lfs=lfs)

    def lfs_entry(self, sha256: str) -> Entry:
        """What a commit says of a file that was uploaded before. Refused (400) if it was not."""
        try:
            size = self.blob(sha256).stat().st_size
        except FileNotFoundError:
            raise Refused(400, f"LFS pointer pointed to a file that does not exist: {sha256}") from None
        return self._entry(sha256, size, data=b"", lfs=True)

    @staticmethod
    def _entry(sha256: str, size: int, *, data: bytes, lfs: bool) -> Entry:
        held = pointer(sha256, size) if lfs else data
        return Entry(size, sha256, git_oid(held), lfs, len(held) if lfs else 0)

    def commit(
        self,
        repo_id: str,
        revision: str,
        changes: Mapping[str, Entry | None],
        title: str,
        description: str = "",
        *,
        author: str = "",
        parent: str | None = None,
        new_ref: str | None = None,
    ) -> Commit:
        """One commit on `revision`: an Entry puts a file there, None takes it (or a folder, named with a `/`) away.

        With `new_ref` the commit goes there and `revision` stays as it is. Raises Refused (412) when `parent` is not
        the revision's commit, and Missing for a file that is to go and is not there.
        """
        with self.lock:
            repository = self.repository(repo_id)
            before = self.resolve(repo_id, revision)
            if parent is not None and not before.sha.startswith(parent):
                raise Refused(412, "A commit has happened since. Please refresh and try again.")
            ref = new_ref or self.ref_of(repo_id, revision)
            if ref is None or ref.startswith("refs/tags/"):
                raise Refused(400, f"Cannot commit to {revision}: it is no branch")
            files = _changed(before.files, changes)
            return self._commit(repository, ref, before.sha, files, title, description, author or repository.owner)

    def _commit(
        self,
        repository: Repository,
        ref: str,
        parent: str | None,
        files: Mapping[str, Entry],
        title: str,
        description: str,
        author: str,
    ) -> Commit:
        listed = {path: asdict(entry) for path, entry in sorted(files.items())}
        body: dict[str, Any] = {"parent": parent, "title": title, "description": description, "author": author}
        body |= {"date": now(), "files": listed}
        data = json.dumps(body).encode()
        sha = hashlib.sha1(repository.id.encode() + b"\0" + data).hexdigest()
        _replace(self._home(repository.id) / "commits" / sha, data, self.root / "incoming")
        self.set_ref(repository.id, ref, sha)
        return self._load(repository.id, sha)

    def _load(self, repo_id: str, sha: str) -> Commit:
        body = json.loads((self._home(repo_id) / "commits" / sha).read_bytes())
        return Commit(sha, **(body | {"files": {path: Entry(**e) for path, e in body["files"].items()}}))

    def history(self, repo_id: str, commit: Commit) -> Iterator[Commit]:
        """This commit and those before it, the newest first."""
        while True:
            yield commit
            if commit.parent is None:
                return
            commit = self._load(repo_id, commit.parent)


def _changed(files: Mapping[str, Entry], changes: Mapping[str, Entry | None]) -> dict[str, Entry]:
    changed = dict(files)
    for path, entry in changes.items():
        parts = path.rstrip("/").split("/")
        if not all(parts) or set(parts) & {".", "..", ".git"}:
            raise Refused(400, f"Invalid path: {path}")
        if entry is not None:
            changed[path] = entry
            continue
        gone = [p for p in changed if p == path or (path.endswith("/") and p.startswith(path))]
        if not gone:
            raise Missing("EntryNotFound", f"A file with the name {path} does not exist")
        for one in gone:
            del changed[one]
    for path in changed:
        parts = path.split("/")
        if any("/".join(parts[:n]) in changed for n in range(1, len(parts))):
            raise Refused(400, f"A file is in the way of {path}")
    return changed


def _replace(path: Path, data: bytes, directory: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=directory)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    os.replace(name, path)


LFS_PATTERNS = """
*.7z *.arrow *.bin *.bz2 *.ckpt *.ftz *.gz *.h5 *.joblib *.lfs.* *.mlmodel *.model *.msgpack *.npy *.npz *.onnx *.ot
*.parquet *.pb *.pickle *.pkl *.pt *.pth *.rar *.safetensors *.tar.* *.tar *.tflite *.tgz *.wasm *.xz *.zip *.zst
*tfevents*
"""
GIT_ATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LFS_PATTERNS.split())
