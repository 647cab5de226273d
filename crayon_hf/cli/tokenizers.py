"""What ``-t`` names: a tokenizer on this machine, or a repository of the Hub, whose files are fetched once."""

from __future__ import annotations

from crayon_hf.errors import HubError
from crayon_hf.formats.names import NameKind, meaning_of, resolve
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer


def open_named(name: str, mode: str = "exact") -> Tokenizer:
    """The tokenizer that a name or a path means."""
    return open_tokenizer(local_name(name), mode)


def local_name(name: str) -> str:
    """A name that means the same and nothing else; for a repository of the Hub its directory of tokenizer files.

    HubError, and what `resolve` raises.
    """
    meaning = resolve(name)
    if meaning.kind is NameKind.REPOSITORY:
        return _fetched(name)
    return meaning.path or name if meaning.kind is NameKind.PATH else name


def plain_name(name: str) -> str:
    """How output calls a tokenizer: the name without a prefix."""
    return meaning_of(name).name


def _fetched(name: str) -> str:
    """The directory of the tokenizer files of a repository, from the Hub or the cache of its client."""
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
