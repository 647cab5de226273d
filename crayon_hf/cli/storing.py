"""The command ``cache``: the size of the compiled cartridges on this machine, and their removal."""

from __future__ import annotations

from click import Choice

from crayon_hf.cli.arguments import JSON, Arguments, argument, command
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.util.numbers import shown_size
from crayon_hf.util.wording import plural


@command("cache", examples=(("crayon-hf cache", "directory and size"), ("crayon-hf cache clear", "remove everything")))
@argument("action", type=Choice(("size", "clear")), default="size", help="show the size (default), or remove all")
@JSON
def cache(arguments: Arguments) -> int:
    """Shows the directory and size of the cache of compiled cartridges, or clears it.

    They are compiled again when needed. Profiles are not in the cache.

    CRAYON_CACHE_DIR sets the directory, CRAYON_CACHE_BYTES (such as 500M) its size limit.
    """
    from crayon_hf.cartridges.cache import cache_directory, clear, most_bytes, usage

    action = clear if arguments.action == "clear" else usage
    files, size = action()
    facts = {"directory": cache_directory(), "files": files, "bytes": size, "most_bytes": most_bytes()}
    if arguments.json:
        print_line(as_json({**facts, "cleared": arguments.action == "clear"}))
    elif arguments.action == "clear":
        print_line(f"removed {plural(files, 'file')}, {shown_size(size)}, from {facts['directory']}")
    else:
        print_line(
            f"{facts['directory']}: {plural(files, 'file')}, {shown_size(size)} of {shown_size(most_bytes())} at most"
        )
    return 0
