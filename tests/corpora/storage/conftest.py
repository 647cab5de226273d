"""Fixtures: servers of object stores, each in its own process, and access to the objects in them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpora.storage.proxy import Proxy

BUCKET = "bkt"
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests in this folder as slow: they need drivers and servers that README's command does not install."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


os.environ["S3_UPLOAD_PART_MIN_SIZE"] = "256"  # moto reads it when it is imported
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # read at gcsfs' import: its emulator knows no gRPC


def serve(command: Callable[[int], list[str]]) -> Generator[str, None, None]:
    """Run a server and return its address. `command` returns the command that starts it at a port."""
    for _ in range(10):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if is_serving(server, port):
                yield f"http://127.0.0.1:{port}"
                return
        finally:
            server.kill()
            server.wait()
    raise AssertionError("no server started")


def is_serving(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server, or its child, listens at the port. False if the server ended: the port was taken."""
    import psutil

    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(server.pid)
            found = (each.net_connections() for each in (process, *process.children(recursive=True)))
            if any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for of in found for each in of):
                return True
        time.sleep(0.05)
    return False


def local_files(tmp_path: Path) -> list[str]:
    """Temporary files that the job left on this machine."""
    place = tmp_path / "temporary"
    return [str(path.relative_to(place)) for path in place.rglob("*") if path.name != f"crayon-hf-{os.getuid()}"]


class Bucket:
    """Access to the S3 bucket of the tests, without the faults of the proxy."""

    def __init__(self, server: str) -> None:
        import boto3

        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
        self.client: Any = boto3.client("s3", endpoint_url=server, **keys)
        self.client.create_bucket(Bucket=BUCKET)

    def tree(self, prefix: str) -> dict[str, bytes]:
        """Every object below a prefix, by its relative name."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return {key[len(prefix) + 1 :]: self.get(key) for key in keys}

    def get(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return data

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=BUCKET, Key=key)

    def unfinished(self) -> list[str]:
        """Keys of unfinished multipart uploads."""
        return [upload["Key"] for upload in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]

    def clear(self) -> None:
        for key in self.tree_keys():
            self.delete(key)

    def tree_keys(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


@pytest.fixture(scope="session")
def serving_proxy() -> Iterator[Proxy]:
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    with Proxy() as proxy:
        yield proxy


@pytest.fixture(scope="session")
def bucket(serving_proxy: Proxy) -> Bucket:
    return Bucket(serving_proxy.store_url)


@pytest.fixture
def proxy(serving_proxy: Proxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Proxy]:
    """A proxy of S3, at first without faults, and settings that make clients use it, here and in child processes."""
    for name, value in client_environment(serving_proxy.url).items():
        monkeypatch.setenv(name, value)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    serving_proxy.fault = lambda request: None
    bucket.clear()
    serving_proxy.requests.clear()
    yield serving_proxy
    serving_proxy.fault, serving_proxy.done = (lambda request: None), None


def client_environment(url: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
