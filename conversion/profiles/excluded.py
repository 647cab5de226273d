"""Lines of benchmark and evaluation texts that collect.py found in its sources with --exclude: excluded.bin.

A line's key is the first KEY_SIZE bytes of the BLAKE2b hash of the stripped line. The file has the sorted keys. `python
-m conversion.profiles.excluded MANIFEST...` adds the keys that manifests list.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

KEY_SIZE = 6
FILE = Path(__file__).parent / "excluded.bin"


def key(line: str) -> bytes:
    """Return the key of a stripped line."""
    return hashlib.blake2b(line.encode(), digest_size=KEY_SIZE).digest()


def excluded_keys() -> set[bytes]:
    """Return the keys in excluded.bin, of the lines to leave out."""
    data = FILE.read_bytes() if FILE.exists() else b""
    return {data[i : i + KEY_SIZE] for i in range(0, len(data), KEY_SIZE)}


def main() -> None:
    keys = excluded_keys()
    for path in sys.argv[1:]:
        keys.update(bytes.fromhex(k) for k in json.loads(Path(path).read_text())["excluded"])
    FILE.write_bytes(b"".join(sorted(keys)))
    print(f"{FILE.name}: {len(keys)} lines, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
