"""The cache of compiled tokenizers: a tokenizer.json is compiled once, and a stale or unfinished cartridge is never
used."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crayon_hf import CartridgeError, Tokenizer, _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.compiling import Compiled, Recipe, compile_json
from crayon_hf.util import files
from tests.hub.hub_tokenizers import resigned
from tests.support.cartridge_cases import until_times_differ

linux_only = pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="needs /proc/self/io")
TEXT = "Hello, world! It's 2024 and naïve."


@pytest.fixture
def directory(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setattr(cache, "SETTLED_NS", 200_000_000)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(path))
    return path


@pytest.fixture
def source(gpt2_like, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(gpt2_like.read_bytes())
    return path


def bytes_read() -> int:
    """Total bytes that this process has read from files."""
    return int(Path("/proc/self/io").read_text().split()[1])


def cartridges(directory: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in directory.glob("*.dat")}


def settle(*paths: Path) -> None:
    """Wait until the files' last changes are long enough ago for the cache's index to record the files as unchanged."""
    changed = max(path.stat().st_ctime_ns for path in paths)
    time.sleep(max(0, changed + cache.SETTLED_NS + 50_000_000 - time.time_ns()) / 1e9)


def without_a_token(path: Path) -> bytes:
    """A tokenizer.json of the same size as `path`, in which one letter of one token differs."""
    document = json.loads(path.read_bytes())
    document["added_tokens"][0]["content"] = "<|endoftexT|>"
    renamed = {"<|endoftext|>": "<|endoftexT|>"}
    document["model"]["vocab"] = {renamed.get(token, token): id for token, id in document["model"]["vocab"].items()}
    return json.dumps(document, ensure_ascii=False, indent=2).encode()


def test_compiled_once(source, directory):
    first = Tokenizer.from_file(source)
    made = cartridges(directory)
    assert len(made) == 1
    assert first.engine_report()["cartridge"] == str(directory / next(iter(made)))
    second = Tokenizer.from_file(source)
    assert cartridges(directory) == made
    assert second.encode(TEXT).ids == first.encode(TEXT).ids
    assert second.to_str() == first.to_str()
    if os.name != "nt":
        assert directory.stat().st_mode & 0o777 == 0o700
        assert all(path.stat().st_mode & 0o077 == 0 for path in directory.rglob("*"))


@linux_only
def test_settled_file_is_not_read_again(gpt2_like, directory, tmp_path):
    """Opening an unchanged tokenizer.json again neither reads nor hashes its 20 MB of white space."""
    source = tmp_path / "huge.json"
    with source.open("wb") as file:
        file.write(gpt2_like.read_bytes())
        for _ in range(20):
            file.write(b" " * 1_000_000)
    expected = Tokenizer.from_file(source).encode(TEXT).ids
    settle(source)
    Tokenizer.from_file(source)
    before = bytes_read()
    tokenizer = Tokenizer.from_file(source)
    assert bytes_read() - before < 200_000  # reading its beginning takes 128 KiB in Python 3.14
    assert tokenizer.encode(TEXT).ids == expected


def test_changed_json_is_noticed(source, directory):
    settle(source)
    assert Tokenizer.from_file(source).token_to_id("<|endoftext|>") is not None
    assert Tokenizer.from_file(source).token_to_id("<|endoftext|>") is not None
    source.write_bytes(without_a_token(source))
    changed = Tokenizer.from_file(source)
    assert changed.token_to_id("<|endoftext|>") is None
    assert changed.token_to_id("<|endoftexT|>") is not None
    assert len(cartridges(directory)) == 2


def flipped(data: bytes) -> bytes:
    """The cartridge `data` with one bit changed in its middle."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


