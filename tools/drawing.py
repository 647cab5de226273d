"""SVG drawings on a light or a dark page."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


class Theme(NamedTuple):
    """The colours of a picture on a white or on a nearly black page."""

    page: str
    ink: str
    soft: str
    alert: str
    grid: str
    mark: str
    range: str
    fills: tuple[str, ...]


LIGHT = Theme(
    page="#f8f9fb",
    ink="#171c24",
    soft="#555e6c",
    alert="#b0261f",
    grid="#e3e6eb",
    mark="#2b56c4",
    range="#b9c8ef",
    fills=("#dbe5fb", "#dcf1e4", "#fbe9d2", "#f3e0f2"),
)
DARK = Theme(
    page="#181d24",
    ink="#e8ebf0",
    soft="#a4adba",
    alert="#ff9188",
    grid="#343b46",
    mark="#86a8ff",
    range="#3d5290",
    fills=("#27365e", "#20452f", "#54401f", "#482b47"),
)


class Drawing:
    """SVG elements, and a title for screen readers."""

    def __init__(self, width: int, title: str, theme: Theme) -> None:
        self.width, self.title, self.theme = width, title, theme
        self.parts: list[str] = []

    def text(self, x: float, y: float, said: str, *, anchor: str = "start", size: int = 13, **style: str) -> None:
        attributes = {"fill": self.theme.ink, **style}
        more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items() if value)
        place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place}{more} xml:space="preserve">{escape(said)}</text>')

    def line(self, x: float, y: float, to_x: float, to_y: float, color: str, width: float = 1) -> None:
        ends = f'x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}"'
        self.parts.append(f'<line {ends} stroke="{color}" stroke-width="{width:g}"/>')

    def dot(self, x: float, y: float, color: str) -> None:
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{color}"/>')

    def box(self, x: float, y: float, width: float, height: float, fill: str, edge: str) -> None:
        size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect {size} rx="5" fill="{fill}" stroke="{edge}"/>')

    def ground(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect {size} fill="{fill}"/>')

    def svg(self, height: float) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:g}" width="{self.width}"'
        head += f' height="{height:g}" role="img" font-family="{FONT}">\n<title>{escape(self.title)}</title>\n'
        return head + "\n".join(self.parts) + "\n</svg>\n"
