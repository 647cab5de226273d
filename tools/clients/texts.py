"""The texts that clients are given: the shared corpus, or this repository's own pages and sources."""

from __future__ import annotations

import lzma
import os
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 4_000_000
LANGUAGES = (
    "敏捷的棕色狐狸跳过了懒狗然后回家了。",
    "いろはにほへと ちりぬるを わかよたれそ つねならむ。",
    "다람쥐 헌 쳇바퀴에 타고파. 오늘은 날씨가 맑습니다.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Portez ce vieux whisky au juge blond qui fume déjà l'été.",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश।",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. 🙂",
)


def documents(kind: str, count: int, size: int) -> list[str]:
    """`count` documents, cut where a line ends, of at most `size` bytes each if lines are no longer."""
    data = _data(kind)
    found: list[str] = []
    begin = 0
    while len(found) < count and begin < len(data):
        end = data.rfind("\n", begin, begin + size) + 1
        end = end if end > begin else begin + size
        found.append(data[begin:end])
        begin = end
    if len(found) < count:
        raise ValueError(f"{kind}: {len(data)} characters are not enough for {count} texts of {size}")
    return found


@lru_cache(maxsize=3)
def _data(kind: str) -> str:
    shared = os.environ.get("CRAYON_SHARED")
    if shared:
        with lzma.open(Path(shared, "corpus", f"{kind}.txt.xz")) as stream:
            return stream.read(MOST).decode(errors="ignore")
    if kind == "multi":
        numbered = (f"{number}. {LANGUAGES[number * 5 % len(LANGUAGES)]}\n" for number in range(20_000))
        return "".join(numbered)
    files = sorted(ROOT.glob("docs/*.md") if kind == "english" else ROOT.glob("crayon_hf/**/*.py"))
    once = "\n".join(path.read_text(encoding="utf-8") for path in files if path.name != "compatibility.md")
    return "".join(once for _ in range(MOST // len(once) + 1))
