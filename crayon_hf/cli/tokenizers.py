"""Open the tokenizer that ``-t`` names, on this machine or in a repository of the Hub."""

from __future__ import annotations

from crayon_hf.errors import HubError
from crayon_hf.formats.names import NameKind, meaning_of, resolve
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer


def open_named(name: str, mode: str = "exact") -> Tokenizer:
    """Open a tokenizer by its name or path."""
    return open_tokenizer(local_name(name), mode)


def local_name(name: str) -> str:
    """An unambiguous local name for a tokenizer. The files of a Hub repository are fetched into a directory.

    Raises:
        HubError: The repository cannot be fetched.
        Exception: The errors of `resolve`.
    """
    meaning = resolve(name)
    if meaning.kind is NameKind.REPOSITORY:
        return _fetched(name)
    return meaning.path or name if meaning.kind is NameKind.PATH else name


def plain_name(name: str) -> str:
    """The name of a tokenizer in output, without a prefix such as ``profile:``."""
    return meaning_of(name).name


def _fetched(name: str) -> str:
    """The directory with a repository's tokenizer files, from the Hub or the cache of its client."""
    from crayon_hf.cli.hub import client_of_a_command
    from crayon_hf.hub_access import client, staging

    with client_of_a_command():
        place = client.parse(name)
        try:
            listing = client.listing(place)
        except HubError as error:
            raise HubError(f"{error} (nor is {name!r} a local file)") from error
        wanted = staging.files_to_read(listing)
        if not wanted:
            raise HubError(f"{place}: the repository has no tokenizer")
        return client.fetch(place, listing, wanted)
