"""``python -m crayon_hf.parity.components``."""

import sys

from crayon_hf.parity.components.command import main

sys.exit(main())
