"""`publish`: upload a tokenizer, its cartridge and a model card to a repository of the Hub, in one commit.

First the Hub is asked whether the account may write to the repository. Then all files are made and checked locally. The
commit names its parent, so it cannot overwrite a commit that was pushed meanwhile. A missing repository is created
before the commit; an existing one does not change before it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.cartridges.compiling import REFERENCE_METADATA
from crayon_hf.errors import CrayonError, HubError, MissingExtraError
from crayon_hf.formats.repository import CARTRIDGE, CONFIG, JSON, has_bytes, tokenizer_in
from crayon_hf.hub.card import PLOT_PNG, PLOT_SVG, REPORT_JSON, REPORT_PAGE, Facts, make_card
from crayon_hf.hub.front_matter import read as read_metadata
from crayon_hf.hub.reports import report_of
from crayon_hf.hub.use_check import check_use
from crayon_hf.hub_access import client, rights, staging
from crayon_hf.hub_access.staging import MODEL_CONFIG, README, Staged
from crayon_hf.util.extras import how_to_install
from crayon_hf.util.files import read_source

if TYPE_CHECKING:
    from crayon_hf.parity.report.model import Report

MESSAGE = "Tokenizer, cartridge and parity report (crayon-hf publish)"

_LICENSE = ("license", "license_name", "license_link")


_NOTHING = client.Listing("", {})


@dataclass(frozen=True)
class Published:
    """The result of `publish`."""

    repo: str
    """The name of the repository, with its namespace."""
    revision: str
    """The branch, or ``refs/pr/N`` of a pull request that was opened."""
    url: str | None
    """The page of the commit or of the pull request, or None after a dry run."""
    commit: str | None
    """The commit that now has the files, or None after a dry run."""
    files: tuple[str, ...]
    """The names of the files that this call added, changed or removed. After a dry run, the paths of all files."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, one line each."""


@dataclass(frozen=True)
class _Found:
    """The repository before publishing."""

    place: client.Place
    exists: bool = False
    has_revision: bool = False
    private: bool = False
    listing: client.Listing = _NOTHING

    @property
    def parent(self) -> str | None:
        return self.listing.commit or None

    @property
    def readable(self) -> client.Place:
        """The place to read from: the main branch if the revision does not exist yet."""
        return self.place if self.has_revision else self.place._replace(revision=None)


