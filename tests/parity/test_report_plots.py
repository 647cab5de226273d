"""The plot of a report: whole, the same bytes each time, and nobody's settings changed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest

from crayon_hf import MissingExtraError
from crayon_hf.parity.report.model import Report, ReportError, Speed
from crayon_hf.parity.report.plots import speed_plot
from tests.parity.report_samples import SAMPLES, agreeing, huge, plain

matplotlib = pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def with_speeds(*speeds: Speed) -> Report:
    return replace(agreeing(), speeds=speeds)


@pytest.mark.parametrize("name", ["agreeing", "huge", "hostile"])
def test_an_svg_is_whole_and_the_same_each_time(name: str) -> None:
    drawn = speed_plot(SAMPLES[name](), "svg")
    assert drawn == speed_plot(SAMPLES[name](), "svg")
    root = ElementTree.fromstring(drawn)
    assert root.tag == f"{SVG}svg"
    assert not [element.tag for element in root.iter() if element.tag in (f"{SVG}script", f"{SVG}image")]
    for element in root.iter():
        for name, said in element.attrib.items():
            assert not name.startswith("on")
            if name.endswith("href"):
                assert said.startswith("#")


def test_a_png_is_whole_and_the_same_each_time() -> None:
    image = pytest.importorskip("PIL.Image")  # comes with matplotlib
    drawn = speed_plot(agreeing(), "png")
    assert drawn == speed_plot(agreeing(), "png")
    with image.open(BytesIO(drawn)) as opened:
        opened.load()
        assert opened.size[0] == 1209
        assert "Software" not in opened.info
        # Opaque, so that it reads on light and on dark pages alike.
        assert opened.convert("RGBA").getextrema()[3] == (255, 255)
        assert opened.convert("RGB").getpixel((20, 100)) == (255, 255, 255)


@pytest.mark.slow
def test_the_bytes_are_the_same_in_another_process_with_other_settings(tmp_path: Path) -> None:
    code = (
        f"import hashlib, sys; sys.path.append({str(ROOT)!r})\n"
        "import matplotlib\n"
        "matplotlib.rcParams.update({'font.size': 30, 'axes.facecolor': 'red', 'svg.hashsalt': 'x'})\n"
        "from tests.parity.report_samples import agreeing\n"
        "from crayon_hf.parity.report.plots import speed_plot\n"
        "print(*[hashlib.sha256(speed_plot(agreeing(), fmt)).hexdigest() for fmt in ('svg', 'png')])\n"
        "assert matplotlib.rcParams['font.size'] == 30 and matplotlib.rcParams['svg.hashsalt'] == 'x'\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.split() == [sha256(speed_plot(agreeing(), fmt)).hexdigest() for fmt in ("svg", "png")]


def test_other_speeds_give_another_plot() -> None:
    one = Speed("first pass", "a", 1, "MB/s", True, (2.0,), (1.0,))
    other = replace(one, ours=(2.5,))
    assert speed_plot(with_speeds(one), "svg") != speed_plot(with_speeds(other), "svg")


def test_each_unit_has_a_panel_and_what_is_not_above_zero_has_no_row() -> None:
    axes = speed_plot(huge(), "svg").count(b'id="axes_')
    assert axes == len({speed.unit for speed in huge().speeds})
    first = Speed("first pass", "a", 1, "MB/s", True, (2.0,), (1.0,))
    for nothing in ((0.0, 0.0), (), (float("nan"), float("inf")), (-1.0,)):
        more = replace(first, text="b", ours=nothing, reference=nothing)
        assert speed_plot(with_speeds(first, more), "svg") == speed_plot(with_speeds(first), "svg")


def test_characters_that_the_font_has_not_are_spelled_out(recwarn: pytest.WarningsRecorder) -> None:
    speed = Speed("first pass", "\u4e2d\u6587 \u0926\u0947\u0935 $x_2$ \\frac", 1, "MB/s", True, (2.0,), (1.0,))
    report = replace(with_speeds(speed), target=replace(agreeing().target, name="\u8a9e $\\frac{$"))
    assert speed_plot(report, "svg")
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(
    "report", [plain(), with_speeds(Speed("open", "", 1, "ms", False, (0.0,), ()))], ids=["no", "zero"]
)
def test_without_speeds_there_is_no_plot(report: Report) -> None:
    with pytest.raises(ReportError, match="no speeds to plot"):
        speed_plot(report, "svg")


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="not 'gif'"):
        speed_plot(agreeing(), "gif")  # type: ignore[arg-type]


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib, .*: python -m pip install '\.\[report\]'"):
        speed_plot(agreeing(), "png")