DAMAGE = {
    "flip": lambda path, good: path.write_bytes(flipped(good)),
    "cut": lambda path, good: path.write_bytes(good[:-5000]),
    "empty": lambda path, good: path.write_bytes(b""),
    "other version": lambda path, good: path.write_bytes(good[:4] + b"\x09" + good[5:]),
    "text": lambda path, good: path.write_bytes(b"x" * 5000),
    "gone": lambda path, good: None,
    "directory": lambda path, good: path.mkdir(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_cartridge_is_compiled_again(source, directory, damage):
    expected = Tokenizer.from_file(source).encode(TEXT).ids
    (path,) = directory.glob("*.dat")
    good = path.read_bytes()
    until_times_differ(path)
    path.unlink()
    DAMAGE[damage](path, good)
    tokenizer = Tokenizer.from_file(source)
    assert tokenizer.encode(TEXT).ids == expected
    if damage == "directory":
        assert tokenizer.engine_report()["cartridge"] is None
    else:
        assert path.read_bytes() == good


@pytest.fixture
def lie(source) -> bytes:
    """A sound cartridge that has the digest of `source` but was compiled from other merges."""
    document = json.loads(source.read_bytes())
    document["model"]["merges"] = []
    return resigned(compile_json(json.dumps(document).encode()), source.read_bytes())


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_cache_that_others_can_write_is_not_used(source, directory, lie, caplog):
    """Another user put a cartridge into the cache that has the right source digest but other contents."""
    expected = Tokenizer.from_file(source).encode(TEXT).ids
    (path,) = directory.glob("*.dat")
    path.write_bytes(lie)
    assert Tokenizer.from_file(source).encode(TEXT).ids != expected  # the result if the cartridge were trusted
    directory.chmod(0o777)
    before = cartridges(directory)
    for _ in range(2):
        tokenizer = Tokenizer.from_file(source)
        assert tokenizer.encode(TEXT).ids == expected
        assert tokenizer.engine_report()["cartridge"] is None
    assert cartridges(directory) == before
    (record,) = caplog.records
    assert record.getMessage().startswith(f"the cache in {directory} is not used,")


@pytest.mark.skipif(os.name == "nt", reason="modes")
@pytest.mark.parametrize("when", ["before it is looked into", "while it compiles"])
def test_cache_that_others_make_meanwhile(source, directory, lie, tmp_path, monkeypatch, when):
    """Another user creates the cache directory after we looked for it and found none."""
    monkeypatch.setattr(cache, "SETTLED_NS", 10**18)  # else the index could create it on a slow machine
    expected = Tokenizer.from_file(source).encode(TEXT).ids
    (path,) = directory.glob("*.dat")
    others = tmp_path / "others"
    others.mkdir()
    (others / path.name).write_bytes(lie)
    others.chmod(0o777)
    shutil.rmtree(directory)

    def appears(*arguments, call):
        others.rename(directory)
        return call(*arguments)

    if when == "before it is looked into":
        monkeypatch.setattr(cache._Cache, "digest", functools.partialmethod(appears, call=cache._Cache.digest))
        opened = Tokenizer.from_file(source)
        assert opened.encode(TEXT).ids == expected
        assert opened.engine_report()["cartridge"] is None
    else:
        compile_it = functools.partial(appears, call=lambda data: Compiled(_core.compile_tokenizer_json(data)))
        assert cache.open_source(str(source), Recipe("test", compile_it)).path is None
    assert [entry.name for entry in directory.iterdir()] == [path.name]


def test_unwritable_cache(source, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("a file where the directory should be")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(blocked / "cache"))
    tokenizer = Tokenizer.from_file(source)
    assert tokenizer.engine == "native"
    assert tokenizer.engine_report()["cartridge"] is None
    assert tokenizer.decode(tokenizer.encode(TEXT).ids) == TEXT
    tokenizer.save(tmp_path / "saved.dat")
    assert Tokenizer.from_file(tmp_path / "saved.dat").encode(TEXT).ids == tokenizer.encode(TEXT).ids


def test_what_was_not_used_for_longest_is_removed(
    gpt2_like: Path, llama3_like: Path, wordpiece_like: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cartridges that are open stay usable, and the newest stays in the cache, however small the cache's limit."""
    first = Tokenizer.from_file(gpt2_like)
    ids = first.encode(TEXT).ids
    (oldest,) = set(cartridges(directory))
    Tokenizer.from_file(llama3_like)
    (second,) = cartridges(directory).keys() - {oldest}
    for age, name in ((7200, oldest), (3600, second)):
        os.utime(directory / name, (time.time() - age,) * 2)
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    monkeypatch.setenv("CRAYON_CACHE_BYTES", str(size + 1000))
    Tokenizer.from_file(wordpiece_like)
    assert oldest not in cartridges(directory)
    assert second in cartridges(directory)
    assert first.encode(TEXT).ids == ids
    monkeypatch.setenv("CRAYON_CACHE_BYTES", "0")
    assert Tokenizer.from_file(gpt2_like).encode(TEXT).ids == ids
    assert cartridges(directory).keys() == {oldest}
    monkeypatch.setenv("CRAYON_CACHE_BYTES", "2 GB")
    for _ in range(2):  # the first call leaves no cartridge that the second could find
        with pytest.raises(ValueError, match="CRAYON_CACHE_BYTES"):
            Tokenizer.from_file(llama3_like)


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"CRAYON_CACHE_DIR": "{home}/a", "XDG_CACHE_HOME": "{home}/b"}, "a"),
        ({"XDG_CACHE_HOME": "{home}/b"}, "b/xerv/crayon/compiled"),
        ({}, ".cache/xerv/crayon/compiled"),
        ({"XDG_CACHE_HOME": "not/absolute"}, ".cache/xerv/crayon/compiled"),
        ({"XDG_CACHE_HOME": "~/x"}, "x/xerv/crayon/compiled"),
        ({"CRAYON_CACHE_DIR": "~/c"}, "c"),
        ({"CRAYON_CACHE_DIR": "~nobody-of-this-name/c"}, ".cache/xerv/crayon/compiled"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="HOME")
def test_directories(tmp_path, monkeypatch, environment, place):
    for name in ("CRAYON_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "{home}", **environment}.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    assert Path(cache.cache_directory()) == tmp_path / place


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that any user can write. (pytest resets the permissions of its own directories at each start.)"""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o777)
        yield Path(made)


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="root alone can be a user that is not listed")
def test_a_user_without_a_home(gpt2_like: Path, open_to_all: Path) -> None:
    """A user as in a container, without HOME and without an entry in /etc/passwd."""
    program = f"""
import os, sys, tempfile
sys.path[:] = {sys.path!r}
import crayon_hf
from crayon_hf.hub.store import default_directory
from crayon_hf.cartridges import cache
from crayon_hf.util import files
crayon_hf.Tokenizer.from_profile("lite")  # imports what it needs
os.setuid(54321)
crayon_hf.Tokenizer.from_file({str(open_to_all / "tokenizer.json")!r})
try:
    crayon_hf.Tokenizer.from_profile("nothing")
except crayon_hf.ProfileNotFoundError as error:
    assert "~" not in str(error)
try:
    default_directory()
except crayon_hf.HubError as error:
    print(error)
print(cache.cache_directory(), len(os.listdir(cache.cache_directory())) > 0, os.listdir())
"""
    (open_to_all / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    for directory in (open_to_all / "work", open_to_all / "temporary"):
        directory.mkdir(exist_ok=True)
        os.chmod(directory, 0o777)
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(open_to_all / "temporary")}
    command, work = [sys.executable, "-c", program], open_to_all / "work"
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert "no home directory" in first
    assert second == f"{open_to_all / 'temporary' / 'crayon-54321'} True []"


# -- files


def test_write_atomic(tmp_path, monkeypatch):
    def refuse(*_paths):
        raise PermissionError("no links")

    path = tmp_path / "file"
    files.write_atomic(path, b"old")
    with path.open("rb") as kept:
        files.write_atomic(path, b"new")
        assert kept.read() == b"old"
    with pytest.raises(TypeError):
        files.write_atomic(path, "text")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    with pytest.raises(FileNotFoundError):
        files.write_atomic(tmp_path / "no" / "file", b"")
    if os.name == "nt":
        return
    (tmp_path / "link").symlink_to(tmp_path / "target")
    before = os.umask(0o027)
    try:
        files.write_atomic(tmp_path / "link", b"x")
        files.write_atomic(tmp_path / "secret", b"x", private=True)
    finally:
        os.umask(before)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)  # a file system without hard links
        files.write_atomic(tmp_path / "new", b"x", unless=lambda: (tmp_path / "new").exists())
    assert (tmp_path / "new").read_bytes() == b"x"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_in_the_cache_is_replaced(source, directory, tmp_path):
    """In a shared directory, another user may make a link to any of our files. Writing must not go through it."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    Tokenizer.from_file(source)
    made = [path for path in directory.rglob("*") if path.is_file()]
    for path in made:
        path.unlink()
        path.symlink_to(precious)
    assert Tokenizer.from_file(source).decode(Tokenizer.from_file(source).encode(TEXT).ids) == TEXT
    assert precious.read_bytes() == b"precious"


@pytest.mark.skipif(os.name == "nt", reason="files are not mapped there")
def test_another_file_under_a_name_that_was_verified(source, directory, tmp_path, monkeypatch):
    """A verified cartridge is replaced between its lookup in the index and its opening by the engine."""
    Tokenizer.from_file(source).save(tmp_path / "good.dat")
    (tmp_path / "bad.dat").write_bytes(flipped((tmp_path / "good.dat").read_bytes()))
    good, other = (cache._identity((tmp_path / name).stat()) for name in ("good.dat", "bad.dat"))
    _core.Engine.open(tmp_path / "bad.dat", verify=True, verified=other)  # only its header is checked
    _core.Engine.open(tmp_path / "good.dat", verify=True, verified=other)
    with pytest.raises(CartridgeError, match="damaged"):
        _core.Engine.open(tmp_path / "bad.dat", verify=True, verified=good)
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    path = str(tmp_path / "good.dat")
    cache.open_cartridge(path)
    recalled = []

    def recall_and_swap(self, *arguments):
        recalled.append(recall(self, *arguments))
        os.replace(tmp_path / "bad.dat", path)
        return recalled[-1]

    recall = cache._Cache._recall
    monkeypatch.setattr(cache._Cache, "_recall", recall_and_swap)
    with pytest.raises(CartridgeError, match="damaged"):
        cache.open_cartridge(path)
    assert [fact for _, fact in recalled] == ["verified"]


def test_change_that_hides_its_time_is_noticed(source, directory):
    """The tokenizer.json is changed in place right after it was read, with the same size and modification time. The
    index had not recorded it yet, so the change is noticed."""
    source.write_bytes(json.dumps(json.loads(source.read_bytes()), ensure_ascii=False, indent=2).encode())
    before = source.stat()
    Tokenizer.from_file(source)
    other = without_a_token(source)
    assert len(other) == before.st_size
    source.write_bytes(other)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert Tokenizer.from_file(source).token_to_id("<|endoftexT|>") is not None


def test_damaged_index_is_harmless(source, directory):
    settle(source)
    expected = Tokenizer.from_file(source).encode(TEXT).ids
    for content in (b"", b"\xff\xfe", b"nonsense\nverified", b"1 2 3 4 5"):
        for entry in (directory / "index").iterdir():
            entry.write_bytes(content)
        assert Tokenizer.from_file(source).encode(TEXT).ids == expected


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_index_that_others_can_write_is_not_believed(source, directory):
    settle(source)
    Tokenizer.from_file(source)
    (path,) = directory.glob("*.dat")
    good = path.read_bytes()
    path.write_bytes(flipped(good))
    forged = cache._Cache()
    forged._remember(str(path), "verified")
    (directory / "index").chmod(0o777)
    Tokenizer.from_file(source)
    assert path.read_bytes() == good


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
def test_a_cartridge_that_another_process_writes_meanwhile(source, directory, monkeypatch, damaged):
    """It stays, so that processes which start together map one file. A damaged one is replaced."""
    written: dict[str, tuple[int, int]] = {}
    write = files.write_atomic

    def second(path, data, *arguments, **options):
        if str(path).endswith(".dat") and not written:
            write(path, data[:-100] if damaged else data, private=True)
            written.update(cartridges(directory))
        write(path, data, *arguments, **options)

    monkeypatch.setattr(cache, "write_atomic", second)
    tokenizer = Tokenizer.from_file(source)
    assert (cartridges(directory) == written) is not damaged
    assert tokenizer.engine_report()["cartridge"] == str(directory / next(iter(written)))
    assert Tokenizer.from_file(source).encode(TEXT).ids == tokenizer.encode(TEXT).ids
    assert not list(directory.rglob("*.tmp"))


@pytest.mark.slow
def test_processes_at_once(source, directory):
    program = (
        "import sys, crayon_hf\n"
        "sys.stdin.readline()\n"
        "tokenizer = crayon_hf.Tokenizer.from_file(sys.argv[1])\n"
        "print(tokenizer.engine, tokenizer.encode(sys.argv[2]).ids)\n"
    )
    command = [sys.executable, "-c", program, str(source), TEXT]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 4
    assert outputs == {f"native {Tokenizer.from_file(source).encode(TEXT).ids}\n"}
    assert len(cartridges(directory)) == 1
    assert not list(directory.rglob("*.tmp"))