def publish(
    repo: str,
    source: str | os.PathLike[str] | None = None,
    *,
    revision: str | None = None,
    private: bool | None = None,
    token: str | bool | None = None,
    message: str | None = None,
    create_pr: bool = False,
    license: str | None = None,
    base_tokenizer: str | None = None,
    report: str | os.PathLike[str] | Report | None = None,
    speed: bool = True,
    dry_run: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Published:
    """Upload a tokenizer to `repo`, with its cartridge, a model card and a parity report.

    Args:
        repo: ``user/name``; ``name`` alone is a repository of your own. It is created if it does not exist.
        source: A directory or file of any kind that `crayon_hf.formats` reads, a profile, a tiktoken encoding or
            another repository (``user/name@revision``). Without `source`, the tokenizer that `repo` has is published
            again.
        revision: The branch, created if it does not exist; by default the main one.
        private: Whether a new repository is private; by default as your account is set.
        token: As in the client: True and None mean the token that is logged in.
        message: The commit message.
        create_pr: Open a pull request instead of committing to the branch.
        license: The license for the card's metadata; by default the one on the source's card.
        base_tokenizer: The tokenizer that this one was made from, to name on the card; for example a repository.
        report: A report of ``crayon-hf parity --json``, or its path. By default, the report that `repo` has is kept if
            it is about this tokenizer.json and this version. Otherwise the comparison is run, which takes a minute or
            two.
        speed: Whether to measure and show speeds.
        dry_run: A directory to write all files into, instead of publishing them.
        progress: Called with a line of text now and then.

    Returns:
        The repository, the commit and the changed files.

    Raises:
        HubError: The Hub cannot be reached or refuses, or another commit was pushed meanwhile. Trying again is safe.
            An account without write access is refused before the comparison.
        CrayonError: transformers would not use the cartridge, the report does not agree fully or is about another
            tokenizer.json, or the existing README.md cannot be extended. Nothing was uploaded.
        VocabularyError: The source is not a tokenizer, or (UnsupportedError) cannot be compiled.
        OSError, ValueError: A file cannot be read or written, or an argument is invalid.

    docs/hub.md has an example.
    """
    say = progress or (lambda line: None)
    place = client.parse(repo, revision)
    if place.revision == "main":
        place = place._replace(revision=None)
    if place.revision is not None and re.fullmatch(r"[0-9a-f]{40}", place.revision):
        raise ValueError(f"{place.revision} is a commit: give the name of a branch to publish to")
    if speed and find_spec("matplotlib") is None:
        raise MissingExtraError(
            f"the plot of speeds needs matplotlib, which is not installed: {how_to_install('report')}, or --no-speed"
        )
    say(f"{place}: looking")
    who = None if dry_run is not None else _account(place, token)
    if who is not None and "/" not in place.repo:
        place = place._replace(repo=f"{who['name']}/{place.repo}")
    found = _look(place, source is not None, token, create_pr, dry_run is not None)
    if private and found.exists and not found.private:
        raise HubError(f"{found.place.repo} exists and is public: private applies only to a new repository")
    if who is not None:
        rights.check(found.readable, who, token, is_new=not found.exists, create_pr=create_pr)
    staged = _staged(source, found, token)
    if dry_run is not None:
        _check_directory(os.fspath(dry_run), staged)
    files, notes = _build(staged, found, source is None, license, base_tokenizer, report, speed, token, say)
    if dry_run is not None:
        return Published(
            found.place.repo,
            place.revision or "main",
            None,
            None,
            staging.write_files(os.fspath(dry_run), files),
            tuple(notes),
        )
    return _commit(files, found, private, token, message or MESSAGE, create_pr, tuple(notes), say)


# -- the repository before publishing


def _check_directory(folder: str, staged: Staged) -> None:
    """Raise CrayonError if the output directory of a dry run has another tokenizer."""
    others = tokenizer_in(folder)
    if others and not has_bytes(os.path.join(folder, JSON), staged.files[JSON]):
        raise CrayonError(f"{folder} has another tokenizer ({', '.join(others)}): choose another directory")


def _account(place: client.Place, token: str | bool | None) -> rights.Account:
    if client.library().constants.HF_HUB_OFFLINE:
        raise HubError(f"{place}: HF_HUB_OFFLINE is set, and publishing needs the Hub: try again without")
    return rights.account(place, token)


def _look(place: client.Place, may_be_new: bool, token: str | bool | None, create_pr: bool, is_dry: bool) -> _Found:
    errors, api = client.library().errors, client.api(token)
    if client.library().constants.HF_HUB_OFFLINE:  # only a dry run gets here offline
        return _Found(place) if may_be_new else _Found(place, True, True, listing=client.listing(place, token))

    def info(revision: str | None) -> Any:
        return client.call(place, "reading", lambda: api.model_info(place.repo, revision=revision, files_metadata=True))

    def found(info: Any, has_revision: bool) -> _Found:
        return _Found(place, True, has_revision, bool(info.private), client.listing_of(info))

    try:
        return found(info(place.revision), True)
    except HubError as error:
        cause = error.__cause__
        if (
            isinstance(cause, errors.RevisionNotFoundError)
            and not create_pr
            and not (place.revision or "").startswith("refs/")
        ):
            return found(info(None), False)
        is_missing = isinstance(cause, errors.RepositoryNotFoundError) and not isinstance(cause, errors.GatedRepoError)
        is_missing = is_missing or (
            is_dry and cause is not None and client._status(cause) == 401
        )  # the answer to a client that is not logged in
        if is_missing and may_be_new and not create_pr:
            return _Found(place)
        raise


def _staged(source: str | os.PathLike[str] | None, found: _Found, token: str | bool | None) -> Staged:
    if source is not None:
        return staging.stage(source, token)
    return staging.stage_repository(found.readable, found.listing, token, own=True)


# -- making the files


def _build(
    staged: Staged,
    found: _Found,
    is_own: bool,
    license: str | None,
    base_tokenizer: str | None,
    report: str | os.PathLike[str] | Report | None,
    speed: bool,
    token: str | bool | None,
    say: Callable[[str], None],
) -> tuple[dict[str, bytes], list[str]]:
    """Return all files by their names in the repository, and remarks for the user."""
    from crayon_hf import certificate
    from crayon_hf.parity.report.html import to_html
    from crayon_hf.parity.report.plots import speed_plot

    before = _before(found, token)
    say("compiling the cartridge")
    staged, cartridge = _compiled(staged)
    files = dict(staged.files)
    if CONFIG not in files and not (is_own and MODEL_CONFIG in found.listing.files):
        files[CONFIG] = staging.config_file(staged.config, before.get(CONFIG))
    say("opening them as a user does")
    decides = {name: before[name] for name in (MODEL_CONFIG, CONFIG) if name in before}
    use = check_use({**decides, **files, CARTRIDGE: cartridge})
    if use.refused is not None:
        raise CrayonError(f"AutoTokenizer would not use the cartridge: {use.refused}; nothing was uploaded")
    checked = report_of(staged, cartridge, found.place, before, report, speed, say)
    files[CARTRIDGE] = _core.with_certificate(cartridge, _compact(certificate.of_report(checked)))
    existing = before.get(README)
    card = None if existing is None else staging.as_text(existing)
    metadata, notes = _metadata(staged, card, is_own, license, base_tokenizer)
    notes += [use.note] if use.note is not None else []
    facts = Facts(
        repo=found.place.repo,
        revision=None if (found.place.revision or "").startswith("refs/") else found.place.revision,
        base=base_tokenizer or (None if is_own else staged.base),
        vocab_size=checked.target.vocab_size,
        is_model=MODEL_CONFIG in found.listing.files,
        metadata=metadata,
    )
    files[README] = make_card(card, facts, checked).encode()
    files[REPORT_JSON] = checked.to_json().encode()
    files[REPORT_PAGE] = to_html(checked).encode()
    if checked.speeds:
        files[PLOT_SVG], files[PLOT_PNG] = speed_plot(checked, "svg"), speed_plot(checked, "png")
    return files, notes


def _compiled(staged: Staged) -> tuple[Staged, bytes]:
    """Return the source and the cartridge that is compiled from it.

    A user's crayon-hf uses the cartridge only if it agrees with the tokenizer.json beside it. Where tiktoken and
    ``tokenizers`` read a pattern differently, the cartridge therefore gives the ids of ``tokenizers``.
    """
    from crayon_hf.cartridges.cartridge_check import disagreement

    reason = ""
    for each in (staged, staged._replace(metadata=REFERENCE_METADATA)):
        cartridge = each.compiled()
        found = disagreement(_core.Engine.from_bytes(cartridge), staged.digest, staged.files[JSON])
        if found is None:
            return each, cartridge
        reason = reason or found
    raise CrayonError(f"the cartridge of this tokenizer.json would not be used; please report this: {reason}")


def _before(found: _Found, token: str | bool | None) -> dict[str, bytes]:
    """Return the existing files of the repository that the new files depend on."""
    names = [name for name in (README, CONFIG, MODEL_CONFIG, REPORT_JSON) if name in found.listing.files]
    if not names:
        return {}
    folder = client.fetch(found.readable, found.listing, names, token)
    return {name: read_source(os.path.join(folder, name)) for name in names}


def _metadata(
    staged: Staged, card: str | None, is_own: bool, license: str | None, base_tokenizer: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the metadata to add to the card, and remarks for the user."""
    has = {} if card is None else read_metadata(card)
    notes: list[str] = []
    try:
        source = {} if is_own or staged.card is None else read_metadata(staged.card)
    except CrayonError:
        source = {}
        notes.append("the source's README.md has metadata that is not valid: none of it was carried over")
    if license is not None and has.get("license") not in (None, license):
        raise CrayonError(f"README.md says license: {has['license']}; change it there, it is not overwritten")
    values: dict[str, Any] = (
        {"license": license}
        if license is not None
        else {key: source[key] for key in _LICENSE if source.get(key) is not None}
    )
    link = values.get("license_link")
    if isinstance(link, str) and "://" not in link:  # a file of the source
        del values["license_link"]
        if staged.hub_id is not None:
            values["license_link"] = (
                f"{client.library().constants.ENDPOINT}/{staged.hub_id}/blob/{staged.revision}/{link}"
            )
    if "license" in has:
        values = {}  # the keys of a license belong together
    elif not values:
        notes.append("the card names no license: the source's has none, and --license was not given")
    base = base_tokenizer if _is_repository(base_tokenizer) else staged.hub_id if not is_own else None
    values["base_model"] = base or source.get("base_model")
    return values, notes


def _is_repository(name: str | None) -> bool:
    try:
        return name is not None and "/" in name and bool(client.parse(name))
    except ValueError:
        return False


# -- writing


def _commit(
    files: Mapping[str, bytes],
    found: _Found,
    private: bool | None,
    token: str | bool | None,
    message: str,
    create_pr: bool,
    notes: tuple[str, ...],
    say: Callable[[str], None],
) -> Published:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    api = client.api(token)
    if not found.exists:
        found = _created(api, found, files, private, token, say)
    repo, branch = found.place.repo, found.place.revision or "main"
    if not found.has_revision:
        client.call(
            found.place,
            "creating the branch",
            lambda: api.create_branch(repo, branch=branch, revision=found.parent, exist_ok=True),
        )
    listed = {name: found.listing.files.get(name) or "" for name in files}
    changed = [
        name for name in files if client.digest(BytesIO(files[name]), len(files[name]), listed[name]) != listed[name]
    ]
    if not changed:
        say(f"{found.place}: nothing has changed")
        url = f"{client.library().constants.ENDPOINT}/{repo}/commit/{found.parent}"
        return Published(repo, branch, url, found.parent, (), notes)
    say(f"{found.place}: uploading {', '.join(changed)}")
    additions = [CommitOperationAdd(name, files[name]) for name in changed]
    stale = [name for name in (PLOT_SVG, PLOT_PNG) if name in found.listing.files.keys() - files.keys()]
    operations = [*additions, *map(CommitOperationDelete, stale)]

    def upload() -> None:
        api.preupload_lfs_files(repo, additions, revision=found.place.revision, create_pr=create_pr, free_memory=False)

    def commit() -> Any:
        return api.create_commit(
            repo,
            operations,
            commit_message=message,
            revision=found.place.revision,
            create_pr=create_pr,
            parent_commit=found.parent,
        )

    client.call(found.place, "uploading", upload)
    # The client skips files that the repository's .gitignore names, without an error.
    if ignored := [each.path_in_repo for each in additions if getattr(each, "_should_ignore", False)]:
        raise HubError(f"{found.place}: its .gitignore excludes {', '.join(ignored)}: remove that line, and try again")
    info = client.call(found.place, "committing", commit, again=False)
    url = info.pr_url or info.commit_url
    return Published(
        repo, (info.pr_revision or branch) if create_pr else branch, url, info.oid, (*changed, *stale), notes
    )


def _created(
    api: Any,
    found: _Found,
    files: Mapping[str, bytes],
    private: bool | None,
    token: str | bool | None,
    say: Callable[[str], None],
) -> _Found:
    place = found.place
    say(f"{place.repo}: creating the repository")
    client.call(place, "creating the repository", lambda: api.create_repo(place.repo, private=private, exist_ok=True))
    at = _look(client.Place(place.repo), True, token, create_pr=False, is_dry=False)
    if not at.exists:
        raise HubError(f"{place.repo}: it was created, but the Hub does not have it: try again")
    if at.listing.files.keys() & files.keys():
        raise HubError(f"{place.repo}: it was created by another account meanwhile, and has files: try again")
    return replace(at, place=place, has_revision=place.revision in (None, "main"))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
