"""Runs programs in child processes with a prologue that detects execution of foreign code and network access.

An audit hook sees the interpreter's actions: https://docs.python.org/3/library/audit_events.html.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = '''
import sys
guarded, seen = None, []
"""Once it is set: the directory from which nothing is to be run; and what was, all the same."""

STARTS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "subprocess.Popen")

def hook(event, arguments):
    if event.startswith("socket.") and event != "socket.__new__" and network_is_forbidden:
        seen.append(f"{event} {arguments[1:]}")
    if guarded is None:
        return
    if event in STARTS or event == "pickle.find_class":
        seen.append(f"{event} {arguments}")
    elif event == "exec" and str(arguments[0].co_filename).startswith(guarded):
        seen.append(f"{event} {arguments[0].co_filename}")
    elif event == "compile" and str(arguments[1]).startswith(guarded):
        seen.append(f"{event} {arguments[1]}")
    elif event in ("import", "ctypes.dlopen") and any(str(a).startswith(guarded) for a in arguments[:2]):
        seen.append(f"{event} {arguments[:2]}")

network_is_forbidden = False
sys.addaudithook(hook)
'''


def run(program: str, *arguments: Any, cwd: Path, prefix: tuple[str, ...] = (), **environment: str) -> str:
    """Run a program after the prologue, and return its output. The program must succeed. It does not get HF_HUB_OFFLINE
    and proxies from the environment."""
    dropped = ("HF_", "TRANSFORMERS_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    passed = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    passed["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    # A file, not -c: its directory comes first in sys.path.
    script = cwd.parent / f"{cwd.name}-program" / "main.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(PROGRAM + program, encoding="utf-8")
    command = [*prefix, sys.executable, str(script), *map(str, arguments)]
    given = {**passed, "HF_HOME": str(cwd.parent / "huggingface"), **environment}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(command, cwd=cwd, env=given, timeout=1200, **streams)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
