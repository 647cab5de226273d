"""The check of a model card's metadata that the Hub makes before a commit (`/api/validate-yaml`).

The rules are those of the Hub's documentation, "Model cards", and its list of license identifiers.
"""

from __future__ import annotations

import re
from typing import Any

_LICENSES = """
apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0 bigcode-openrail-m
afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5
cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0
cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0
lgpl lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl
openmdw-1.0 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl lgpl-lr deepfloyd-if-license
fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3 llama4 grok2-community gemma unknown
other
"""
LICENSES = frozenset(_LICENSES.split())
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")
_STRINGS = ("library_name", "pipeline_tag", "license_name", "license_link", "model_name")
_LISTS = ("tags", "datasets", "metrics", "language", "license", "base_model", "new_version")


def metadata(text: str) -> dict[str, Any]:
    """What the front matter of a README.md says; empty without one. Raises ValueError for what cannot be read."""
    import yaml

    found = _FRONT.match(text)
    if found is None:
        return {}
    try:
        data = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        raise ValueError(f"YAML metadata error: {error}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ValueError("YAML metadata must be a mapping")
    return data


def check(text: str) -> tuple[list[str], list[str]]:
    """The errors and the warnings that the Hub has for a README.md."""
    try:
        data = metadata(text)
    except ValueError as error:
        return [str(error)], []
    if not data:
        return [], ["empty or missing yaml metadata in repo card"]
    errors = [f'"{name}" must be a string' for name in _STRINGS if not isinstance(data.get(name, ""), str)]
    for name in _LISTS:
        values = listed(data.get(name))
        if not all(isinstance(value, str) and value for value in values):
            errors.append(f'"{name}" must be a string or an array of strings')
        elif name == "tags" and "tags" in data and not isinstance(data["tags"], list):
            errors.append('"tags" must be an array')
        elif name == "license" and not LICENSES.issuperset(values):
            errors.append(f'"license" must be one of {sorted(LICENSES)}')
        elif name in ("base_model", "datasets", "new_version") and not all(map(_REPO.fullmatch, values)):
            errors.append(f'"{name}" with value {values} is not valid. Use a repository id from hf.co')
    return errors, []


def listed(value: Any) -> list[Any]:
    """A value that may be one or several, as several."""
    return value if isinstance(value, list) else [] if value is None else [value]


def tags(data: dict[str, Any]) -> list[str]:
    """The tags that the Hub shows for a card's metadata."""
    found = [str(tag) for tag in listed(data.get("tags"))]
    if data.get("library_name"):
        found.insert(0, str(data["library_name"]))
    found += [f"license:{name}" for name in listed(data.get("license"))]
    found += [f"base_model:{name}" for name in listed(data.get("base_model"))]
    return list(dict.fromkeys(found))
