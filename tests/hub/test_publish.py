"""`crayon-hf publish` to a local Hub with the real client, each time in its own process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

import crayon_hf
from crayon_hf import _core
from crayon_hf.hub import reports
from crayon_hf.hub_access import staging
from crayon_hf.parity.report.model import Report
from tests.hub.hub_client import failure, run_client
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing, differing

REPO = "user/tokenizer"
OURS = ["README.md", "crayon-hf/parity.html", "crayon-hf/parity.json", "tokenizer.dat"]
PLOTS = ["crayon-hf/speed.png", "crayon-hf/speed.svg"]
JUNK = {"model.safetensors": b"weights", ".env": b"HF_TOKEN=hf_secret", "notes.txt": b"mine", "x.json": b"{}"}

Publish = Callable[..., CompletedProcess[str]]


@pytest.fixture
def source(tmp_path: Path, gpt2_like: Path) -> Path:
    """A tokenizer's directory as transformers saves it, with unrelated files."""
    folder = tmp_path / "source"
    (folder / "additional_chat_templates").mkdir(parents=True)
    files = {
        "tokenizer.json": gpt2_like.read_bytes(),
        "tokenizer_config.json": b'{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}\n',
        "chat_template.jinja": b"{{ messages }}",
        "additional_chat_templates/tools.jinja": b"{{ tools }}",
        "additional_chat_templates/notes.txt": b"mine",
        "README.md": b"---\nlicense: apache-2.0\nbase_model: somebody/model\n---\nText of the source.\n",
        **JUNK,
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def report_file(source: Path, path: Path, report: Report | None = None) -> str:
    """Write a parity report for the tokenizer.json in `source`, by default of full agreement and without speeds.
    Returns its path."""
    digest = sha256((source / "tokenizer.json").read_bytes()).hexdigest()
    report = replace(agreeing(), speeds=()) if report is None else report
    report = replace(report, target=replace(report.target, source_digest=digest))
    path.write_text(report.to_json(), encoding="utf-8")
    return str(path)


@pytest.fixture
def report(source: Path, tmp_path: Path) -> str:
    return report_file(source, tmp_path / "parity.json")


@pytest.fixture
def publish(hub: LocalHub, home: Path) -> Publish:
    """A function `publish(repo, option, ..., check=True, token=...)` that runs `crayon-hf publish` as a shell does."""

    def run(*arguments: str, check: bool = True, **options: object) -> CompletedProcess[str]:
        return run_client(hub, ["-m", "crayon_hf", "publish", *arguments], home, check=check, **options)

    return run


def card_of(hub: LocalHub, revision: str = "main") -> tuple[dict[str, object], str]:
    text = hub.read(REPO, "README.md", revision=revision).decode()
    _, block, body = text.split("---\n", 2)
    return yaml.safe_load(block), body


def test_without_matplotlib(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing matplotlib is reported before any request or read."""
    monkeypatch.setattr("crayon_hf.hub.publishing.find_spec", lambda name: None)
    with pytest.raises(crayon_hf.MissingExtraError, match="--no-speed"):
        crayon_hf.publish(REPO, source)


# -- published files


@pytest.mark.slow
def test_a_new_repository(hub: LocalHub, publish: Publish, source: Path, tmp_path: Path, gpt2_like: Path) -> None:
    report = report_file(source, tmp_path / "with-speeds.json", agreeing())
    done = publish(REPO, "--from", str(source), "--report", report, "--json")
    names = ["additional_chat_templates/tools.jinja", "chat_template.jinja", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(hub.files(REPO)) == sorted([*names, *OURS, *PLOTS])
    assert all(hub.read(REPO, name) == (source / name).read_bytes() for name in names)
    head = hub.head(REPO)
    assert hub.head(REPO, head.parent or "").parent is None  # one commit after the repository's first
    said = json.loads(done.stdout)
    assert (said["repo"], said["revision"], said["commit"]) == (REPO, "main", head.sha)
    assert said["url"] == f"{hub.url}/{REPO}/commit/{head.sha}"
    assert sorted(said["files"]) == sorted(hub.files(REPO))
    engine = _core.Engine.from_bytes(hub.read(REPO, "tokenizer.dat"))
    assert engine.source_digest == sha256(gpt2_like.read_bytes()).hexdigest()
    assert engine.certificate is not None
    assert json.loads(engine.certificate)["source_digest"] == engine.source_digest
    assert Report.from_json(hub.read(REPO, "crayon-hf/parity.json")) == Report.from_json(Path(report).read_bytes())
    assert hub.read(REPO, "crayon-hf/speed.png").startswith(b"\x89PNG")
    assert b"<svg" in hub.read(REPO, "crayon-hf/speed.svg")
    assert b"<html" in hub.read(REPO, "crayon-hf/parity.html").lower()
    of_source = {"license": "apache-2.0", "base_model": "somebody/model"}
    assert card_of(hub)[0] | {"tags": ()} == {"library_name": "crayon-hf", **of_source, "tags": ()}
    assert not hub.storage.repository(REPO).private


@pytest.mark.slow
def test_what_a_repository_has_stays(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    readme = b"---\nlanguage:\n- en\nlicense:   mit # ours\ntags:\n- mine\n---\n\n# My model\n\nIts text.\n"
    there = {"README.md": readme, "model.safetensors": b"\0weights", "config.json": b"{}", "notes.txt": b"x"}
    there["tokenizer.json"] = (source / "tokenizer.json").read_bytes()
    before = hub.commit(REPO, there)
    publish(REPO, "--report", report, "--license", "mit")
    head = hub.head(REPO)
    assert head.parent == before
    assert sorted(hub.files(REPO)) == sorted([*OURS, *there.keys() - {"README.md"}])  # no tokenizer_config.json
    for name in there.keys() - {"README.md"}:
        assert head.files[name] == hub.head(REPO, before).files[name]
    assert "license:   mit # ours\ntags:\n- mine\n- tokenizer\n" in hub.read(REPO, "README.md").decode()
    again = publish(REPO, "--report", report)
    assert "nothing was changed" in again.stdout
    kept = publish(REPO, "--no-speed", "--json")  # the existing report is about this tokenizer.json
    assert json.loads(kept.stdout)["files"] == []
    assert hub.head(REPO) == head


@pytest.mark.slow
def test_only_what_has_changed_is_uploaded(
    hub: LocalHub, publish: Publish, source: Path, report: str, tmp_path: Path
) -> None:
    with_speeds = report_file(source, tmp_path / "with-speeds.json", agreeing())
    publish(REPO, "--from", str(source), "--report", with_speeds, "--revision", "main")
    first = hub.head(REPO)
    newer = replace(Report.from_json(Path(report).read_bytes()), started="2027-01-01T00:00:00Z")
    done = publish(REPO, "--report", report_file(source, Path(report), newer), "--message", "Once more", "--json")
    assert sorted(json.loads(done.stdout)["files"]) == sorted([*OURS, *PLOTS])
    assert hub.head(REPO).files.keys() == first.files.keys() - set(PLOTS)  # the plots of the old report
    assert (hub.head(REPO).title, hub.head(REPO).parent) == ("Once more", first.sha)


# -- destinations


@pytest.mark.slow
def test_a_branch(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    before = hub.commit(REPO, {"README.md": b"text\n"})
    publish(REPO, "--from", str(source), "--report", report, "--revision", "v1")
    assert hub.head(REPO).sha == before
    assert hub.head(REPO, "v1").parent == before
    assert "text" in hub.read(REPO, "README.md", revision="v1").decode()
    assert 'revision="v1"' in hub.read(REPO, "README.md", revision="v1").decode()
    again = publish(f"{REPO}@v1", "--report", report, "--json")
    assert json.loads(again.stdout)["files"] == []


@pytest.mark.slow
def test_a_pull_request(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    before = hub.commit("stranger/model", {"README.md": b"text\n", "tokenizer.json": b"{}"})
    done = publish("stranger/model", "--from", str(source), "--report", report, "--create-pr", "--json")
    said = json.loads(done.stdout)
    assert said["revision"] == "refs/pr/1"
    assert said["url"] == f"{hub.url}/stranger/model/discussions/1"
    assert hub.head("stranger/model").sha == before
    assert set(OURS) <= set(hub.files("stranger/model", "refs/pr/1"))


@pytest.mark.slow
def test_private(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    arguments = ["--from", str(source), "--report", report, "--private"]
    publish("tokenizer", *arguments)  # a name without an owner is the user's
    assert hub.storage.repository(REPO).private


# -- refusals


@pytest.mark.slow
@pytest.mark.parametrize(
    ("readme", "origin", "options", "says"),
    [
        (b"text\n", "{source}", ["--private"], f"{REPO} exists and is public"),
        (b"---\na: [\n---\ntext\n", "{source}", [], "README.md"),
        (b"---\nlicense: mit\n---\n", "{source}", ["--license", "apache-2.0"], "license: mit"),
        (b"text\n", REPO, [], "no tokenizer"),
        (b"text\n", "./nothing/here/at/all", [], "No such file"),
    ],
)
def test_what_is_refused(
    hub: LocalHub,
    publish: Publish,
    source: Path,
    report: str,
    readme: bytes,
    origin: str,
    options: list[str],
    says: str,
) -> None:
    before = hub.commit(REPO, {"README.md": readme})
    arguments = [REPO, "--from", origin.format(source=source), "--report", report, *options]
    assert says in failure(publish(*arguments, check=False))
    assert hub.head(REPO).sha == before


@pytest.mark.slow
def test_an_ignored_file_and_a_missing_token(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    arguments = [REPO, "--from", str(source), "--report", report]
    assert "hf auth login" in failure(publish(*arguments, check=False, token=None))
    assert not hub.exists(REPO)
    before = hub.commit(REPO, {".gitignore": b"*.dat\n"})
    assert ".gitignore" in failure(publish(*arguments, check=False))
    assert hub.head(REPO).sha == before


@pytest.mark.slow
def test_a_report_that_does_not_vouch_for_it(source: Path, tmp_path: Path) -> None:
    said = {
        "differs": "does not agree",
        "other": "another tokenizer.json",
        "none": "schema",
        "older": "0.0.9",
        "itself": "does not compare with a reference",
    }
    files = {name: tmp_path / f"{name}.json" for name in said}
    report_file(source, files["differs"], differing())
    files["other"].write_text(agreeing().to_json(), encoding="utf-8")
    files["none"].write_text("{}")
    report_file(source, files["older"], replace(agreeing(), ours=replace(agreeing().ours, version="0.0.9")))
    report_file(source, files["itself"], replace(agreeing(), reference=agreeing().ours))
    for name, file in files.items():
        with pytest.raises(crayon_hf.CrayonError, match=said[name]) as raised:
            crayon_hf.publish(REPO, source, report=file, dry_run=tmp_path / "dry")
        assert "parity" in str(raised.value)
    assert not (tmp_path / "dry").exists()


# -- other sources


@pytest.mark.slow
def test_another_repository(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    files = {"tokenizer.json": (source / "tokenizer.json").read_bytes(), **JUNK}
    card = b"---\nlicense: other\nlicense_name: theirs\nlicense_link: LICENSE\n---\ntext\n"
    hub.commit("stranger/model", {**files, "README.md": card}, revision="v2")
    publish(REPO, "--from", "stranger/model@v2", "--report", report)
    assert set(hub.files(REPO)) == {"tokenizer.json", "tokenizer_config.json", *OURS}
    metadata, body = card_of(hub)
    assert metadata == {
        "library_name": "crayon-hf",
        "license": "other",
        "license_name": "theirs",
        "license_link": f"{hub.url}/stranger/model/blob/v2/LICENSE",
        "base_model": "stranger/model",
        "tags": ["tokenizer", "crayon-hf", "cartridge"],
    }
    assert "tokenizer of stranger/model" in body


@pytest.mark.slow
def test_a_dry_run(hub: LocalHub, home: Path, publish: Publish, source: Path, report: str, tmp_path: Path) -> None:
    arguments = [REPO, "--from", str(source), "--report", report]
    dry = publish(*arguments, "--dry-run", str(tmp_path / "dry"), token=None, offline=True)
    assert "nothing was uploaded" in dry.stdout
    assert hub.requests == []
    assert "HF_HUB_OFFLINE" in failure(publish(*arguments, check=False, offline=True))
    publish(*arguments)
    written = {path.relative_to(tmp_path / "dry").as_posix(): path for path in (tmp_path / "dry").rglob("*.*")}
    assert sorted(name for name, path in written.items() if path.is_file()) == sorted(hub.files(REPO))
    for name in hub.files(REPO):
        assert written[name].read_bytes() == hub.read(REPO, name)
    readme = hub.head(REPO).sha
    publish(REPO, "--report", report, "--dry-run", str(tmp_path / "dry-2"), token=None)
    assert (tmp_path / "dry-2" / "README.md").read_bytes() == hub.read(REPO, "README.md")
    assert hub.head(REPO).sha == readme
    asked = len(hub.requests)  # everything is in the client's cache now
    publish(REPO, "--report", report, "--dry-run", str(tmp_path / "dry-3"), token=None, offline=True)
    assert len(hub.requests) == asked
    assert (tmp_path / "dry-3" / "README.md").read_bytes() == hub.read(REPO, "README.md")


@pytest.mark.slow
def test_without_a_report_the_comparison_is_run(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "RUN", {"strings": 60, "tokens": 10, "texts": ()})
    said: list[str] = []
    published = crayon_hf.publish(REPO, source, speed=False, dry_run=tmp_path / "dry", progress=said.append)
    assert {str(Path(path).relative_to(tmp_path / "dry")) for path in published.files} >= set(OURS)
    report = Report.from_json((tmp_path / "dry" / "crayon-hf" / "parity.json").read_bytes())
    assert report.agreed
    assert report.inputs > 60
    assert report.target.name == REPO
    assert report.target.source_digest == sha256((source / "tokenizer.json").read_bytes()).hexdigest()
    assert report.command.startswith(f"crayon-hf parity {REPO} --against tokenizers ")
    assert "comparing with tokenizers" in said
    certificate = _core.Engine.open(str(tmp_path / "dry" / "tokenizer.dat"), verify=True).certificate
    assert json.loads(certificate or "")["inputs"] == report.inputs


def test_a_profile_and_a_cartridge(tmp_path: Path, source: Path) -> None:
    lite = staging.stage("lite")
    assert lite.base == "the profile lite"
    assert json.loads(lite.metadata)["name"] == "lite"
    tokenizer = crayon_hf.Tokenizer.from_file(source / "tokenizer.json")
    tokenizer.save(str(tmp_path / "my.dat"))
    staged = staging.stage(tmp_path / "my.dat")
    assert staged.files["tokenizer.json"] == (tmp_path / "my.json").read_bytes()
    assert staged.digest == _core.Engine.open(str(tmp_path / "my.dat")).source_digest


def test_a_cartridge_beside_it_says_whose_ids_are_right(source: Path, tmp_path: Path) -> None:
    data = (source / "tokenizer.json").read_bytes()
    metadata = '{"reference":"tiktoken","name":"mine"}'
    (source / "tokenizer.dat").write_bytes(_core.compile_tokenizer_json(data, metadata, "rust_regex"))
    assert staging.stage(source).metadata == metadata
    (source / "tokenizer.json").write_bytes(data + b"\n")  # now the report is about another one
    assert staging.stage(source).metadata == '{"reference":"tokenizers"}'
