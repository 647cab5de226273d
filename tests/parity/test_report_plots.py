"""The plot of a parity report: complete, the same bytes each time, and without effect on matplotlib's settings."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from crayon_hf.parity.report.model import Report, ReportError, Speed
from crayon_hf.parity.report.plots import speed_plot
from tests.parity.report_samples import SAMPLES, agreeing, plain

matplotlib = pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"


def with_speeds(*speeds: Speed) -> Report:
    return replace(agreeing(), speeds=speeds)


@pytest.mark.parametrize("name", ["agreeing", "hostile"])
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


@pytest.mark.parametrize(
    "report", [plain(), with_speeds(Speed("open", "", 1, "ms", False, (0.0,), ()))], ids=["no", "zero"]
)
def test_without_speeds_there_is_no_plot(report: Report) -> None:
    with pytest.raises(ReportError, match="no speeds to plot"):
        speed_plot(report, "svg")
