"""Messages of a build without a GPU engine: why the engine is missing, and the command that installs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import Tokenizer, _core, cli
from crayon_hf.device import devices, engines
from crayon_hf.errors import DeviceUnavailableError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="built on Linux only")

FAILED = 'nvcc failed: cuda/device.cu(2): error: identifier "x" is undefined'


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the file in which a build records its GPU engines; it does not exist yet. The build has no GPU
    engines, and the machine no drivers."""
    monkeypatch.setattr(engines, "RECORD", tmp_path / "engines.json")
    monkeypatch.setattr(engines, "_DRIVERS", {"cuda": (), "rocm": (str(tmp_path / "kfd"),)})
    monkeypatch.delenv("CRAYON_DEVICE", raising=False)
    for module in ("crayon_hf._cuda", "crayon_hf._hip"):
        monkeypatch.setitem(sys.modules, module, None)
    return tmp_path / "engines.json"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the metadata of an installed crayon_hf 9.8, which hides that of the repository."""
    info = tmp_path / "crayon_hf-9.8.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: crayon-hf\nVersion: 9.8\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(engines, "_ROOT", tmp_path)
    return info / "direct_url.json"


def write(path: Path, **said: Any) -> None:
    path.write_text(json.dumps(said), encoding="utf-8")


def test_why_and_how(recorded: Path) -> None:
    again = f"pip install -e {Path(__file__).resolve().parents[2]}"
    no_engine = "this build has no engine for cuda"
    for text in (None, "no JSON", "[]", "{}"):
        if text is not None:
            recorded.write_text(text)
        assert engines.why_missing("cuda") == f"{no_engine}; CRAYON_BUILD=cuda {again} builds one"
    write(recorded, cuda={"left_out": "nvcc was not found when it was built"})
    why = f"{no_engine} (nvcc was not found when it was built); CRAYON_BUILD=cuda {again} builds one"
    assert devices.why_not("cuda", 0) == why
    with pytest.raises(DeviceUnavailableError) as error:
        Tokenizer.from_profile("lite").to("cuda")
    assert str(error.value).startswith(f"cuda:0: {why}; ")
    write(recorded, cuda={"failed": FAILED}, rocm={"architectures": ["gfx90a"]})
    assert engines.why_missing("cuda") == f"{no_engine} ({FAILED}); CRAYON_BUILD=cuda,hip {again} shows the details"


KEPT = "--no-cache-dir --force-reinstall --no-deps"


@pytest.mark.parametrize(
    ("origin", "arguments"),
    [
        (None, f"{KEPT} --no-binary crayon-hf crayon-hf==9.8"),  # from a registry
        ({"url": "file://CLONE", "dir_info": {}}, "'CLONE'"),
        ({"url": "file://CLONE/gone", "dir_info": {}}, ". (in a clone)"),
        (
            {"url": "https://a.example/b", "vcs_info": {"vcs": "git", "commit_id": "c1"}},
            f"{KEPT} git+https://a.example/b@c1",
        ),
        ({"url": "https://a.example/crayon_hf-9.8.tar.gz", "archive_info": {}}, f"{KEPT} URL"),
        ({"url": "https://a.example/crayon_hf-9.8-py3-none-any.whl", "archive_info": {}}, ". (in a clone)"),
    ],
)
def test_the_command_installs_from_where_the_package_came(
    installed: Path, tmp_path: Path, origin: dict[str, Any] | None, arguments: str
) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    (clone / "setup.py").touch()
    if origin is not None:
        origin = {**origin, "url": origin["url"].replace("CLONE", str(clone).replace(" ", "%20"))}
        write(installed, **origin)
        arguments = arguments.replace("CLONE", str(clone)).replace("URL", origin["url"])
    assert engines.command("rocm") == f"CRAYON_BUILD=hip pip install {arguments}"


def test_info_says_it(recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def lines() -> dict[str, str]:
        assert cli.main(["info"]) in (0, None)
        return dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())

    assert not {"cuda", "rocm"} & set(lines())
    write(recorded, cuda={"failed": FAILED})
    assert f"({FAILED})" in lines()["cuda"]
    write(recorded, cuda={"architectures": ["90", "120"]})
    monkeypatch.setitem(sys.modules, "crayon_hf._cuda", _core)
    assert lines()["cuda"] == "built for 90, 120"
