"""The storage of a local Hub: blobs by digest, immutable commits, and refs that name commits."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

MAIN = "refs/heads/main"


class Refused(Exception):
    """A request is refused; `status` is the HTTP status, `code` the value of X-Error-Code. `headers` go into the
    answer."""

    def __init__(self, status: int, message: str, code: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers


class Missing(Refused):
    """A repository, revision or entry is missing; `code` is huggingface.co's name for this error."""

    def __init__(self, code: str, message: str, **headers: str) -> None:
        super().__init__(404, message, code, **headers)


@dataclass(frozen=True)
class Entry:
    """One file of a commit: its length, its SHA-256, its git id, and whether git stores an LFS pointer instead."""

    size: int
    sha256: str
    oid: str
    lfs: bool

    @property
    def etag(self) -> str:
        """The ETag, by which clients name the file's content: the SHA-256 of an LFS file, else git's SHA-1."""
        return self.sha256 if self.lfs else self.oid


@dataclass(frozen=True)
class Commit:
    """One state of a repository."""

    sha: str
    parent: str | None
    title: str
    files: Mapping[str, Entry]


@dataclass
class Repository:
    """A repository. `gated` is the value of this field in the answers about the repository."""

    id: str
    private: bool = False
    gated: str | bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return self.id.split("/")[0]

    def add(self, ref: str, parent: str | None, title: str, files: Mapping[str, Entry]) -> Commit:
        """Add a commit with these files, and let `ref` name it."""
        facts = (self.id, parent, title, sorted(files.items()), time.time_ns())
        commit = Commit(hashlib.sha1(repr(facts).encode()).hexdigest(), parent, title, dict(sorted(files.items())))
        self.commits[commit.sha] = commit
        self.refs[ref] = commit.sha
        return commit


class Storage:
    """The repositories and blobs of a local Hub. A change holds `lock`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Remove everything."""
        self.blobs: dict[str, bytes] = {}
        self.repositories: dict[str, Repository] = {}

    def create(self, repo_id: str, *, private: bool = False, gated: str | bool = False) -> Repository:
        """Create a repository with the first commit of huggingface.co: a .gitattributes. Raises Refused (409) if the
        repository exists."""
        with self.lock:
            if repo_id in self.repositories:
                raise Refused(409, "You already created this model repo")
            repository = self.repositories[repo_id] = Repository(repo_id, private, gated)
            repository.add(MAIN, None, "initial commit", {".gitattributes": self.entry(GIT_ATTRIBUTES.encode())})
            return repository

    def repository(self, repo_id: str) -> Repository:
        if repo_id not in self.repositories:
            raise Missing("RepoNotFound", "Repository not found")
        return self.repositories[repo_id]

    def ref_of(self, repo_id: str, revision: str) -> str | None:
        """Return the full name of a revision's ref, or None."""
        refs = self.repository(repo_id).refs
        return next((ref for ref in (revision, f"refs/heads/{revision}", f"refs/tags/{revision}") if ref in refs), None)

    def resolve(self, repo_id: str, revision: str) -> Commit:
        """Return the commit of a branch, a tag, a ref or a commit id (seven characters or more)."""
        repository, ref = self.repository(repo_id), self.ref_of(repo_id, revision)
        if ref is not None:
            return repository.commits[repository.refs[ref]]
        found = [sha for sha in repository.commits if len(revision) >= 7 and sha.startswith(revision)]
        if not found:
            raise Missing("RevisionNotFound", f"Invalid rev id: {revision}")
        return repository.commits[found[0]]

    def entry(self, data: bytes, *, lfs: bool = False) -> Entry:
        """Store the bytes of a file. Returns the file's entry for a commit."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.blobs[sha256] = data
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(data)}\n".encode()
        held = pointer if lfs else data
        oid = hashlib.sha1(b"blob %d\0" % len(held) + held).hexdigest()
        return Entry(len(data), sha256, oid, lfs)

    def commit(
        self,
        repo_id: str,
        revision: str,
        changes: Mapping[str, Entry | None],
        title: str,
        *,
        parent: str | None = None,
        new_ref: str | None = None,
    ) -> Commit:
        """Add one commit to `revision`: an Entry writes a file, None removes one.

        With `new_ref` the commit goes there and `revision` is unchanged. Raises Refused (412) if `parent` is not the
        revision's commit, and Missing for the removal of a missing file.
        """
        with self.lock:
            before = self.resolve(repo_id, revision)
            if parent is not None and not before.sha.startswith(parent):
                raise Refused(412, "A commit has happened since. Please refresh and try again.")
            ref = new_ref or self.ref_of(repo_id, revision)
            if ref is None or ref.startswith("refs/tags/"):
                raise Refused(400, f"Cannot commit to {revision}: it is no branch")
            files = _changed(before.files, changes)
            return self.repository(repo_id).add(ref, before.sha, title, files)


def _changed(files: Mapping[str, Entry], changes: Mapping[str, Entry | None]) -> dict[str, Entry]:
    changed = dict(files)
    for path, entry in changes.items():
        if entry is not None:
            changed[path] = entry
        elif changed.pop(path, None) is None:
            raise Missing("EntryNotFound", f"A file with the name {path} does not exist")
    return changed


LFS_PATTERNS = "*.bin *.gz *.h5 *.model *.npy *.npz *.onnx *.parquet *.pkl *.pt *.safetensors *.tar *.zip *.zst"
GIT_ATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LFS_PATTERNS.split())
