"""Hooks for the import of another library, and their removal."""

from __future__ import annotations

from pathlib import Path

from tests.support.child import said_by

PROGRAM = """
import pickle, sys

def waiting():
    return sorted(finder.module for finder in sys.meta_path if "crayon" in type(finder).__module__)

import crayon_hf
first = waiting()
for name in [name for name in sys.modules if name.partition(".")[0] == "crayon_hf"]:
    del sys.modules[name]
from crayon_hf.util.import_hooks import when_imported
import crayon_hf
assert waiting() == first, waiting()

done = []
when_imported("waited_for", "ready", lambda: done.append(sys.modules["waited_for"].ready))
import waited_for
assert done == [1]
assert waiting() == first, waiting()
pickle.dumps(waited_for.__loader__)
"""


def test_nothing_stays(tmp_path: Path) -> None:
    """A hook waits in sys.meta_path only once, even if crayon_hf is imported anew. After the awaited import it is gone,
    and the module's loader is unchanged."""
    (tmp_path / "waited_for.py").write_text("ready = 1\n", encoding="utf-8")
    said_by(PROGRAM, path=tmp_path)
