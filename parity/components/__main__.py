"""``python -m parity.components``."""

import sys

from parity.components.command import main

sys.exit(main())
