"""What ``-t`` names: a tokenizer on this machine, or a repository of the Hub, whose files are fetched once."""

from __future__ import annotations

from crayon_hf.errors import HubError
from crayon_hf.formats.name_hints import is_repository
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer

NAMED = "a profile, a path, an encoding of tiktoken, or a repository of the Hub (user/name)"


def open_named(name: str, mode: str = "exact") -> Tokenizer:
    """The tokenizer that a name or a path means."""
    return open_tokenizer(local_name(name), mode)


def local_name(name: str) -> str:
    """The name itself; for a repository of the Hub the directory that its tokenizer files are in. HubError."""
    if not is_repository(name):
        return name
    from crayon_hf.cli.hub import client_of_a_command
    from crayon_hf.hub_access import client, staging

    with client_of_a_command():
        place = client.parse(name)
        try:
            listing = client.listing(place)
        except HubError as error:
            raise HubError(f"{error} (there is no file {name!r} here either)") from error
        wanted = staging.files_to_read(listing)
        if not wanted:
            raise HubError(f"{place}: the repository has no tokenizer")
        return client.fetch(place, listing, wanted)
