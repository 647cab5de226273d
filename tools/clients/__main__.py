"""Runs libraries that use tokenizers ("clients") with the stock tokenizers library and with ours: `make clients`.

Each client is a script in ``tools/clients/scripts``. Its `CLIENT` says what pip installs and how ours is used instead
of stock; its ``tasks(kit)`` yields names and calls. Environments, results and logs are kept in a cache directory and
reused. docs/compatibility.md is written from all results there. The exit status is 1 if results differ, or if ours is
slower, or if a client could not be run.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import clients.scripts
from clients import page
from clients.client import Client
from clients.environments import ROOT, SHARED, environment, shared_environment
from clients.measuring import Outcome, measure


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clients", description=__doc__.partition("\n")[0])
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="names of scripts; default: all of them")
    parser.add_argument("--cache", type=Path, default=_cache(), help="where environments are kept (%(default)s)")
    parser.add_argument("--rounds", type=int, help="how often each side is timed; 0: results are compared alone")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "compatibility.md")
    options = parser.parse_args(arguments)
    cache: Path = options.cache.absolute()
    cache.mkdir(parents=True, exist_ok=True)
    base = shared_environment(cache)
    subprocess.run([base, "-m", "clients.vocabularies", cache / "vocabularies"], check=True, cwd=cache)
    subprocess.run([base, "-m", "clients.models", cache / "models", cache / "vocabularies"], check=True, cwd=cache)
    known = sorted(each.name for each in pkgutil.iter_modules(clients.scripts.__path__))
    found: list[str] = []
    for script in options.scripts or known:
        client: Client = importlib.import_module(f"clients.scripts.{script}").CLIENT
        begin = time.monotonic()
        try:
            python = environment(client, cache)
        except OSError as error:
            outcome = Outcome(client.name, client.put_in, client.note, not_run=f"pip: {error}")
        else:
            outcome = measure(client, script, python, cache, options.rounds)
        outcome.save(cache / "results" / f"{script}.json")
        found += page.problems(outcome)
        print(f"{page.row(outcome)}  ({time.monotonic() - begin:.0f} s)", flush=True)
    _write(options.page, cache / "results", known)
    print("\n".join(found))
    return 1 if found else 0


def _write(target: Path, results: Path, scripts: list[str]) -> None:
    """Write the page from all kept results."""
    kept = {script: results / f"{script}.json" for script in scripts}
    outcomes = [Outcome.load(path) for path in kept.values() if path.exists()]
    missing = [script for script, path in kept.items() if not path.exists()]
    versions = ", ".join(each.replace("==", " ") for each in SHARED if "==" in each)
    target.write_text(page.page(outcomes, page.machine(versions), missing), encoding="utf-8")


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "crayon-hf-clients")


if __name__ == "__main__":
    sys.exit(main())
