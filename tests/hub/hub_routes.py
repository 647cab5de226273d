"""What a local Hub answers to each request of the client, as the service does.

"Hub API endpoints" of its documentation has the documented ones; the others are those that the client uses.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from tests.hub import hub_card
from tests.hub.hub_access import Denied, Token, may_create, may_propose, may_read, may_see, may_write, who
from tests.hub.hub_http import Answer, Request, answer_error, answer_json
from tests.hub.hub_storage import Commit, Entry, Missing, Refused, Repository, Storage

LARGE = 10 << 20
"""A file of more bytes than this goes to LFS whatever it is."""
_REPO = r"(?P<repo>[^/]+(?:/[^/]+)??)"
_REVISION = r"(?P<revision>[^/]+)"
_NAME = re.compile(r"[\w-][\w.-]{0,95}")
Route = Callable[..., Answer]
ROUTES: list[tuple[str, re.Pattern[str], Route]] = []


def route(method: str, path: str) -> Callable[[Route], Route]:
    def add(function: Route) -> Route:
        ROUTES.append((method, re.compile(path), function))
        return function

    return add


class Routes:
    """The answers of one Hub. `page` is how many files one page of a tree lists."""

    def __init__(self, storage: Storage, tokens: dict[str, Token], *, page: int = 1000) -> None:
        self.storage = storage
        self.tokens = tokens
        self.page = page
        self.url = ""
        self.storage_url = ""

    def answer(self, request: Request) -> Answer:
        """The answer to a request; errors are answers too."""
        method = "GET" if request.method == "HEAD" else request.method
        try:
            token = who(request.headers.get("authorization"), self.tokens)
            for wanted, pattern, function in ROUTES:
                found = pattern.fullmatch(request.path)
                if wanted == method and found is not None:
                    parts = {name: unquote(value or "") for name, value in found.groupdict().items()}
                    return function(self, request, token, **parts)
        except Denied as error:
            return answer_error(error.status, str(error), error.code)
        except Missing as error:
            answer = answer_error(404, str(error), error.code)
            answer.headers |= getattr(error, "headers", {})
            return answer
        except Refused as error:
            return answer_error(error.status, str(error))
        request.known = False
        return answer_error(404, "Sorry, we can't find the page you are looking for.")

    def see(self, repo: str, token: Token | None) -> Repository:
        try:
            repository = self.storage.repository(repo)
        except Missing:
            repository = None
        return may_see(repository, token)

    def write(self, repo: str, token: Token | None) -> Repository:
        repository = self.see(repo, token)
        may_write(repository, token)
        return repository

    # -- accounts, repositories

    @route("GET", "/api/whoami-v2")
    def whoami(self, request: Request, token: Token | None) -> Answer:
        if token is None:
            raise Denied(401, "Invalid username or password.")
        return answer_json(token.described())

    @route("POST", "/api/repos/create")
    def create(self, request: Request, token: Token | None) -> Answer:
        asked = request.json()
        if asked.get("type") not in (None, "model"):
            raise Refused(400, "A local Hub has models only")
        if token is None:
            raise Denied(401, "Invalid username or password.")
        namespace = asked.get("organization") or token.user
        may_create(namespace, token)
        name = asked["name"]
        if not _NAME.fullmatch(name) or ".." in name or "--" in name or name.endswith((".git", ".", "-")):
            raise Refused(400, f"Invalid repo name: {name}")
        repo = f"{namespace}/{name}"
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        about = {"url": f"{self.url}/{repo}", "name": repo, "id": repo}
        try:
            self.storage.create(repo, private=private, author=token.user)
        except Refused as error:
            return answer_json({"error": str(error)} | about, error.status, X_Error_Message=str(error))
        return answer_json(about)

    @route("DELETE", "/api/repos/delete")
    def delete(self, request: Request, token: Token | None) -> Answer:
        asked = request.json()
        repo = f"{asked.get('organization') or (token.user if token else '')}/{asked['name']}"
        self.write(repo, token)
        self.storage.delete(repo)
        return answer_json({})

    @route("PUT", f"/api/models/{_REPO}/settings")
    def settings(self, request: Request, token: Token | None, repo: str) -> Answer:
        repository = self.write(repo, token)
        asked = request.json()
        repository.gated = asked.get("gated", repository.gated)
        if "visibility" in asked or "private" in asked:
            repository.private = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.storage.save(repository)
        return answer_json({"private": repository.private, "gated": repository.gated})

    @route("POST", "/api/validate-yaml")
    def validate_yaml(self, request: Request, token: Token | None) -> Answer:
        errors, warnings = hub_card.check(request.json()["content"])
        body = {name: [{"message": m} for m in found] for name, found in (("errors", errors), ("warnings", warnings))}
        return answer_json(body, 400 if errors else 200)

    # -- what is there

    @route("GET", f"/api/models/{_REPO}(?:/revision/{_REVISION})?")
    def info(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        repository = self.see(repo, token)
        commit = self.storage.resolve(repo, revision or "main")
        newest = next(iter(self.storage.history(repo, commit)))
        card = self._card(commit)
        siblings = [self._sibling(path, e, blobs=request.flag("blobs")) for path, e in commit.files.items()]
        about: dict[str, Any] = {"_id": hashlib.sha256(repo.encode()).hexdigest()[:24], "id": repo, "modelId": repo}
        about |= {"author": repository.owner, "sha": commit.sha, "lastModified": newest.date, "likes": 0}
        about |= {"private": repository.private, "gated": repository.gated, "disabled": False, "downloads": 0}
        about |= {"createdAt": repository.created, "siblings": siblings, "tags": hub_card.tags(card), "spaces": []}
        about |= {"usedStorage": sum(entry.size for entry in commit.files.values())}
        about |= {"cardData": card} if card else {}
        about |= {name: card[name] for name in ("library_name", "pipeline_tag") if name in card}
        expand = request.query.get("expand", []) + request.query.get("expand[]", [])
        if expand:
            about = {name: value for name, value in about.items() if name in {"_id", "id", *expand}}
        return answer_json(about)

    def _card(self, commit: Commit) -> dict[str, Any]:
        entry = commit.files.get("README.md")
        if entry is None:
            return {}
        try:
            card = hub_card.metadata(self.storage.blob(entry.sha256).read_text(encoding="utf-8"))
        except ValueError:
            return {}
        plain: dict[str, Any] = json.loads(json.dumps(card, default=str))
        return plain

    @staticmethod
    def _sibling(path: str, entry: Entry, *, blobs: bool) -> dict[str, Any]:
        about: dict[str, Any] = {"rfilename": path}
        if blobs:
            about |= {"size": entry.size, "blobId": entry.oid}
        if blobs and entry.lfs:
            about["lfs"] = {"sha256": entry.sha256, "size": entry.size, "pointerSize": entry.pointer_size}
        return about

    @route("GET", f"/api/models/{_REPO}/refs")
    def refs(self, request: Request, token: Token | None, repo: str) -> Answer:
        self.see(repo, token)
        kinds = {"refs/heads/": "branches", "refs/tags/": "tags", "refs/pr/": "pullRequests"}
        found: dict[str, list[dict[str, str]]] = {"branches": [], "tags": [], "converts": []}
        if request.flag("include_prs"):
            found["pullRequests"] = []
        for ref, sha in self.storage.refs(repo).items():
            prefix = next(p for p in kinds if ref.startswith(p))
            if kinds[prefix] in found:
                name = ref.removeprefix("refs/") if prefix == "refs/pr/" else ref.removeprefix(prefix)
                found[kinds[prefix]].append({"name": name, "ref": ref, "targetCommit": sha})
        return answer_json(found)

    @route("GET", f"/api/models/{_REPO}/commits/{_REVISION}")
    def commits(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        self.see(repo, token)
        commits = self.storage.history(repo, self.storage.resolve(repo, revision))
        listed = []
        for commit in commits:
            about = {"id": commit.sha, "title": commit.title, "message": commit.description, "date": commit.date}
            listed.append(about | {"authors": [{"user": commit.author}]})
        return answer_json(listed)

    @route("GET", f"/api/models/{_REPO}/discussions")
    def discussions(self, request: Request, token: Token | None, repo: str) -> Answer:
        self.see(repo, token)
        found = []
        for ref, sha in self.storage.refs(repo).items():
            if ref.startswith("refs/pr/"):
                commit = self.storage.resolve(repo, sha)
                about = {"num": int(ref.rsplit("/", 1)[1]), "title": commit.title, "createdAt": commit.date}
                about |= {"status": "open", "isPullRequest": True, "author": {"name": commit.author}}
                found.append(about | {"repo": {"name": repo, "type": "model"}})
        return answer_json({"discussions": found, "count": len(found), "start": 0})

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
        ordered = sorted(names)
        start = int(request.query.get("cursor", ["0"])[0])
        limit = min(self.page, int(request.query.get("limit", [str(self.page)])[0]))
        shown = [self._described(repo, commit, p, request) for p in ordered[start : start + limit]]
        answer = answer_json(shown)
        if start + limit < len(ordered):
            query = f"recursive={request.flag('recursive')}&expand={request.flag('expand')}"
            next_page = f"{self.url}{request.path}?{query}&limit={limit}&cursor={start + limit}"
            answer.headers["Link"] = f'<{next_page}>; rel="next"'
        return answer

    @route("POST", f"/api/models/{_REPO}/paths-info/{_REVISION}")
    def paths_info(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        self.see(repo, token)
        commit = self.storage.resolve(repo, revision)
        if request.headers.get("content-type", "").startswith("application/json"):
            paths = request.json()["paths"]
        else:
            paths = parse_qs(request.body.decode()).get("paths", [])
        folders = {"/".join(p.split("/")[:n]) for p in commit.files for n in range(1, p.count("/") + 1)}
        there = [path for path in paths if path in commit.files or path in folders]
        return answer_json([self._described(repo, commit, path, request) for path in there])

    def _described(self, repo: str, commit: Commit, path: str, request: Request) -> dict[str, Any]:
        entry = commit.files.get(path)
        if entry is None:
            inside = sorted((p, e.oid) for p, e in commit.files.items() if p.startswith(path + "/"))
            about = {"type": "directory", "oid": hashlib.sha1(repr(inside).encode()).hexdigest(), "size": 0}
        else:
            about = {"type": "file", "oid": entry.oid, "size": entry.size}
            if entry.lfs:
                about["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": entry.pointer_size}
        if request.flag("expand"):
            last = commit
            for older in self.storage.history(repo, commit):
                if older.files.get(path) != entry:
                    break
                last = older
            about["lastCommit"] = {"id": last.sha, "title": last.title, "date": last.date}
        return about | {"path": path}

    # -- files

    @route("GET", f"/{_REPO}/resolve/{_REVISION}/(?P<path>.+)")
    def resolve(self, request: Request, token: Token | None, repo: str, revision: str, path: str) -> Answer:
        """Where a file is: what is in LFS with the other host, under a signed URL; the rest behind a redirect here."""
        commit, entry = self._entry(repo, token, revision, path)
        headers = {"X-Repo-Commit": commit.sha, "X-Linked-Etag": f'"{entry.etag}"', "X-Linked-Size": str(entry.size)}
        if entry.lfs:
            disposition = quote(f'inline; filename="{path.split("/")[-1]}"', safe="")
            location = self.signed("GET", entry.sha256) + f"&response-content-disposition={disposition}"
            return Answer(302, b"", headers | {"Accept-Ranges": "bytes", "Location": location})
        location = f"/api/resolve-cache/models/{repo}/{commit.sha}/{quote(path)}?etag={quote(entry.etag)}"
        return Answer(307, b"", headers | {"Location": location})

    @route("GET", r"/api/resolve-cache/models/(?P<repo>[^/]+/[^/]+)/(?P<revision>[0-9a-f]{40})/(?P<path>.+)")
    def resolve_cache(self, request: Request, token: Token | None, repo: str, revision: str, path: str) -> Answer:
        commit, entry = self._entry(repo, token, revision, path)
        name = path.split("/")[-1]
        headers = {"X-Repo-Commit": commit.sha, "ETag": f'"{entry.etag}"', "Content-Type": "text/plain; charset=utf-8"}
        headers["Content-Disposition"] = f"inline; filename*=UTF-8''{quote(name)}; filename=\"{quote(name)}\";"
        return Answer(200, b"", headers, self.storage.blob(entry.sha256))

    def _entry(self, repo: str, token: Token | None, revision: str, path: str) -> tuple[Commit, Entry]:
        repository = self.see(repo, token)
        commit = self.storage.resolve(repo, revision)
        may_read(repository, token)
        if path not in commit.files:
            missing = Missing("EntryNotFound", "Entry not found")
            missing.headers = {"X-Repo-Commit": commit.sha}  # type: ignore[attr-defined]
            raise missing
        return commit, commit.files[path]

    def signed(self, method: str, sha256: str) -> str:
        """The URL at the other host under which one method may be used for one blob."""
        return f"{self.storage_url}/repos/{sha256}?signature={self._signature(method, sha256)}"

    def _signature(self, method: str, sha256: str) -> str:
        return hmac.new(b"local hub", f"{method} {sha256}".encode(), "sha256").hexdigest()[:32]

    def answer_storage(self, request: Request) -> Answer:
        """The other host: it knows signatures, no tokens, and checks what is put there by its digest."""
        method = "GET" if request.method == "HEAD" else request.method
        sha256 = request.path.rsplit("/", 1)[-1]
        if request.query.get("signature") != [self._signature(method, sha256)]:
            return Answer(
                403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>", {"Content-Type": "application/xml"}
            )
        if method == "PUT":
            if hashlib.sha256(request.body).hexdigest() != sha256:
                return Answer(400, b"<Error><Code>BadDigest</Code></Error>", {"Content-Type": "application/xml"})
            self.storage.add_blob(request.body)
            return Answer(200, b"", {"ETag": f'"{sha256}"'})
        disposition = request.query.get("response-content-disposition", ["inline"])[0]
        headers = {"ETag": f'"{sha256}"', "Content-Disposition": disposition}
        return Answer(200, b"", headers | {"Content-Type": "binary/octet-stream"}, self.storage.blob(sha256))

    # -- changes

    @route("POST", f"/api/models/{_REPO}/branch/(?P<branch>[^/]+)")
    def create_branch(self, request: Request, token: Token | None, repo: str, branch: str) -> Answer:
        return self._create_ref(repo, token, f"refs/heads/{branch}", request.json().get("startingPoint") or "main")

    @route("POST", f"/api/models/{_REPO}/tag/{_REVISION}")
    def create_tag(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        return self._create_ref(repo, token, f"refs/tags/{request.json()['tag']}", revision)

    def _create_ref(self, repo: str, token: Token | None, ref: str, revision: str) -> Answer:
        self.write(repo, token)
        with self.storage.lock:
            if ref in self.storage.refs(repo):
                raise Refused(409, "Reference already exists")
            self.storage.set_ref(repo, ref, self.storage.resolve(repo, revision).sha)
        return answer_json({}, 201)

    @route("DELETE", f"/api/models/{_REPO}/(?P<kind>branch|tag)/(?P<name>[^/]+)")
    def delete_ref(self, request: Request, token: Token | None, repo: str, kind: str, name: str) -> Answer:
        self.write(repo, token)
        ref = f"refs/{'heads' if kind == 'branch' else 'tags'}/{name}"
        if ref not in self.storage.refs(repo):
            raise Missing("RevisionNotFound", f"Invalid rev id: {name}")
        self.storage.set_ref(repo, ref, None)
        return answer_json({})

    @route("POST", f"/api/models/{_REPO}/preupload/{_REVISION}")
    def preupload(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        """For each file: as a part of the commit or by LFS, whether .gitignore has it, and what is there now."""
        if request.flag("create_pr"):
            self._may_propose(repo, token)
        else:
            self.write(repo, token)
        commit = self.storage.resolve(repo, revision)
        asked = request.json()
        attributes = self._text(commit, ".gitattributes")
        ignored = [p for p in asked.get("gitIgnore", self._text(commit, ".gitignore")).split() if p[0] != "#"]
        files = []
        for file in asked["files"]:
            mode = upload_mode(file["path"], file["size"], base64.b64decode(file["sample"]), attributes)
            about = {"path": file["path"], "uploadMode": mode, "shouldIgnore": _matches(file["path"], ignored)}
            there = commit.files.get(file["path"])
            files.append(about | ({"oid": there.etag} if there else {}))
        return answer_json({"files": files, "commitOid": commit.sha})

    def _text(self, commit: Commit, path: str) -> str:
        entry = commit.files.get(path)
        return self.storage.blob(entry.sha256).read_text(encoding="utf-8") if entry else ""

    def _may_propose(self, repo: str, token: Token | None) -> Token:
        return may_propose(self.see(repo, token), token)

    @route("POST", f"/{_REPO}\\.git/info/lfs/objects/batch")
    def lfs_batch(self, request: Request, token: Token | None, repo: str) -> Answer:
        asked = request.json()
        if asked.get("operation") != "upload" or asked.get("hash_algo", "sha256") != "sha256":
            raise Refused(400, "A local Hub takes uploads by SHA-256 only")
        self._may_propose(repo, token)
        objects = []
        for one in asked["objects"]:
            about: dict[str, Any] = {"oid": one["oid"], "size": one["size"], "authenticated": True}
            if not self.storage.blob(one["oid"]).exists():
                verify = {"href": f"{self.url}/{repo}.git/info/lfs/objects/verify", "header": {}}
                about["actions"] = {"upload": {"href": self.signed("PUT", one["oid"])}, "verify": verify}
            objects.append(about)
        content_type = "application/vnd.git-lfs+json"
        return answer_json({"transfer": "basic", "objects": objects}, Content_Type=content_type)

    @route("POST", f"/{_REPO}\\.git/info/lfs/objects/verify")
    def lfs_verify(self, request: Request, token: Token | None, repo: str) -> Answer:
        self._may_propose(repo, token)
        asked = request.json()
        blob = self.storage.blob(asked["oid"])
        if not blob.exists() or blob.stat().st_size != asked["size"]:
            raise Refused(404, "The object is not there, or not of this size")
        return answer_json({})

    @route("POST", f"/api/models/{_REPO}/commit/{_REVISION}")
    def commit(self, request: Request, token: Token | None, repo: str, revision: str) -> Answer:
        """A commit as lines of JSON; all of it or nothing happens."""
        propose = request.flag("create_pr")
        author = self._may_propose(repo, token).user if propose else ""
        if not propose:
            self.write(repo, token)
            author = token.user if token else ""
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
                changes[value["path"]] = self.storage.lfs_entry(value["oid"])
            elif item["key"] == "deletedFile":
                changes[value["path"]] = None
            elif item["key"] == "deletedFolder":
                changes[value["path"].rstrip("/") + "/"] = None
            else:
                raise Refused(400, f"Unknown operation: {item['key']}")
        if not header.get("summary"):
            raise Refused(400, "A commit needs a summary")
        with self.storage.lock:
            numbers = [int(ref.rsplit("/", 1)[1]) for ref in self.storage.refs(repo) if ref.startswith("refs/pr/")]
            number = max(numbers, default=0) + 1
            made = self.storage.commit(
                repo,
                revision,
                changes,
                header["summary"],
                header.get("description", ""),
                author=author,
                parent=header.get("parentCommit"),
                new_ref=f"refs/pr/{number}" if propose else None,
            )
        about: dict[str, Any] = {"success": True, "commitOid": made.sha, "hookOutput": ""}
        about["commitUrl"] = f"{self.url}/{repo}/commit/{made.sha}"
        about |= {"pullRequestUrl": f"{self.url}/{repo}/discussions/{number}"} if propose else {}
        return answer_json(about)


def upload_mode(path: str, size: int, sample: bytes, attributes: str) -> str:
    """`lfs` or `regular`, by .gitattributes, by size, and by whether the file begins as text does."""
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
