"""Print the share of each kind and language in the text of a profile, from the manifest.json of a corpus."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from crayon_hf.util import markdown

KINDS = {"prose": "English prose", "code": "code", "maths": "mathematics", "language": "other languages"}


def table(manifest: dict[str, Any]) -> str:
    """Return a table with the megabytes and the share of each kind of text, and of each language within a kind."""
    rows = []
    for kind, name in KINDS.items():
        groups = manifest["groups"].get(kind, {})
        size = sum(groups.values())
        packages = len({s["package"] for s in manifest["sources"] if s["kind"] == kind})
        shown = ", ".join(f"{group} {n / 1e6:.1f}" for group, n in groups.items()) if len(groups) > 1 else ""
        what = f"{packages} packages" + (f"; {len(groups)} languages: {shown}" if shown else "")
        rows.append((name, f"{size / 1e6:.1f}", f"{size / manifest['bytes']:.1%}", what))
    return markdown.table(("kind", "MB", "share", "content"), rows)


def main() -> None:
    print(table(json.loads(Path(sys.argv[1]).read_text())))


if __name__ == "__main__":
    main()
