"""How many threads a call has: by its text, the cores, and the quotas of the control groups."""

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


@pytest.mark.parametrize(
    ("text", "quota"), [("150000 100000\n", 1.5), ("max 100000\n", None), ("", None), ("-1", None)]
)
def test_version_2(tmp_path, text, quota) -> None:
    files = {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": V2_MOUNT, "sys/fs/cgroup/cpu.max": text}
    assert _testing.core_quota(tree(tmp_path, files)) == quota


def test_the_least_of_all_groups_above_counts(tmp_path) -> None:
    files = {
        "proc/self/cgroup": "0::/a.slice/b.scope\n",
        "proc/self/mountinfo": V2_MOUNT,
        "sys/fs/cgroup/a.slice/cpu.max": "200000 100000\n",
        "sys/fs/cgroup/a.slice/b.scope/cpu.max": "400000 100000\n",
    }
    assert _testing.core_quota(tree(tmp_path, files)) == 2
    (tmp_path / "sys/fs/cgroup/a.slice/b.scope/cpu.max").write_text("50000 100000\n")
    assert _testing.core_quota(str(tmp_path)) == 0.5


@pytest.mark.parametrize(("quota", "cores"), [("300000", 3), ("-1", None)])
def test_version_1(tmp_path, quota, cores) -> None:
    files = {
        "proc/self/cgroup": "5:cpuset:/\n4:cpu,cpuacct:/box\n0::/\n",
        "proc/self/mountinfo": V1_MOUNT.format(root="/"),
        "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": quota,
        "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
    }
    assert _testing.core_quota(tree(tmp_path, files)) == cores


def test_a_container_sees_its_own_part(tmp_path) -> None:
    files = {
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/123\n",
        "proc/self/mountinfo": V1_MOUNT.format(root="/docker/123"),
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
    }
    assert _testing.core_quota(tree(tmp_path, files)) == 2.5


@pytest.mark.parametrize(
    "files", [{}, {"proc/self/cgroup": "nonsense\n\n::"}, {"proc/self/mountinfo": "1 2\n- cgroup2"}]
)
def test_no_groups(tmp_path, files) -> None:
    assert _testing.core_quota(tree(tmp_path, files)) is None


def test_small_batches_start_no_threads(monkeypatch) -> None:
    monkeypatch.setenv("CRAYON_NUM_THREADS", "4")
    assert [_testing.thread_count(0, size) for size in (0, 200_000, MIB // 2, MIB, 100 * MIB)] == [1, 1, 2, 4, 4]


def test_as_many_as_asked_for_up_to_what_has_a_use() -> None:
    cores = os.cpu_count() or 1
    assert _testing.thread_count(3, 0) == 3
    assert min(8, 2 * cores) <= _testing.thread_count(1000, 100 * MIB) <= max(8, 2 * cores)
