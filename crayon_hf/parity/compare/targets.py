"""Find the files of the vocabulary that a user names, for both sides of a comparison: the reference and crayon_hf."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from crayon_hf.cartridges import cache
from crayon_hf.cartridges.compiling import reference_of
from crayon_hf.cartridges.opened_source import beside
from crayon_hf.errors import CrayonError, HubError, MissingExtraError, UnsupportedError
from crayon_hf.formats import convert
from crayon_hf.formats.names import NameKind, looks_like_path, resolve, unknown_name
from crayon_hf.formats.recognise import Kind, look_into, recognise
from crayon_hf.formats.repository import CARTRIDGE, JSON
from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS, identify
from crayon_hf.util.extras import how_to_install

from ..inputs.texts import UnknownVocabularyError, shared_directory, shared_vocabulary
from .references import Vocabulary, check_fields, published_encodings

REFERENCES = ("tiktoken", "tokenizers", "transformers", "sentencepiece")
_OF_TRANSFORMERS = (JSON, "tokenizer_config.json", "config.json", "tekken.json", "vocab.json", "vocab.txt")
"""The files by which ``AutoTokenizer`` opens a directory, besides ``*.model``."""


class TargetError(CrayonError, ValueError):
    """A target that cannot be found, or that cannot be compared with the requested reference."""


@dataclass(frozen=True)
class Subject:
    """A target and how it is compared."""

    name: str
    kind: str
    """The format of the source and its use, in words."""
    vocabulary: Vocabulary
    cartridge: Path | None = None
    """The user's cartridge that our side opens. A certificate can be written into it."""
    notes: tuple[str, ...] = ()


def find_target(target: str, against: str, directory: str, *, timed_only: bool = False) -> Subject:
    """Find `target`, for a comparison with the library `against`. If that is empty, the vocabulary decides.

    A target is a source that `crayon-hf convert` reads, a profile, a name below ``$CRAYON_SHARED/vocab``, a tiktoken
    encoding or a repository of the Hub. Raise TargetError for any other. Files made for a reference go into
    `directory`. A reference that is `timed_only` may be of any version.
    """
    if against and against not in REFERENCES:
        raise TargetError(f"--against {against}: expected one of {', '.join(REFERENCES)}")
    try:
        name, path = _locate(target, directory)
        subject = _Resolver(name, path, against, directory).subject()
        if not timed_only:
            _check_installed(name, subject.vocabulary.kind)
        return subject
    except (TargetError, MissingExtraError):
        raise
    except (CrayonError, UnknownVocabularyError, OSError) as error:
        raise TargetError(str(error)) from error


def _locate(target: str, directory: str) -> tuple[str, str]:
    """Return the name of a target, and its file or directory."""
    meaning = resolve(target)
    if meaning.path is not None:
        return meaning.name if meaning.kind is NameKind.PROFILE else _called(meaning.path), meaning.path
    if (shared := shared_vocabulary(target)) is not None:
        return target, str(shared)
    if meaning.kind is NameKind.ENCODING:
        return meaning.name, _published(meaning.name, directory)
    if meaning.kind is NameKind.REPOSITORY:
        return target, _downloaded(target)
    unknown = f"{target}: No such file or directory" if looks_like_path(target) else str(unknown_name(target))
    raise TargetError(unknown + ("" if shared_directory() else "; CRAYON_SHARED, which has others, is not set"))


def _check_installed(name: str, reference: str) -> None:
    try:
        is_there = find_spec(reference) is not None
    except ValueError:  # a None or a module without a spec in sys.modules blocks the import
        is_there = False
    if not is_there:
        is_extra = reference in ("tiktoken", "transformers")
        install = how_to_install(reference) if is_extra else f"python -m pip install {reference}"
        raise MissingExtraError(
            f"the reference of {name} is {reference}, which is not installed: {install}"
            + (", or --against tokenizers" if reference == "tiktoken" else "")
        )
    if reference == "tokenizers":
        check_fields(f"the comparison of {name}")


def _called(path: str) -> str:
    whole = Path(os.path.abspath(path))
    if whole.is_dir() or whole.stem not in ("tokenizer", "tekken", "vocab", "merges", "spiece", "model"):
        return whole.name if whole.is_dir() else whole.stem
    return whole.parent.name or whole.stem


