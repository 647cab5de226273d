"""The command ``pull``, and what it has in common with ``publish``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from crayon_hf.cli.arguments import UsageError, add_command
from crayon_hf.cli.output import print_line


def add_pull(subparsers: Any) -> None:
    """What ``pull`` takes."""
    command = add_command(
        subparsers,
        "pull",
        pull,
        "make a profile of a repository on the Hub",
        "Makes a profile of a repository. It uses the cartridge of the repository if that is whole and agrees with\n"
        "its tokenizer.json; otherwise it compiles one.\n\n"
        "The token, the cache and offline mode are those of huggingface_hub (HF_TOKEN,\n"
        "HF_HOME, HF_HUB_OFFLINE). The profile is stored in the first entry of CRAYON_PROFILE_DIR, else in\n"
        "~/.cache/xerv/crayon/profiles.",
        (
            ("crayon-hf pull user/name", 'the profile "name"'),
            ("crayon-hf pull user/name@v1 --name old", "of a tag, under another name"),
        ),
    )
    command.add_argument("repo", metavar="REPO[@REVISION]", help="user/name; a branch, a tag or a commit after the @")
    command.add_argument("--name", help="the name of the profile (default: that of the repository)")
    command.add_argument("--token", help="a token of the Hub (default: the one that huggingface_hub finds)")
    command.add_argument("--directory", metavar="DIR", help="another directory of profiles")
    command.add_argument("--force", action="store_true", help="replace a profile of that name from elsewhere")
    command.add_argument("--json", action="store_true", help="print one JSON object")


@contextlib.contextmanager
def client_of_a_command() -> Iterator[None]:
    """The Hub's client while a command runs: its warnings are not shown.

    It warns of each try of its own; what they come to is our one line. Whoever asked it for more (``HF_DEBUG``,
    ``HF_HUB_VERBOSITY=info``) gets that.
    """
    from crayon_hf.hub_access import client

    logging = client.library().utils.logging
    before = logging.get_verbosity()
    if before == logging.WARNING:
        logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)


def pull(arguments: argparse.Namespace) -> int:
    """A repository on the Hub to a profile."""
    from crayon_hf.hub.pulling import pull as pull_profile

    if arguments.directory == "":
        raise UsageError("--directory: the name of the directory is empty")
    given = {key: getattr(arguments, key) for key in ("name", "token", "directory", "force")}
    with client_of_a_command():
        pulled = pull_profile(arguments.repo, **given)
    if pulled.reason is not None:
        print(f"crayon-hf: compiled here: {' '.join(pulled.reason.split())}", file=sys.stderr)
    if arguments.json:
        facts = {**pulled._asdict(), "cartridge": str(pulled.cartridge), "source": str(pulled.source)}
        print_line(json.dumps(facts, ensure_ascii=False))
        return 0
    done = "pulled" if pulled.changed else "unchanged:"
    print_line(
        f"{done} {pulled.repo}@{pulled.revision} (commit {pulled.commit[:12]}), profile {pulled.name}: "
        f"{pulled.cartridge}"
    )
    return 0
