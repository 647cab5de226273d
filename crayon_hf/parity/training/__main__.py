"""``python -m crayon_hf.parity.training``."""

import sys

from crayon_hf.parity.training.command import main

sys.exit(main())