def _published(name: str, directory: str) -> str:
    from crayon_hf.formats.tiktoken import fetch_published_file, find_published_file

    found: str | None = find_published_file(name)
    if found is not None:
        return found
    path = os.path.join(directory, f"{KNOWN_ENCODINGS[name].file}.tiktoken")
    Path(path).write_bytes(fetch_published_file(name))
    return path


def _downloaded(target: str) -> str:
    """Download a repository's tokenizer files, all of one commit, check them, and return their directory."""
    from crayon_hf.hub_access import client, staging

    try:
        place = client.parse(target)
        listing = client.listing(place)
        if names := staging.files_to_read(listing):
            return client.fetch(place, listing, names)
    except (HubError, ImportError, ValueError) as error:
        raise TargetError(f"{target} is not a file, and cannot be fetched from the Hub: {error}") from error
    raise TargetError(f"{target}: the repository has no tokenizer")


def exported_ranks(name: str, source: str, directory: str, ours: str = "") -> Vocabulary:
    """Write the rank file of a source into `directory`, and return the vocabulary that tiktoken opens from it.

    Raise TargetError if the source has no ranks. `name` is for sources without a name of their own. `ours` is the file
    that our side opens, if not the rank file.
    """
    from crayon_hf.formats.export import to_tiktoken

    converted = convert(source)
    name = converted.name or name
    try:
        ranks = to_tiktoken(converted)
    except UnsupportedError as error:
        raise TargetError(f"{source} has no ranks for tiktoken: {error}") from error
    if ranks.pattern is None:
        raise TargetError(f"{source}: tiktoken has no pattern that cuts text as this vocabulary does")
    path = Path(directory) / f"{name}.tiktoken"
    path.write_bytes(ranks.data)
    known = KNOWN_ENCODINGS.get(name)
    if known is not None and known.special_tokens == ranks.special_tokens and known.pattern == ranks.pattern:
        return Vocabulary(name, "tiktoken", path, ours=ours, encoding=name)
    return Vocabulary(name, "tiktoken", path, ours=ours, pattern=ranks.pattern, special_tokens=ranks.special_tokens)


