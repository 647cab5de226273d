"""``python -m crayon_hf`` is the command ``crayon-hf``; followed by a program it is ``crayon-hf run``."""

import sys

from crayon_hf.cli import main
from crayon_hf.cli.running import is_program

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]] if is_program(sys.argv[1:]) else None))
