"""How many threads a call uses: the size of its texts, the CPU cores and the quotas of Linux control groups decide."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crayon_hf._core import _testing

MIB = 1 << 20


def tree(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 {root} /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
)


def v2(name: str, limits: dict[str, str]) -> dict[str, str]:
    files = {f"sys/fs/cgroup{group}/cpu.max": text for group, text in limits.items()}
    return {"proc/self/cgroup": f"0::{name}\n", "proc/self/mountinfo": V2_MOUNT} | files


def v1(name: str, root: str, place: str, quota: str) -> dict[str, str]:
    return {
        "proc/self/cgroup": f"5:cpuset:/\n4:cpu,cpuacct:{name}\n0::/\n",
        "proc/self/mountinfo": V1_MOUNT.format(root=root),
        f"sys/fs/cgroup/cpu,cpuacct{place}/cpu.cfs_quota_us": quota,
        f"sys/fs/cgroup/cpu,cpuacct{place}/cpu.cfs_period_us": "100000",
    }


DEEP = "/a.slice/b.scope"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        (v2("/", {"": "150000 100000\n"}), 1.5),
        (v2("/", {"": "max 100000\n"}), None),
        (v2("/", {"": ""}), None),
        (v2("/", {"": "-1"}), None),
        # The smallest quota of all parent groups counts.
        (v2(DEEP, {"/a.slice": "200000 100000\n", DEEP: "400000 100000\n"}), 2),
        (v2(DEEP, {"/a.slice": "200000 100000\n", DEEP: "50000 100000\n"}), 0.5),
        (v1("/box", "/", "/box", "300000"), 3),
        (v1("/box", "/", "/box", "-1"), None),
        # A container sees its own part.
        (v1("/docker/123", "/docker/123", "", "250000"), 2.5),
        ({}, None),
        ({"proc/self/cgroup": "nonsense\n\n::"}, None),
        ({"proc/self/mountinfo": "1 2\n- cgroup2"}, None),
    ],
)
def test_quotas(tmp_path, files, quota) -> None:
    assert _testing.core_quota(tree(tmp_path, files)) == quota


def test_small_batches_start_no_threads(monkeypatch) -> None:
    monkeypatch.setenv("CRAYON_NUM_THREADS", "4")
    assert [_testing.thread_count(0, size) for size in (0, 200_000, MIB // 2, MIB, 100 * MIB)] == [1, 1, 2, 4, 4]


def test_as_many_as_asked_for_up_to_what_has_a_use() -> None:
    cores = os.cpu_count() or 1
    assert _testing.thread_count(3, 0) == 3
    assert min(8, 2 * cores) <= _testing.thread_count(1000, 100 * MIB) <= max(8, 2 * cores)
