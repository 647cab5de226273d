"""The errors that crayon_hf raises. All derive from ``CrayonError``."""

from __future__ import annotations


class CrayonError(Exception):
    """Base class of the errors of this package."""


class CartridgeError(CrayonError, ValueError):
    """A cartridge (``.dat``) is damaged, of an unsupported version, or belongs to another ``tokenizer.json``."""


class VocabularyError(CrayonError, ValueError):
    """A vocabulary source (``tokenizer.json``, rank file, ...) is malformed or contradicts itself."""


class UnsupportedError(VocabularyError):
    """A well-formed vocabulary has a component that the engine does not support, or an installed library lacks a
    feature."""


class InvalidUtf8Error(CrayonError, ValueError):
    """Bytes are not UTF-8; the message gives the offset."""


class CorpusError(CrayonError, ValueError):
    """A file of texts is damaged or has another format; the message names the file, and the line or the column."""


class BadRecordError(CorpusError):
    """A record of a corpus is not a document; the message gives file, line or row, and reason."""


class JobError(CrayonError):
    """A job over a corpus was refused or failed; the message says why, and how to continue."""


class StoreError(JobError):
    """An object store failed a request of a job; the message names the address and says what to do."""


class StoreCredentialsError(StoreError):
    """The credentials for an object store are missing or expired. Run the same command with new ones to continue."""


class FormatError(CrayonError, ValueError):
    """A file format cannot store an id or a document, or a price table is wrong."""


class TokenIdError(CrayonError, ValueError):
    """An id is not in the vocabulary."""


class ProfileNotFoundError(CrayonError, FileNotFoundError):
    """The search path has no cartridge of that name; the message lists the searched directories."""


class SourceMissingError(CrayonError, FileNotFoundError):
    """A call needs the ``tokenizer.json`` of a cartridge, but the file is not beside the cartridge or has changed."""


class ProfileNotLoadedError(CrayonError, RuntimeError):
    """A `CrayonVocab` has no profile: none was loaded, or the vocabulary was closed."""


class PipelineClosedError(CrayonError, RuntimeError):
    """A closed `Pipeline` received work, or has no more results."""


class HubError(CrayonError):
    """A request to the Hub failed; the message names the repository and says what to do."""


class MissingExtraError(CrayonError, ImportError):
    """A needed package is not installed; the message has the command that installs it."""


class DeviceError(CrayonError, RuntimeError):
    """A GPU failed; the message names the device and says what to do. An error of this class itself, not of a subclass,
    concerns one call: the next may succeed."""


class DeviceUnavailableError(DeviceError):
    """A device cannot be used: the build has no engine or code for it, or the driver or the device is missing."""


class DeviceOutOfMemoryError(DeviceError, MemoryError):
    """The memory of a device, or pinned memory, is too small for the vocabulary, the batch or its ids."""


class DeviceLostError(DeviceError):
    """A device is lost for this process: it failed, or it belongs to the parent process."""


class DeviceWarning(UserWarning):
    """A tokenizer on a device encodes on the CPU instead, with the same ids; the message says why."""


class AmbiguousNameWarning(UserWarning):
    """A name is a path and also a profile or an encoding; the message says which is used, and how to select the
    other."""


class DelegatedWarning(UserWarning):
    """Our engine does not support a tokenizer, so its reference library encodes: the same ids, but slower."""
