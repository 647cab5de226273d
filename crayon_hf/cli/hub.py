"""The command ``pull``, and quieter logs of the Hub's client library for all commands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from crayon_hf.cli.arguments import JSON, Arguments, UsageError, argument, command, option
from crayon_hf.cli.output import as_json, print_line, say


@contextlib.contextmanager
def client_of_a_command() -> Iterator[None]:
    """Silence warnings of the Hub's client while a command runs.

    The client warns of each failed try, and the command reports the result in one line. Users who set ``HF_DEBUG`` or
    ``HF_HUB_VERBOSITY=info`` still get the warnings.
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


@command(
    "pull",
    examples=(
        ("crayon-hf pull user/name", 'the profile "name"'),
        ("crayon-hf pull user/name@v1 --name old", "a tag, under another name"),
    ),
)
@argument("repo", metavar="REPO[@REVISION]", help="user/name; a branch, a tag or a commit after the @")
@option("--name", help="the name of the profile (default: that of the repository)")
@option("--token", help="a Hub token (default: that of huggingface_hub)")
@option("--directory", metavar="DIR", help="another directory of profiles")
@option("--force", is_flag=True, help="replace a profile of that name from another source")
@JSON
def pull(arguments: Arguments) -> int:
    """Makes a profile of a repository.

    It uses the repository's cartridge if it is valid and matches the tokenizer.json. Otherwise it compiles one.

    The token, the cache and offline mode are those of huggingface_hub (HF_TOKEN, HF_HOME, HF_HUB_OFFLINE). The profile
    is stored in the first entry of CRAYON_PROFILE_DIR, else in ~/.cache/xerv/crayon/profiles.
    """
    from crayon_hf.hub.pulling import pull as pull_profile

    if arguments.directory == "":
        raise UsageError("--directory: the name of the directory is empty")
    given = {key: getattr(arguments, key) for key in ("name", "token", "directory", "force")}
    with client_of_a_command():
        pulled = pull_profile(arguments.repo, **given)
    if pulled.reason is not None:
        say(f"compiled here: {pulled.reason}")
    if arguments.json:
        facts = {**pulled._asdict(), "cartridge": str(pulled.cartridge), "source": str(pulled.source)}
        print_line(as_json(facts))
        return 0
    done = "pulled" if pulled.changed else "unchanged:"
    print_line(
        f"{done} {pulled.repo}@{pulled.revision} (commit {pulled.commit[:12]}), profile {pulled.name}: "
        f"{pulled.cartridge}"
    )
    return 0
