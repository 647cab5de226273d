"""``python -m crayon_hf`` is the command ``crayon-hf``."""

import sys

from crayon_hf.cli import main

if __name__ == "__main__":
    sys.exit(main())
