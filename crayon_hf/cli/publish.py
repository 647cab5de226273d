"""The command ``publish``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from crayon_hf.cli.commands import print_line
from crayon_hf.cli.hub import client_of_a_command

if TYPE_CHECKING:
    from crayon_hf.hub.publishing import Published


def publish(arguments: argparse.Namespace) -> int:
    """A tokenizer to a repository on the Hub."""
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
