"""Pictures of each command's help on a colour terminal of 100 columns: build/help/*.svg (`make help-pictures`)."""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 100


def commands() -> list[list[str]]:
    """Return the arguments of each picture: the overall help, and that of each command."""
    from crayon_hf.cli.parser import COMMANDS

    return [["--help"], *([name, "--help"] for name in COMMANDS)]


def shown(arguments: Sequence[str], **environment: str) -> str:
    """Return the command's output on a terminal, with colours."""
    main, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), **environment}
    if "NO_COLOR" not in environment:
        env.pop("NO_COLOR", None)
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "crayon_hf", *arguments], stdout=terminal, stderr=terminal, env=env
    )
    os.close(terminal)
    data = b"".join(_blocks(main))
    os.close(main)
    if process.wait() != (0 if arguments else 2):  # 2: no command was given
        raise RuntimeError(f"crayon-hf {' '.join(arguments)} ends with {process.returncode}: {data.decode()}")
    return data.decode().replace("\r\n", "\n")


def _blocks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            block = os.read(terminal, 1 << 16)
        except OSError:  # Linux: the command has closed its end of the terminal
            return
        if not block:
            return
        yield block


def picture(arguments: Sequence[str], text: str) -> str:
    """Return an SVG of a terminal with the command and its output."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="256")
    line = " ".join(["crayon-hf", *arguments])
    console.print(Text.from_ansi(f"$ {line}\n{text}"))
    drawn = console.export_svg(title=line, unique_id="help")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # fonts would be loaded from the network


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "build" / "help", help="default: %(default)s")
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    for arguments in commands():
        name = arguments[0] if len(arguments) > 1 else "crayon-hf"
        (directory / f"{name}.svg").write_text(picture(arguments, shown(arguments)), encoding="utf-8")
    print(f"wrote {len(commands())} pictures into {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