class _Resolver:
    """Makes the `Subject` of a target whose path is known."""

    def __init__(self, name: str, path: str, against: str, directory: str) -> None:
        self.name, self.path, self.against, self.directory = name, path, against, directory
        self.kind = recognise(path)
        self.file = path
        if self.kind is Kind.DIRECTORY:
            self.kind, self.file = look_into(path)
        self.folder = path if os.path.isdir(path) else None

    def subject(self) -> Subject:
        if self.kind is Kind.CARTRIDGE:
            return self._cartridge()
        if self.kind is Kind.TIKTOKEN:
            own, words = "tiktoken", "a tiktoken rank file"
        elif self.kind is Kind.SENTENCEPIECE:
            own, words = "sentencepiece", "a SentencePiece model"
        else:
            own, words = "tokenizers", self.kind.value
        if self.folder:
            words = f"a directory with {words}"
        against = self.against or own
        if against == "transformers":
            return self._transformers(words, own)
        if against == own == "tiktoken":
            _check_installed(self.name, "tiktoken")
            return Subject(self.name, words, self._ranks())
        if against == own == "sentencepiece":
            return Subject(self.name, words, self._pieces())
        if against == "tokenizers":
            return self._tokenizers(words)
        fits = [own, *(["tokenizers"] if own != "tokenizers" else []), *(["transformers"] if self.folder else [])]
        raise TargetError(
            f"{self.name} is {words}, which {against} does not read: --against {' or '.join(fits)} compares it"
        )

    # -- one for each reference

    def _tokenizers(self, words: str) -> Subject:
        if self.kind is Kind.TOKENIZER_JSON:
            cartridge = self._beside(self.file)
            if cartridge is not None:
                words = f"{words}, its cartridge {CARTRIDGE}"
            opened = "" if cartridge is None else str(cartridge)
            vocabulary = Vocabulary(self.name, "tokenizers", Path(os.path.abspath(self.file)), ours=opened)
            return Subject(self.name, words, vocabulary, cartridge)
        json = self._converted()
        if self.kind is Kind.TIKTOKEN:
            # The rank file would select tiktoken's Unicode tables.
            return Subject(self.name, f"{words}, converted for both sides", Vocabulary(self.name, "tokenizers", json))
        vocabulary = Vocabulary(self.name, "tokenizers", json, ours=os.path.abspath(self.file))
        return Subject(self.name, f"{words}; the reference opens the tokenizer.json converted from it", vocabulary)

    def _transformers(self, words: str, own: str) -> Subject:
        if self.folder is None:
            raise TargetError(
                f"{self.name} is {words}, and transformers opens directories: give its directory "
                f"(crayon-hf convert makes one), or --against {own}"
            )
        names = os.listdir(self.folder)
        if not any(name in _OF_TRANSFORMERS or name.endswith(".model") for name in names):
            raise TargetError(
                f"{self.path} has nothing that AutoTokenizer opens, only {words.removeprefix('a directory with ')}: "
                f"crayon-hf convert makes a directory of it, or --against {own}"
            )
        json = os.path.join(self.folder, JSON)
        if not os.path.isfile(json):
            json = str(self._converted())
        cartridge = self._beside(json) if self.folder in json else None
        path = Path(os.path.abspath(self.folder))
        vocabulary = Vocabulary(self.name, "transformers", path, json=os.path.abspath(json))
        return Subject(self.name, words, vocabulary, cartridge)

    def _ranks(self) -> Vocabulary:
        path = Path(os.path.abspath(self.file))
        facts = identify(cache.source_digest(str(path)), name=self._encoding())
        name = facts.name or path.stem
        if name in published_encodings():
            return Vocabulary(name, "tiktoken", path, encoding=name)
        return Vocabulary(name, "tiktoken", path, pattern=facts.pattern, special_tokens=dict(facts.special_tokens))

    def _encoding(self) -> str | None:
        return self.name if self.name in KNOWN_ENCODINGS else None

    def _pieces(self) -> Vocabulary:
        path = os.path.abspath(self.file)
        return Vocabulary(self.name, "sentencepiece", Path(path), ours=path, json=str(self._converted()))

    def _cartridge(self) -> Subject:
        """Return the subject of a cartridge, whose metadata names its reference."""
        path = os.path.abspath(self.file)
        engine = cache.open_cartridge(path)
        json = beside(path)
        if not os.path.isfile(json) or cache.source_digest(json) != engine.source_digest:
            raise TargetError(f"{path}: {json}, which it was compiled from, is missing or has changed")
        reference = reference_of(engine.metadata)
        own = "tiktoken" if reference == "tiktoken" else "tokenizers"
        against = self.against or own
        if against != own:
            more = "; its directory can be compared with transformers" if against == "transformers" else ""
            raise TargetError(
                f"{self.name} is a cartridge whose ids are those of {reference}: --against {own} compares it{more}"
            )
        if own == "tokenizers":
            vocabulary = Vocabulary(self.name, "tokenizers", Path(json), ours=path)
        else:
            _check_installed(self.name, "tiktoken")
            vocabulary = exported_ranks(self.name, path, self.directory, ours=path)
        return Subject(self.name, "a cartridge, and the tokenizer.json beside it", vocabulary, Path(path))

    # -- files

    def _converted(self) -> Path:
        """Convert the file, and return the path of the resulting tokenizer.json."""
        path = Path(self.directory) / f"{Path(self.name).name}.json"
        path.write_bytes(convert(self.file).tokenizer_json)
        return path

    def _beside(self, json: str) -> Path | None:
        """Return the path of the cartridge beside `json` in the target directory, or None if it does not exist.

        Raise TargetError if the cartridge was compiled from another tokenizer.json.
        """
        cartridge = Path(os.path.abspath(json)).with_name(CARTRIDGE)
        if self.folder is None or os.path.basename(json) != JSON or not cartridge.is_file():
            return None
        engine = cache.open_cartridge(str(cartridge))
        if engine.source_digest != cache.source_digest(json):
            raise TargetError(f"{cartridge} was compiled from another file than {json}: run crayon-hf convert again")
        return cartridge
