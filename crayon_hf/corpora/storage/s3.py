"""Direct S3 requests, where s3fs would need several.

The module also aborts unfinished multipart uploads. Until they are aborted, S3 keeps their parts, hidden and billed.
Google and Azure delete such parts after a week, free of charge.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from crayon_hf.corpora.storage.answers import patiently

_OURS = re.compile(r"\d{5,}(_\d{5,})?[./].+|_crayon/.+|(manifest|index)\.json|bad-records\.jsonl")


def is_s3(system: Any) -> bool:
    """Whether the file system is s3fs's."""
    return hasattr(system, "call_s3")


def read(system: Any, path: str) -> bytes:
    """Read a whole object in one request. Raises FileNotFoundError."""
    from fsspec.asyn import sync

    bucket, key, _ = system.split_path(path)

    async def get() -> bytes:
        answer = await system._call_s3("get_object", Bucket=bucket, Key=key)
        async with answer["Body"] as body:
            return bytes(await body.read())

    data: bytes = sync(system.loop, get)
    return data


def size(system: Any, path: str) -> int:
    """Bytes of an object, in one request. (s3fs would also look for a directory of that name.)

    Raises FileNotFoundError.
    """
    bucket, key, _ = system.split_path(path)
    return int(system.call_s3("head_object", Bucket=bucket, Key=key)["ContentLength"])


def abort(system: Any, directory: str) -> None:
    """Abort unfinished uploads of a job's files to a directory."""
    if not is_s3(system):
        return
    bucket, inside, _ = system.split_path(directory)
    begin = f"{inside.rstrip('/')}/" if inside else ""
    for key, upload in list(_unfinished(system, directory, bucket, begin)):
        if _OURS.fullmatch(key[len(begin) :]):
            arguments = {"Bucket": bucket, "Key": key, "UploadId": upload}
            with contextlib.suppress(FileNotFoundError):  # the upload has ended
                patiently(directory, partial(system.call_s3, "abort_multipart_upload", **arguments))


def _unfinished(system: Any, directory: str, bucket: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the key and upload id of each unfinished upload."""
    after: dict[str, str] = {}
    while True:
        arguments = {"Bucket": bucket, "Prefix": prefix, **after}
        try:
            page = patiently(directory, partial(system.call_s3, "list_multipart_uploads", **arguments))
        except FileNotFoundError:  # the bucket is missing, which the first write reports
            return
        for upload in page.get("Uploads", []):
            yield upload["Key"], upload["UploadId"]
        if not page.get("IsTruncated"):
            return
        after = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
