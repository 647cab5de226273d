"""The command ``cache``: the size of the compiled cartridges on this machine, and their removal."""

from __future__ import annotations

import argparse
from typing import Any

from crayon_hf.cli.arguments import add_command
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.util.numbers import shown_size


def add_cache(subparsers: Any) -> None:
    """What ``cache`` takes."""
    command = add_command(
        subparsers,
        "cache",
        cache,
        "show or clear the cache of compiled vocabularies",
        "Shows where compiled cartridges are kept, and their size, or removes them. They are compiled again when "
        "needed. Profiles are not in the cache.\n\n"
        "CRAYON_CACHE_DIR sets the directory, CRAYON_CACHE_BYTES (such as 500M) its largest size.",
        (("crayon-hf cache", "where, and how large"), ("crayon-hf cache clear", "remove all of it")),
    )
    command.add_argument("action", nargs="?", choices=("size", "clear"), default="size", help="default: %(default)s")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def cache(arguments: argparse.Namespace) -> int:
    """The size of the cache, or nothing of it any more."""
    from crayon_hf.cartridges.cache import cache_directory, clear, most_bytes, usage

    action = clear if arguments.action == "clear" else usage
    files, size = action()
    facts = {"directory": cache_directory(), "files": files, "bytes": size, "most_bytes": most_bytes()}
    if arguments.json:
        print_line(as_json({**facts, "cleared": arguments.action == "clear"}))
    elif arguments.action == "clear":
        print_line(f"removed {files} files, {shown_size(size)}, from {facts['directory']}")
    else:
        print_line(f"{facts['directory']}: {files} files, {shown_size(size)} of {shown_size(most_bytes())} at most")
    return 0
