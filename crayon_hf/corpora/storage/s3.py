"""What S3 is asked by requests of its own, where s3fs would make several.

And uploads in parts that were begun and not ended: S3 keeps the parts, hidden and paid for, until somebody aborts them.
Google and Azure throw them away after a week, and charge nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from crayon_hf.corpora.storage.answers import patiently

_OURS = re.compile(r"\d{5,}(_\d{5,})?[./].+|_crayon/.+|(manifest|index)\.json|bad-records\.jsonl")


def is_s3(system: Any) -> bool:
    """Whether it is s3fs's."""
    return hasattr(system, "call_s3")


def read(system: Any, path: str) -> bytes:
    """An object, whole, by one request. FileNotFoundError when there is none."""
    from fsspec.asyn import sync

    bucket, key, _ = system.split_path(path)

    async def get() -> bytes:
        answer = await system._call_s3("get_object", Bucket=bucket, Key=key)
        async with answer["Body"] as body:
            return bytes(await body.read())

    data: bytes = sync(system.loop, get)
    return data


def size(system: Any, path: str) -> int:
    """Bytes of an object, by one request: s3fs itself would look for a directory of that name, too.

    FileNotFoundError when there is none.
    """
    bucket, key, _ = system.split_path(path)
    return int(system.call_s3("head_object", Bucket=bucket, Key=key)["ContentLength"])


def abort(system: Any, directory: str, names: Collection[str] | None = None) -> None:
    """Abort those of a job's files in a directory; `names`: only those of these, or of what is in one of these."""
    if not is_s3(system):
        return
    bucket, inside, _ = system.split_path(directory)
    begin = f"{inside.rstrip('/')}/" if inside else ""
    for key, upload in list(_unfinished(system, directory, bucket, begin)):
        name = key[len(begin) :]
        wanted = _OURS.fullmatch(name) if names is None else name in names or name.partition("/")[0] in names
        if wanted:
            arguments = {"Bucket": bucket, "Key": key, "UploadId": upload}
            with contextlib.suppress(FileNotFoundError):  # it has ended
                patiently(directory, partial(system.call_s3, "abort_multipart_upload", **arguments))


def _unfinished(system: Any, directory: str, bucket: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Key and number of each."""
    after: dict[str, str] = {}
    while True:
        arguments = {"Bucket": bucket, "Prefix": prefix, **after}
        try:
            page = patiently(directory, partial(system.call_s3, "list_multipart_uploads", **arguments))
        except FileNotFoundError:  # no bucket: the first write says so
            return
        for upload in page.get("Uploads", []):
            yield upload["Key"], upload["UploadId"]
        if not page.get("IsTruncated"):
            return
        after = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
