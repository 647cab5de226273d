"""The local Hub's answers to each kind of request, equal to those of huggingface.co.

The page "Hub API endpoints" of the Hub's documentation describes some requests; huggingface_hub sends the others.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from tests.hub.hub_http import Answer, Request, answer_error, answer_json
from tests.hub.hub_storage import Commit, Entry, Missing, Refused, Repository, Storage

LARGE = 10 << 20
"""A size in bytes. Larger files always go to LFS."""
POINTER_SIZE = 134
"""The length of git's pointer to an LFS file of some megabytes."""
_REPO = r"(?P<repo>[^/]+(?:/[^/]+)??)"
_REVISION = r"(?P<revision>[^/]+)"
PROPOSE = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"
Route = Callable[..., Answer]
ROUTES: list[tuple[str, re.Pattern[str], Route]] = []


class Token(NamedTuple):
    """The user who owns a token, and the token's role: `write` (to the user's own repositories) or `read`."""

    user: str
    role: str = "write"


def route(method: str, path: str) -> Callable[[Route], Route]:
    def add(function: Route) -> Route:
        ROUTES.append((method, re.compile(path), function))
        return function

    return add


class Routes:
    """Answers the requests to one local Hub, from its storage."""

    def __init__(self, storage: Storage, tokens: dict[str, Token]) -> None:
        self.storage = storage
        self.tokens = tokens
        self.url = ""
        self.storage_url = ""

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request. An error becomes an answer, too."""
        method = "GET" if request.method == "HEAD" else request.method
        try:
            token = self._who(request.headers.get("authorization"))
            for wanted, pattern, function in ROUTES:
                found = pattern.fullmatch(request.path)
                if wanted == method and found is not None:
                    parts = {name: unquote(value or "") for name, value in found.groupdict().items()}
                    return function(self, request, token, **parts)
        except Refused as error:
            answer = answer_error(error.status, str(error), error.code)
            answer.headers |= error.headers
            return answer
        request.known = False
        return answer_error(404, "Sorry, we can't find the page you are looking for.")

    # -- rights

    def _who(self, authorization: str | None) -> Token | None:
        """Return the token that a request sends, or None if it sends none. An unknown token is always refused."""
        if authorization is None:
            return None
        token = self.tokens.get(authorization.removeprefix("Bearer "))
        if token is None:
            raise Refused(401, "Invalid credentials in Authorization header")
        return token

    def _known(self, token: Token | None) -> Token:
        if token is None:
            raise Refused(401, "Invalid username or password.")
        return token

    def see(self, repo: str, token: Token | None) -> Repository:
        """Check that the token's user can see the repository, its file names and its card. For a private repository,
        other users get status 404."""
        try:
            repository = self.storage.repository(repo)
        except Missing:
            self._known(token)
            raise
        if repository.private and self._known(token).user != repository.owner:
            raise Missing("RepoNotFound", "Repository not found")
        return repository

    def read(self, repo: str, token: Token | None) -> None:
        """Check that the token's user can read the files of a repository."""
        repository = self.see(repo, token)
        if repository.gated and (token is None or token.user != repository.owner):
            raise Refused(403 if token else 401, f"Access to model {repo} is restricted", "GatedRepo")

    def write(self, owner: str, token: Token | None) -> Token:
        """Check that the token's user can change or create a repository of `owner`."""
        token = self.propose(token)
        if token.user != owner:
            raise Refused(403, PROPOSE)
        return token

    def propose(self, token: Token | None) -> Token:
        """Check that the token allows its user to open a pull request."""
        token = self._known(token)
        if token.role == "read":
            raise Refused(403, "Forbidden: you must use a write token")
        return token

    # -- accounts, repositories

    @route("GET", "/api/whoami-v2")
    def whoami(self, request: Request, token: Token | None) -> Answer:
        token = self._known(token)
        access = {"displayName": f"{token.role} token", "role": token.role}
        auth = {"type": "access_token", "accessToken": access}
        return answer_json({"type": "user", "id": token.user, "name": token.user, "orgs": [], "auth": auth})

    @route("POST", "/api/repos/create")
    def create(self, request: Request, token: Token | None) -> Answer:
        asked = request.json()
        token = self.write(asked.get("organization") or self._known(token).user, token)
        repo = f"{token.user}/{asked['name']}"
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.storage.create(repo, private=private)
        return answer_json({"url": f"{self.url}/{repo}", "name": repo, "id": repo})

    @route("POST", "/api/validate-yaml")
    def validate_yaml(self, request: Request, token: Token | None) -> Answer:
        return answer_json({"errors": [], "warnings": []})

    # -- contents

    @route("GET", f"/api/models/{_REPO}(?:/revision/{_REVISION})?")
    def info(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        repository = self.see(repo, token)
        commit = self.storage.resolve(repo, revision or "main")
        siblings = [self._sibling(path, entry) for path, entry in commit.files.items()]
        about: dict[str, Any] = {"id": repo, "modelId": repo, "author": repository.owner, "sha": commit.sha}
        about |= {"private": repository.private, "gated": repository.gated, "siblings": siblings, "tags": []}
        return answer_json(about)

    @staticmethod
    def _sibling(path: str, entry: Entry) -> dict[str, Any]:
        about: dict[str, Any] = {"rfilename": path, "size": entry.size, "blobId": entry.oid}
        if entry.lfs:
            about["lfs"] = {"sha256": entry.sha256, "size": entry.size, "pointerSize": POINTER_SIZE}
        return about

    @route("GET", f"/api/models/{_REPO}/tree/{_REVISION}(?:/(?P<path>.*))?")
    def tree(self, request: Request, token: Token | None, repo: str, revision: str, path: str) -> Answer:
        self.see(repo, token)
        commit = self.storage.resolve(repo, revision)
        prefix = path.strip("/") + "/" if path.strip("/") else ""
        inside = [p for p in commit.files if p.startswith(prefix)]
        if not inside:
            raise Missing("EntryNotFound", f'{path} does not exist on "{revision}"')
        names = {prefix + p[len(prefix) :].split("/")[0] for p in inside}
        if request.flag("recursive"):
            names = {"/".join(p.split("/")[:n]) for p in inside for n in range(1, p.count("/") + 2)}
            names = {name for name in names if name.startswith(prefix)}
        return answer_json([self._described(commit, path) for path in sorted(names)])

    def _described(self, commit: Commit, path: str) -> dict[str, Any]:
        entry = commit.files.get(path)
        if entry is None:
            oid = hashlib.sha1(f"{commit.sha} {path}".encode()).hexdigest()
            return {"type": "directory", "oid": oid, "size": 0, "path": path}
        about: dict[str, Any] = {"type": "file", "oid": entry.oid, "size": entry.size, "path": path}
        if entry.lfs:
            about["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": POINTER_SIZE}
        return about

    # -- files

    @route("GET", f"/{_REPO}/resolve/{_REVISION}/(?P<path>.+)")
    def resolve(self, request: Request, token: Token | None, repo: str, revision: str, path: str) -> Answer:
        """Redirect to a file: for an LFS file to the storage host, for other files to this host."""
        commit, entry = self._entry(repo, token, revision, path)
        headers = {"X-Repo-Commit": commit.sha, "X-Linked-Etag": f'"{entry.etag}"', "X-Linked-Size": str(entry.size)}
        if entry.lfs:
            disposition = quote(f'inline; filename="{path.split("/")[-1]}"', safe="")
            location = f"{self.storage_url}/repos/{entry.sha256}?response-content-disposition={disposition}"
            return Answer(302, b"", headers | {"Accept-Ranges": "bytes", "Location": location})
        location = f"/api/resolve-cache/models/{repo}/{commit.sha}/{quote(path)}?etag={quote(entry.etag)}"
        return Answer(307, b"", headers | {"Location": location})

    @route("GET", r"/api/resolve-cache/models/(?P<repo>[^/]+/[^/]+)/(?P<revision>[0-9a-f]{40})/(?P<path>.+)")
    def resolve_cache(self, request: Request, token: Token | None, repo: str, revision: str, path: str) -> Answer:
        commit, entry = self._entry(repo, token, revision, path)
        headers = {"X-Repo-Commit": commit.sha, "ETag": f'"{entry.etag}"', "Content-Type": "text/plain; charset=utf-8"}
        return Answer(200, self.storage.blobs[entry.sha256], headers, is_file=True)

    def _entry(self, repo: str, token: Token | None, revision: str, path: str) -> tuple[Commit, Entry]:
        self.see(repo, token)
        commit = self.storage.resolve(repo, revision)
        self.read(repo, token)
        if path not in commit.files:
            raise Missing("EntryNotFound", "Entry not found", **{"X-Repo-Commit": commit.sha})
        return commit, commit.files[path]

    def answer_storage(self, request: Request) -> Answer:
        """Answer a request to the storage host, which checks the digests of uploads."""
        sha256 = request.path.rsplit("/", 1)[-1]
        if "authorization" in request.headers:
            return Answer(400, b"<Error><Code>InvalidArgument</Code></Error>")
        if request.method == "PUT":
            if hashlib.sha256(request.body).hexdigest() != sha256:
                return Answer(400, b"<Error><Code>BadDigest</Code></Error>")
            self.storage.blobs[sha256] = request.body
            return Answer(200, b"", {"ETag": f'"{sha256}"'})
        return Answer(200, self.storage.blobs[sha256], {"ETag": f'"{sha256}"'}, is_file=True)

    # -- changes

    @route("POST", f"/api/models/{_REPO}/branch/(?P<branch>[^/]+)")
    def create_branch(self, request: Request, token: Token | None, repo: str, branch: str) -> Answer:
        repository = self.see(repo, token)
        self.write(repository.owner, token)
        with self.storage.lock:
            if f"refs/heads/{branch}" in repository.refs:
                raise Refused(409, "Reference already exists")
            start = self.storage.resolve(repo, request.json().get("startingPoint") or "main")
            repository.refs[f"refs/heads/{branch}"] = start.sha
        return answer_json({}, 201)

    def _may_change(self, request: Request, repo: str, token: Token | None) -> bool:
        """Check the right to change a repository. Returns whether the change is a pull request."""
        repository = self.see(repo, token)
        if request.flag("create_pr"):
            self.read(repo, token)
            self.propose(token)
            return True
        self.write(repository.owner, token)
        return False

    @route("POST", f"/api/models/{_REPO}/preupload/{_REVISION}")
    def preupload(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        """Say for each file that a client wants to upload whether it goes into the commit or to LFS, whether .gitignore
        has it, and its current state."""
        self._may_change(request, repo, token)
        commit = self.storage.resolve(repo, revision)
        asked = request.json()
        attributes = self.text(commit, ".gitattributes")
        ignored = [p for p in asked.get("gitIgnore", self.text(commit, ".gitignore")).split() if p[0] != "#"]
        files = []
        for file in asked["files"]:
            mode = upload_mode(file["path"], file["size"], base64.b64decode(file["sample"]), attributes)
            about = {"path": file["path"], "uploadMode": mode, "shouldIgnore": _matches(file["path"], ignored)}
            there = commit.files.get(file["path"])
            files.append(about | ({"oid": there.etag} if there else {}))
        return answer_json({"files": files, "commitOid": commit.sha})

    def text(self, commit: Commit, path: str) -> str:
        """Return a text file of a commit, or "" if it is missing."""
        entry = commit.files.get(path)
        return self.storage.blobs[entry.sha256].decode() if entry else ""

    @route("POST", f"/{_REPO}\\.git/info/lfs/objects/batch")
    def lfs_batch(self, request: Request, token: Token | None, repo: str) -> Answer:
        self.see(repo, token)
        self.propose(token)
        objects = []
        for one in request.json()["objects"]:
            about: dict[str, Any] = {"oid": one["oid"], "size": one["size"], "authenticated": True}
            if one["oid"] not in self.storage.blobs:
                about["actions"] = {"upload": {"href": f"{self.storage_url}/repos/{one['oid']}"}}
            objects.append(about)
        return answer_json({"transfer": "basic", "objects": objects})

    @route("POST", f"/api/models/{_REPO}/commit/{_REVISION}")
    def commit(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        """Apply the commit that the request has as lines of JSON, completely or not at all."""
        propose = self._may_change(request, repo, token)
        header: dict[str, Any] = {}
        changes: dict[str, Entry | None] = {}
        for line in request.body.splitlines():
            item = json.loads(line)
            value: Mapping[str, Any] = item["value"]
            if item["key"] == "header":
                header = dict(value)
            elif item["key"] == "file":
                changes[value["path"]] = self.storage.entry(base64.b64decode(value["content"], validate=True))
            elif item["key"] == "lfsFile":
                changes[value["path"]] = self.storage.entry(self.storage.blobs[value["oid"]], lfs=True)
            else:
                assert item["key"] == "deletedFile"
                changes[value["path"]] = None
        with self.storage.lock:
            number = 1 + sum(ref.startswith("refs/pr/") for ref in self.storage.repository(repo).refs)
            new_ref = f"refs/pr/{number}" if propose else None
            parent = header.get("parentCommit")
            made = self.storage.commit(repo, revision, changes, header["summary"], parent=parent, new_ref=new_ref)
        about: dict[str, Any] = {"success": True, "commitOid": made.sha, "hookOutput": ""}
        about["commitUrl"] = f"{self.url}/{repo}/commit/{made.sha}"
        about |= {"pullRequestUrl": f"{self.url}/{repo}/discussions/{number}"} if propose else {}
        return answer_json(about)


def upload_mode(path: str, size: int, sample: bytes, attributes: str) -> str:
    """Return `lfs` or `regular` for a file to upload, by .gitattributes, its size, and whether `sample`, its beginning,
    is text."""
    patterns = [line.split()[0] for line in attributes.splitlines() if "filter=lfs" in line.split()]
    if size > LARGE or b"\0" in sample or _matches(path, patterns):
        return "lfs"
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        cut = error.reason == "unexpected end of data" and len(sample) < size
        return "regular" if cut else "lfs"
    return "regular"


def _matches(path: str, patterns: list[str]) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(path, p.lstrip("/")) for p in patterns)
