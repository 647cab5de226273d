"""The command ``pull``, and what it has in common with ``publish``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator

from crayon_hf.cli.arguments import UsageError
from crayon_hf.cli.commands import print_line
from crayon_hf.errors import CrayonError


@contextlib.contextmanager
def client_of_a_command() -> Iterator[None]:
    """The Hub's client while a command runs: a package that is missing is one line, and its warnings are not shown.

    It warns of each try of its own; what they come to is our one line. Whoever asked it for more (``HF_DEBUG``,
    ``HF_HUB_VERBOSITY=info``) gets that.
    """
    from crayon_hf.hub import client

    try:
        logging = client.library().utils.logging
        before = logging.get_verbosity()
        if before == logging.WARNING:
            logging.set_verbosity(logging.ERROR)
        try:
            yield
        finally:
            logging.set_verbosity(before)
    except ImportError as error:
        raise CrayonError(str(error)) from error


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
