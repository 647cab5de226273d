"""The command ``publish``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crayon_hf.cli.arguments import JSON, Arguments, argument, command, option
from crayon_hf.cli.hub import client_of_a_command
from crayon_hf.cli.output import as_json, print_line, say
from crayon_hf.util.wording import joined, plural

if TYPE_CHECKING:
    from crayon_hf.hub.publishing import Published


@command(
    "publish",
    examples=(
        ("crayon-hf publish user/name --from my-model/", "one commit"),
        ("crayon-hf publish user/name --from my-model/ --dry-run card/", "look at it first"),
    ),
)
@argument("repo", help="user/name")
@option(
    *("--from", "source"),
    metavar="SOURCE",
    help="a source as for convert, or the name of a profile (default: the tokenizer of REPO)",
)
@option("--report", metavar="FILE", help="use this parity.json of crayon-hf parity instead of comparing")
@option("--no-speed", is_flag=True, help="measure no speed, and draw no plot")
@option("--private", is_flag=True, default=None, help="make a new repository private")
@option("--revision", metavar="BRANCH", help="commit to this branch (default: main)")
@option("--create-pr", is_flag=True, help="open a pull request instead")
@option("--message", help="the commit message")
@option("--license", metavar="ID", help="the licence of the tokenizer (default: that of its source)")
@option("--base-tokenizer", metavar="REPO", help="the repository that the tokenizer comes from")
@option("--token", help="a Hub token with write access (default: that of huggingface_hub)")
@option("--dry-run", metavar="DIR", help="write all files into a directory, and nothing to the Hub")
@JSON
def publish(arguments: Arguments) -> int:
    """Uploads a tokenizer, its cartridge, a model card and its parity report to a repository, in one commit.

    Creates the repository if it does not exist. Uses the token of huggingface_hub (HF_TOKEN, or hf auth login). The
    plot of speeds needs matplotlib; --no-speed leaves it out.
    """
    from dataclasses import asdict

    from crayon_hf.hub.publishing import publish as publish_tokenizer

    with client_of_a_command():
        given = {name: value for name, value in vars(arguments).items() if name not in ("repo", "source", "json")}
        speed = not given.pop("no_speed")
        published = publish_tokenizer(arguments.repo, arguments.source, speed=speed, progress=say, **given)
    for note in published.notes:
        say(f"note: {note}")
    print_line(as_json(asdict(published)) if arguments.json else _told(published))
    return 0


def _told(published: Published) -> str:
    if published.commit is None:
        return f"wrote {plural(len(published.files), 'file')}, nothing was uploaded: {', '.join(published.files)}"
    place = f"{published.repo}@{published.revision}"
    if not published.files:
        return f"{place} has all of it, nothing was changed: {published.url}"
    return f"published {joined(published.files)} to {place}: {published.url}"
