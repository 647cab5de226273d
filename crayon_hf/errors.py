"""The errors that crayon_hf raises; every one is a ``CrayonError``."""

from __future__ import annotations


class CrayonError(Exception):
    """Base of all errors of this package."""


class CartridgeError(CrayonError, ValueError):
    """A cartridge (``.dat``) is damaged, of a version that is not read, or not what its place says it is."""


class VocabularyError(CrayonError, ValueError):
    """A vocabulary source (``tokenizer.json``, rank file, ...) is malformed or contradicts itself."""


class UnsupportedError(VocabularyError):
    """A well-formed vocabulary has a component that the engine does not compile; the reference can run it."""


class InvalidUtf8Error(CrayonError, ValueError):
    """Bytes that had to be UTF-8 text are not; the message gives the offset."""


class CorpusError(CrayonError, ValueError):
    """A file of texts is not what it should be; the message names the file, and the line or the column."""


class BadRecordError(CorpusError):
    """A record of a corpus is no document; the message gives file, line or row, and reason."""


class JobError(CrayonError):
    """A job over a corpus was refused or did not end well; the message says why, and what makes it go on."""


class StoreError(JobError):
    """An object store did not do what a job asked of it; the message names the address and says what to do."""


class StoreCredentialsError(StoreError):
    """The credentials for an object store have expired, or there are none; with new ones the same command goes on."""


class FormatError(CrayonError, ValueError):
    """Tokens cannot be written as the format is: an id that its dtype does not hold, a document that is too long."""


class TokenIdError(CrayonError, ValueError):
    """An id that the vocabulary does not have."""


class ProfileNotFoundError(CrayonError, FileNotFoundError):
    """No cartridge of that name is in the search path; the message lists where it was looked for."""


class SourceMissingError(CrayonError, FileNotFoundError):
    """The ``tokenizer.json`` that a cartridge was compiled from is needed, and is not beside it (or has changed)."""


class ProfileNotLoadedError(CrayonError, RuntimeError):
    """A `CrayonVocab` without a profile is used: none was loaded yet, or it was closed."""


class PipelineClosedError(CrayonError, RuntimeError):
    """A `Pipeline` is given work after it was closed, or asked for a result when there will be no more."""


class HubError(CrayonError):
    """The Hub did not give or take what it was asked for; the message names the repository and says what to do."""


class MissingExtraError(CrayonError, ImportError):
    """A package that this needs is not installed; the message names it, and the command that installs it."""


class DeviceError(CrayonError, RuntimeError):
    """A GPU did not do what it was asked to; the message names the device and says what can be done."""


class DeviceUnavailableError(DeviceError):
    """A device that this build has no engine for, or that cannot be used: no driver, no such device, none of its
    code."""


class DeviceOutOfMemoryError(DeviceError, MemoryError):
    """The memory of a device, or pinned memory, does not hold the vocabulary, the batch or its ids."""


class DeviceLostError(DeviceError):
    """Nothing more can be done with a device in this process: it failed, or it is that of the process's parent."""


class DeviceWarning(UserWarning):
    """A tokenizer that was moved to a device encodes on the CPU instead, with the same ids; the message says why."""


class DelegatedWarning(UserWarning):
    """A tokenizer has a component that is not native: the reference library encodes, right but slower."""
