"""``crayon-hf playground``: a page on which tokens of a text can be looked at, served from this machine."""

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
@option("--port", type=IntRange(0, 65535), default=0, help="the port (default: any that is free)")
@option("--open", is_flag=True, help="open the page in the browser")
def playground(arguments: Arguments) -> int:
    """Serves a page that shows the tokens of a text while you type, of up to four tokenizers side by side.

    A click on a token shows the merges that made it, and a switch compares the ids with those of the reference library.
    The server takes requests of this machine alone, from the address that it prints. Ctrl-C ends it.
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
        session.open(name)  # what cannot be opened is an error here, before there is a page
    with Server(session, names, SAMPLE if arguments.text is None else arguments.text, arguments.port) as server:
        print_line(server.address)
        sys.stdout.flush()
        say("the page is at this address until Ctrl-C")
        if arguments.open:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()
    return 0
