"""`CrayonVocab`: the interface of CRAYON (``xerv-crayon``), over the same cartridges as `Tokenizer`."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from crayon_hf import _core
from crayon_hf.compat_crayon import vocab_profile
from crayon_hf.compat_crayon.vocab_profile import Loaded, TokenList
from crayon_hf.device import devices
from crayon_hf.device.devices import DeviceState, HardwareInfo
from crayon_hf.errors import ProfileNotLoadedError
from crayon_hf.tokenizer.device_placement import Placement
from crayon_hf.tokenizer_state.modes import mode_of

if TYPE_CHECKING:
    from crayon_hf.tokenizer.tokenizer import AnyArray

__all__ = [
    "CrayonVocab",
    "DeviceState",
    "HardwareInfo",
    "disable_verbose_logging",
    "enable_verbose_logging",
    "quick_tokenize",
]

_log = logging.getLogger(__name__)
_console: logging.Handler | None = None


def enable_verbose_logging(level: int = logging.INFO) -> None:
    """Log this module's actions to stderr, instead of leaving that to the program's logging."""
    global _console
    disable_verbose_logging()
    _console = logging.StreamHandler()
    _console.setFormatter(logging.Formatter("[crayon_hf] %(levelname)s: %(message)s"))
    _log.addHandler(_console)
    _log.setLevel(level)


def disable_verbose_logging() -> None:
    """Undo `enable_verbose_logging`."""
    global _console
    if _console is not None:
        _log.removeHandler(_console)
        _log.setLevel(logging.NOTSET)
        _console = None


class CrayonVocab:
    """CRAYON's interface: a vocabulary that can be replaced while it is in use.

    >>> vocab = CrayonVocab()
    >>> vocab.load_profile("lite")
    >>> vocab.decode(vocab.tokenize("Hello, world!"))
    'Hello, world!'

    Ids are always lists of int: those of `Tokenizer.encode` without special tokens. A call uses the profile that is
    loaded when it begins, even if another thread loads a new one. Calls take no locks.
    """

    def __init__(
        self,
        vocab_list: Sequence[str] | None = None,
        device: str = "auto",
        unk_token: str = "<UNK>",
        *,
        mode: str = "exact",
        compat: Literal["xerv"] | None = None,
    ) -> None:
        """Create a vocabulary, empty unless `vocab_list` is given.

        Args:
            vocab_list: The tokens of a vocabulary: see `load_from_list`.
            device: ``auto``, ``cpu``, ``cuda`` or ``rocm``, also with an index (``cuda:1``). ``CRAYON_DEVICE`` replaces
                ``auto``. If the device is unavailable the CPU encodes. If it is lost or runs out of memory later,
                ``auto`` falls back to the CPU, and any other device raises `DeviceError`.
            unk_token: The token whose id is `unk_token_id`.
            mode: ``exact`` or ``greedy``, as for `Tokenizer`.
            compat: ``"xerv"`` accepts only version 2 cartridges, and gives the ids of CRAYON's compiled CPU engine.
                This loses text: each byte that begins no token becomes id 1.
        """
        if compat not in (None, "xerv"):
            raise ValueError(f"compat is {compat!r}, expected 'xerv' or None")
        self.unk_token = unk_token
        self._mode = mode_of(mode) if compat is None else mode_of("greedy")
        self._compat = compat
        self._loaded: Loaded | None = None
        self._is_closed = False
        self._placement = self._place(device)
        if vocab_list is not None:
            self.load_from_list(vocab_list)

    # -- devices

    def set_device(self, device: str, *, reload_profile: bool = True) -> None:
        """Encode on another device. The profile stays loaded: `reload_profile` exists only for CRAYON's callers."""
        self._placement = self._place(device)

    @property
    def device(self) -> str:
        """The device that encodes batches. It may differ from the requested one (see `device_state`)."""
        return self._choice.device

    @property
    def device_state(self) -> DeviceState:
        """``"ready"``, or ``"fallback"`` if the requested device is unavailable; `get_info` gives the reason."""
        return self._choice.state

    @property
    def hardware(self) -> HardwareInfo:
        """The processor that encodes."""
        return devices.hardware(self._choice.device, self._choice.ordinal)

    @property
    def is_gpu(self) -> bool:
        """Whether a GPU encodes batches. The CPU always encodes single texts."""
        return self._choice.device != "cpu"

    @property
    def fast_mode(self) -> bool:
        """Whether our engine encodes. Otherwise a reference library does, because a component is not supported."""
        profile = self._loaded
        return profile is None or isinstance(profile.engine, _core.Engine)

    def get_info(self) -> dict[str, Any]:
        """Facts about the loaded profile and the device, and why that device was chosen."""
        choice, profile, hardware = self._choice, self._loaded, self.hardware
        path = None if profile is None else profile.path
        return {
            "device": choice.device,
            "requested_device": choice.requested,
            "device_state": choice.state.value,
            "reason": choice.reason,
            "backend": f"{choice.device}_extension",
            "hardware": {"name": hardware.name, "features": hardware.features},
            "mode": self._mode.name,
            "compat": self._compat,
            "active_profile": None if path is None else os.path.basename(path),
            "profile_loaded": profile is not None,
            "vocab_size": None if profile is None else profile.size,
        }

    # -- profiles

    def load_profile(self, name_or_path: str | os.PathLike[str]) -> None:
        """Load another profile, by its name in the search path or by a path.

        A path is anything that `Tokenizer.from_file` opens. If loading fails, the old profile stays.
        """
        self._take(vocab_profile.open_profile(name_or_path, self._mode, self._compat))

    def load_from_list(self, vocab: Sequence[str]) -> None:
        """Use a list of tokens as vocabulary, with their indices as ids. Longest match encodes.

        As in CRAYON, empty strings are ignored, and the last one of equal strings counts. Unlike in CRAYON, each byte
        that is not a token gets an id after the last one, so no text is lost.
        """
        self._take(vocab_profile.open_list(vocab, self._mode, self._compat))

    @contextlib.contextmanager
    def using_profile(self, name_or_path: str | os.PathLike[str]) -> Iterator[CrayonVocab]:
        """Use another profile inside a ``with``, in all threads. Afterwards the previous one, or none, is restored."""
        before = self._loaded
        self.load_profile(name_or_path)
        try:
            yield self
        finally:
            if not self._is_closed:
                self._loaded = before

    @property
    def is_profile_loaded(self) -> bool:
        """Whether a profile is loaded."""
        return self._loaded is not None

    @property
    def current_profile_path(self) -> str | None:
        """The file of the profile, or None if no profile is loaded or the profile came from a list."""
        return None if self._loaded is None else self._loaded.path

    def close(self) -> None:
        """Release the profile. Using the vocabulary is then an error, until another profile is loaded."""
        self._loaded, self._is_closed = None, True

    def __enter__(self) -> CrayonVocab:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- encoding and decoding

    @overload  # a str is also an iterable of str, but its ids are one list
    def tokenize(self, text_input: str) -> list[int]: ...  # type: ignore[overload-overlap]
    @overload
    def tokenize(self, text_input: Iterable[str]) -> list[list[int]]: ...
    def tokenize(self, text_input: str | Iterable[str]) -> list[int] | list[list[int]]:
        """The ids of a text, or a list of ids for each of many texts."""
        profile = self._loaded or self._nothing()
        if isinstance(text_input, str):
            return profile.engine.encode_ids(text_input, False)
        texts = _texts(text_input)
        rows = self._placement.try_rows(profile.engine, texts)
        return profile.rows(texts) if rows is None else rows

    def encode_ragged(self, texts: Iterable[str], *, as_device_arrays: bool = False) -> tuple[AnyArray, AnyArray]:
        """The ids of many texts in two arrays, (ids, row_splits): text i has ``ids[row_splits[i]:row_splits[i + 1]]``.

        It creates no objects for tokens, so it is the fastest call for a large batch. With `as_device_arrays` the
        arrays stay on the device, as in `Tokenizer.encode_ragged`.
        """
        profile, listed = self._loaded or self._nothing(), _texts(texts)
        made = self._placement.try_ragged(profile.engine, listed, False, False, 0, as_device_arrays)
        return profile.engine.encode_ragged(listed, False) if made is None else made

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of ids. Raises TokenIdError for an id without a token."""
        profile = self._loaded or self._nothing()
        ids = tokens if isinstance(tokens, Sequence) else list(tokens)
        profile.check_ids(ids)
        return profile.engine.decode(ids, False)

    # -- the vocabulary

    @property
    def vocab_size(self) -> int:
        """The highest id plus one; 0 if nothing is loaded."""
        return 0 if self._loaded is None else self._loaded.size

    def __len__(self) -> int:
        return self.vocab_size

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._loaded is not None and self._loaded.id_of(token) is not None

    @property
    def id_to_token(self) -> TokenList:
        """The tokens by id: ``vocab.id_to_token[5]`` as in CRAYON, or ``vocab.id_to_token(5)``."""
        return TokenList(self._loaded or self._nothing())

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, spelled like in `id_to_token`, or None if the vocabulary lacks it."""
        if not isinstance(token, str):
            raise TypeError(f"token is {type(token).__name__}, expected str")
        return (self._loaded or self._nothing()).id_of(token)

    @property
    def unk_token_id(self) -> int | None:
        """The id of `unk_token`, or None if the vocabulary lacks it. With ``compat="xerv"`` the id is CRAYON's: 1."""
        if self._compat is not None:
            return vocab_profile.XERV_UNKNOWN
        return None if self._loaded is None else self._loaded.id_of(self.unk_token)

    def longest_match(self, text: str, pos: int = 0) -> tuple[int | None, int]:
        """The id of the longest token at a position of a text, and its number of characters.

        The number is 0 for a token that is part of a character. If no token begins at the position, the result is
        (`unk_token_id`, 1). At the end of the text it is (`unk_token_id`, 0).
        """
        profile = self._loaded or self._nothing()
        if not isinstance(text, str):
            raise TypeError(f"text is {type(text).__name__}, expected str")
        if pos < 0:
            raise ValueError(f"pos is {pos}, expected 0 or more")
        if pos >= len(text):
            return self.unk_token_id, 0
        return profile.longest_match(text, pos) or (self.unk_token_id, 1)

    def __repr__(self) -> str:
        path = self.current_profile_path
        name = None if path is None else os.path.basename(path)
        return (
            f"CrayonVocab(device={self.device!r}, profile={name!r}, loaded={self.is_profile_loaded}, "
            f"mode={self._mode.name!r}, compat={self._compat!r})"
        )

    # -- inside

    @property
    def _choice(self) -> devices.Choice:
        return self._placement.choice(None if self._loaded is None else self._loaded.engine)

    def _place(self, device: str) -> Placement:
        placement = Placement(device, is_strict=False)
        choice = placement.choice()
        level = logging.WARNING if choice.state is DeviceState.FALLBACK else logging.INFO
        _log.log(level, "device %s: %s", choice.device, choice.reason)
        return placement

    def _take(self, profile: Loaded) -> None:
        self._loaded, self._is_closed = profile, False
        _log.info("loaded %s", profile.path or "a list of tokens")

    def _nothing(self) -> Loaded:
        how = "it is closed" if self._is_closed else "no profile is loaded"
        raise ProfileNotLoadedError(f"{how}: call load_profile first")


def quick_tokenize(
    text: str | Iterable[str], profile: str = "lite", device: str = "auto"
) -> list[int] | list[list[int]]:
    """Return the ids of a text, or of many texts, with a profile that is opened for this call."""
    with CrayonVocab(device=device) as vocab:
        vocab.load_profile(profile)
        return vocab.tokenize(text)


def _texts(texts: Any) -> list[str]:
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts are {type(texts).__name__}, expected str or a sequence of str")
    listed = list(texts)
    for i, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"item {i} of the texts is {type(text).__name__}, expected str")
    return listed
