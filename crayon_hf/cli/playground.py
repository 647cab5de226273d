"""``crayon-hf playground``: an interactive page of a text's tokens, served from this machine."""

from __future__ import annotations

import sys

from click import IntRange

from crayon_hf.cli.arguments import DEFAULT, NAMED, Arguments, UsageError, argument, command, complete_names, option
from crayon_hf.cli.output import print_line, say
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.util.wording import plural


@command(
    "playground",
    examples=(
        ("crayon-hf playground", "prints the address of the page"),
        ("crayon-hf playground lite gpt2 user/name --open", "three tokenizers side by side, in the browser"),
    ),
)
@argument(
    "tokenizer", nargs=-1, shell_complete=complete_names, help=f'{NAMED}; up to four (default: the profile "lite")'
)
@option("--text", metavar="TEXT", help="the text that the page begins with")
@option("--port", type=IntRange(0, 65535), default=0, help="the port (default: a free one)")
@option("--open", is_flag=True, help="open the page in the browser")
def playground(arguments: Arguments) -> int:
    """Serves a page that shows a text's tokens while you type, for up to four tokenizers side by side.

    Click a token to see the merges that produced it. A switch compares the ids with the reference library's. The server
    listens on this machine only, at the address that it prints. Press Ctrl-C to stop it.
    """
    from crayon_hf.display.tokens import SAMPLE
    from crayon_hf.playground.requests import MOST_NAMES
    from crayon_hf.playground.server import Server
    from crayon_hf.playground.session import Session

    names = list(arguments.tokenizer) or [DEFAULT]
    if len(names) > MOST_NAMES:
        raise UsageError(f"the page shows up to {plural(MOST_NAMES, 'tokenizer')}, not {len(names)}")
    session = Session(local_name)
    for name in names:
        session.open(name)  # fail before the server starts
    with Server(session, names, SAMPLE if arguments.text is None else arguments.text, arguments.port) as server:
        print_line(server.address)
        sys.stdout.flush()
        say("serving the page at this address; press Ctrl-C to stop")
        if arguments.open:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()
    return 0
