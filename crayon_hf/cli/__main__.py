import sys

from crayon_hf.cli import main

sys.exit(main())
