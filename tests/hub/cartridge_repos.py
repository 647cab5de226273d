"""Puts tokenizers with cartridges into a repository of the local Hub, and reads the profiles that clients pulled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.hub.hub_tokenizers import repository
from tests.hub.local_hub import LocalHub

REPO, OLD = "user/tok", "v1"


def two_versions(hub: LocalHub, old: Path, new: Path) -> None:
    """Create the repository `user/tok` with the tokenizer `new`. Its revision `v1` has the tokenizer `old`."""
    hub.commit(REPO, repository(old), title="The first version")
    hub.storage.repository(REPO).refs[f"refs/tags/{OLD}"] = hub.head(REPO).sha
    hub.commit(REPO, repository(new), title="The second version")


def profile_directory(home: Path) -> Path:
    """The directory in which `crayon-hf pull` puts profiles, for a user with this home directory."""
    return home / ".cache" / "xerv" / "crayon" / "profiles"


def profile(home: Path, name: str = "tok") -> dict[str, bytes]:
    """The contents of a pulled profile's files, by the names that the files have in the repository."""
    names = {"tokenizer.json": f"{name}.json", "tokenizer.dat": f"{name}.dat"}
    paths = {kind: profile_directory(home) / file for kind, file in names.items()}
    return {kind: path.read_bytes() for kind, path in paths.items() if path.exists()}


def everything(home: Path) -> dict[str, bytes | str]:
    """The contents of every file, and the target of every link, in the directory of profiles, except its lock."""
    found: dict[str, bytes | str] = {}
    for place, _, names in os.walk(profile_directory(home)):
        for name in names:
            path = Path(place, name)
            if name != "lock":
                inside = str(path.relative_to(profile_directory(home)))
                found[inside] = os.readlink(path) if path.is_symlink() else path.read_bytes()
    return found


def cartridge_files(hub: LocalHub, revision: str = "main") -> Mapping[str, bytes]:
    """The files in the repository that a pull of this revision must put into a profile."""
    return {name: hub.read(REPO, name, revision=revision) for name in ("tokenizer.json", "tokenizer.dat")}
