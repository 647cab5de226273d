"""Environments of clients: large packages are shared, the others belong to one client."""

from __future__ import annotations

from pathlib import Path

from clients.client import Client

from parity import environments

__all__ = ["ROOT", "environment", "shared_environment"]

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ("torch==2.13.0",)
"""The build for CPUs: pip's default brings gigabytes for GPUs."""
SHARED = (
    *CONSTRAINTS,
    "transformers==5.23.0",
    "tokenizers==0.23.3",
    "tiktoken==0.14.0",
    "accelerate",
    "datasets",
    "huggingface_hub",
    "jinja2",
    "numpy",
    "openai",
    "pandas",
    "protobuf",
    "pyarrow",
    "pydantic",
    "scikit-learn",
    "scipy",
    "sentencepiece",
)
"""Packages that most clients require. A client that requires another version has it in its own environment."""


def shared_environment(cache: Path) -> Path:
    """Make the shared environment if necessary, whose packages all clients' environments can import. Return its
    Python."""
    return environments.environment(cache / "base", [*SHARED, *_constraints(cache)], sees=[ROOT, ROOT / "tools"])


def environment(client: Client, cache: Path) -> Path:
    """Make the client's environment if necessary, and return its Python. OSError if pip fails."""
    shared = environments.packages_of(shared_environment(cache))
    # pip resolves the requirements of transformers together with the client's
    besides = [] if any(each.startswith("transformers") for each in client.packages) else ["transformers"]
    wanted = [*client.packages, *besides, *_constraints(cache)] if client.packages else []
    home = cache / "environments" / client.distribution
    return environments.environment(home, wanted, client.no_deps, [shared, ROOT, ROOT / "tools"])


def _constraints(cache: Path) -> list[str]:
    path = cache / "constraints.txt"
    path.write_text("\n".join(CONSTRAINTS) + "\n", encoding="utf-8")
    return ["-c", str(path)]
