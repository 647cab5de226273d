"""``python -m parity.training``."""

import sys

from parity.training.command import main

sys.exit(main())
