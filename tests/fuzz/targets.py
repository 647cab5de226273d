"""Every fuzz target: its name, which fuzzer runs it, and what it holds to be true.

A target of the engine is ``engine/NAME.cpp`` with ``LLVMFuzzerTestOneInput``, for libFuzzer. A target of the Python
edge is ``edge/NAME.py`` with ``one_input(data: bytes) -> None``, which needs no fuzzer to be imported;
``edge/drive.py`` runs it under atheris. Seeds are in ``corpus/KIND/NAME/``, inputs that once failed in
``crashes/KIND/NAME/``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Target:
    """One thing to fuzz. ``max_len`` is the largest input in bytes, ``timeout`` the seconds that one may take."""

    kind: str
    name: str
    promise: str
    max_len: int = 4096
    timeout: int = 60

    @property
    def title(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def corpus(self) -> Path:
        return HERE / "corpus" / self.kind / self.name

    @property
    def crashes(self) -> Path:
        return HERE / "crashes" / self.kind / self.name

    def inputs(self) -> list[Path]:
        """The kept inputs: seeds, then those that once failed."""
        return [path for folder in (self.corpus, self.crashes) for path in sorted(folder.glob("*")) if path.is_file()]


TARGETS = (
    Target("engine", "cartridge", "a .dat is refused or safe to use, also with right checksums", max_len=65536),
    Target("engine", "lies", "a compiled .dat with changed elements, signed anew: the same"),
    Target("engine", "cartridge_v2", "a version 2 .dat is refused, or read and written back bit for bit"),
    Target("engine", "compiler", "a tokenizer.json is refused, or becomes a cartridge that works", max_len=16384),
    Target("engine", "encode", "one text has one sequence of ids, by every way and instruction set"),
    Target("engine", "decode", "ids decode alike by every way, or are refused alike", max_len=1024),
    Target(
        "engine",
        "columns",
        "spans, JSON lines, UTF-8 and code points are read alike by every instruction set",
        max_len=2048,
    ),
    Target("engine", "kernels", "a GPU's kernels, on the CPU, give the engine's ids for any batch, or its error"),
    Target("engine", "parsers", "JSON, patterns, maps, tries: refused, or read as defined", max_len=2048),
    Target("engine", "words", "words are counted alike by every way, and training ends", max_len=2048),
    Target("edge", "components", "components in any combination do what tokenizers does", max_len=256),
    Target(
        "edge", "corpora", "any file of documents is refused by name, or read as the plain way reads it", max_len=4096
    ),
    Target("edge", "decode", "any ids decode as tokenizers decodes them; unknown ones are TokenIdError", max_len=256),
    Target(
        "edge",
        "encode",
        "any text has tokenizers' ids, offsets and tokens, by every way and instruction set",
        max_len=512,
    ),
    Target("edge", "front_matter", "a card's metadata is refused, or keeps all that it said", max_len=1024),
    Target(
        "edge", "read_charsmap", "normalization rules are refused, or do what tokenizers does with them", max_len=2048
    ),
    Target("edge", "read_crayon_v2", "CRAYON's files are refused, or encode by longest match", max_len=8192),
    Target("edge", "read_gguf", "a GGUF file is refused, or becomes what both engines read alike", max_len=8192),
    Target("edge", "read_ranks", "a rank file is refused, or gives tiktoken's ids", max_len=8192),
    Target("edge", "read_sentencepiece", "a SentencePiece model is refused, or gives the library's ids", max_len=8192),
    Target("edge", "read_tekken", "a tekken.json is refused, or becomes what both engines read alike", max_len=40000),
    Target(
        "edge",
        "read_vocab_files",
        "a directory of any files is refused, or becomes what both engines read alike",
        max_len=8192,
    ),
    Target("edge", "tiktoken_text", "any text has tiktoken's ids, on every instruction set", max_len=512),
    Target(
        "edge",
        "tokenizer_json",
        "a tokenizer.json that tokenizers refuses is refused, any other does the same",
        max_len=8192,
    ),
)


def named(names: list[str]) -> list[Target]:
    """The targets of these names (``encode``, ``engine/encode`` or ``engine``), or all. ValueError otherwise."""
    if not names:
        return list(TARGETS)
    found: dict[str, Target] = {}
    for name in names:
        matches = {t.title: t for t in TARGETS if name in (t.name, t.title, t.kind)}
        if not matches:
            raise ValueError(f"there is no target {name}; there are: {', '.join(t.title for t in TARGETS)}")
        found |= matches
    return list(found.values())
