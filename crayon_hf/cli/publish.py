"""The command ``publish``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from crayon_hf.cli.arguments import add_command
from crayon_hf.cli.hub import client_of_a_command
from crayon_hf.cli.output import print_line

if TYPE_CHECKING:
    from crayon_hf.hub.publishing import Published


def add_publish(subparsers: Any) -> None:
    """What ``publish`` takes."""
    command = add_command(
        subparsers,
        "publish",
        publish,
        "publish a tokenizer to the Hub",
        "Uploads a tokenizer, its cartridge (the compiled vocabulary), a model card and its parity report to a "
        "repository, in one commit.\n\nCreates the repository if it does not exist. Uses the token of huggingface_hub "
        "(HF_TOKEN, or hf auth login). The plot of speeds needs matplotlib; --no-speed leaves it out.",
        (
            ("crayon-hf publish user/name --from my-model/", "one commit"),
            ("crayon-hf publish user/name --from my-model/ --dry-run card/", "look at it first"),
        ),
    )
    command.add_argument("repo", metavar="REPO", help="user/name")
    command.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        help="what convert reads, or the name of a profile (default: the tokenizer that REPO has)",
    )
    command.add_argument(
        "--report", metavar="FILE", help="use this parity.json of crayon-hf parity instead of comparing"
    )
    command.add_argument("--no-speed", action="store_true", help="measure no speed, and draw no plot")
    command.add_argument("--private", action="store_true", default=None, help="make a new repository private")
    command.add_argument("--revision", metavar="BRANCH", help="commit to this branch (default: main)")
    command.add_argument("--create-pr", action="store_true", help="open a pull request instead")
    command.add_argument("--message", help="the commit message")
    command.add_argument("--license", metavar="ID", help="the licence of the tokenizer (default: what its source says)")
    command.add_argument("--base-tokenizer", metavar="REPO", help="the repository that the tokenizer comes from")
    command.add_argument("--token", help="a Hub token that may write (default: that of huggingface_hub)")
    command.add_argument("--dry-run", metavar="DIR", help="write all files into a directory, and nothing to the Hub")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def publish(arguments: argparse.Namespace) -> int:
    """A tokenizer to a repository on the Hub."""
    from dataclasses import asdict

    from crayon_hf.hub.publishing import publish as publish_tokenizer

    with client_of_a_command():
        published = publish_tokenizer(
            arguments.repo,
            arguments.source,
            revision=arguments.revision,
            private=arguments.private,
            token=arguments.token,
            message=arguments.message,
            create_pr=arguments.create_pr,
            license=arguments.license,
            base_tokenizer=arguments.base_tokenizer,
            report=arguments.report,
            speed=not arguments.no_speed,
            dry_run=arguments.dry_run,
            progress=_say,
        )
    for note in published.notes:
        _say(f"note: {note}")
    if arguments.json:
        print_line(json.dumps(asdict(published), ensure_ascii=False))
    else:
        sys.stdout.buffer.write(os.fsencode(_told(published)) + b"\n")
    return 0


def _told(published: Published) -> str:
    if published.commit is None:
        return f"wrote {len(published.files)} files, nothing was uploaded: {' '.join(published.files)}"
    place = f"{published.repo}@{published.revision}"
    if not published.files:
        return f"{place} has all of it, nothing was changed: {published.url}"
    return f"published {', '.join(published.files)} to {place}: {published.url}"


def _say(line: str) -> None:
    """What goes on, on standard error."""
    sys.stderr.write(f"crayon-hf: {' '.join(line.split())}\n")
    sys.stderr.flush()
