"""Check that `AutoTokenizer` would use a cartridge: a fresh process opens the files to publish, with an empty cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

from crayon_hf.errors import CrayonError
from crayon_hf.formats.repository import JSON
from crayon_hf.hub_access.staging import write_files

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import crayon_hf
try:
    tokenizer = crayon_hf.AutoTokenizer.from_pretrained(sys.argv[2])
    said = {"class": type(tokenizer).__name__, "report": getattr(tokenizer, "engine_report", dict)()}
except Exception as error:
    said = {"error": str(error) or type(error).__name__}
print(json.dumps(said))
"""


class Use(NamedTuple):
    """How `AutoTokenizer` opened the files."""

    refused: str | None
    """Why `AutoTokenizer` does not use the cartridge. None if it uses the cartridge or cannot open the files."""
    note: str | None
    """A remark for the publisher: why the check was skipped, or why the files cannot be opened."""


def check_use(files: Mapping[str, bytes]) -> Use:
    """Open the files of a repository like a user who has just downloaded them."""
    if find_spec("transformers") is None:
        return Use(None, "transformers is not installed: whether AutoTokenizer uses the cartridge was not tried")
    with tempfile.TemporaryDirectory(prefix="crayon-publish-") as work:
        place = os.path.join(work, "repository")
        write_files(place, files)
        environment = {**os.environ, "CRAYON_CACHE_DIR": os.path.join(work, "cache"), "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, "-W", "ignore", "-c", _PROGRAM, json.dumps(sys.path), place]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
    try:
        said = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise CrayonError(f"a fresh process could not open the files to be published: {last[0]}") from None
    if "error" in said:
        return Use(None, f"AutoTokenizer does not open the published {JSON}: {said['error'].splitlines()[0]}")
    report = said["report"]
    if report.get("origin") == "repository":
        return Use(None, None)
    why = report.get("refused") or report.get("reason") or "it builds its tokenizer without it"
    return Use(f"{said['class']}: {why}", None)
