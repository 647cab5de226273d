"""publish: to a local Hub, with the real client, each in a process of its own."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

import crayon_hf
from crayon_hf import _core
from crayon_hf.hub import publishing
from crayon_hf.hub.card import BEGIN, END
from crayon_hf.hub_access import staging
from crayon_hf.parity.report.model import Report
from crayon_hf.util.extras import how_to_install
from tests.conftest import SENTENCES
from tests.hub.hub_client import run_client
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing, differing

REPO = "user/tokenizer"
OURS = ["README.md", "crayon-hf/parity.html", "crayon-hf/parity.json", "tokenizer.dat"]
PLOTS = ["crayon-hf/speed.png", "crayon-hf/speed.svg"]
JUNK = {"model.safetensors": b"weights", ".env": b"HF_TOKEN=hf_secret", "notes.txt": b"mine", "x.json": b"{}"}

Publish = Callable[..., CompletedProcess[str]]


@pytest.fixture
def source(tmp_path: Path, gpt2_like: Path) -> Path:
    """A directory as transformers saves it, and other things in it that are nobody's business."""
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
    """A report of full agreement, of this tokenizer.json, without speeds."""
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
    """`publish(repo, option, ..., check=True, token=...)`: the command, as a shell runs it."""

    def run(*arguments: str, check: bool = True, **options: object) -> CompletedProcess[str]:
        return run_client(hub, ["-m", "crayon_hf", "publish", *arguments], home, check=check, **options)

    return run


def failure(done: CompletedProcess[str], code: int = 1) -> str:
    assert (done.returncode, done.stdout) == (code, ""), done
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1].removeprefix("crayon-hf: error: ")


def card_of(hub: LocalHub, revision: str = "main") -> tuple[dict[str, object], str]:
    text = hub.read(REPO, "README.md", revision=revision).decode()
    _, block, body = text.split("---\n", 2)
    return yaml.safe_load(block), body


def test_without_matplotlib(hub: LocalHub, home: Path, source: Path) -> None:
    """Before anything is asked of the Hub or read."""
    code = f"""
        import sys
        sys.modules["matplotlib"] = None
        from crayon_hf.cli import main
        sys.exit(main(["publish", {REPO!r}, "--from", {str(source)!r}]))
    """
    said = failure(run_client(hub, code, home))
    install = how_to_install("report")
    assert said == f"the plot of speeds needs matplotlib, which is not installed: {install}, or --no-speed"
    assert hub.requests == []


# -- what is published


@pytest.mark.slow
def test_a_new_repository(hub: LocalHub, publish: Publish, source: Path, tmp_path: Path, gpt2_like: Path) -> None:
    report = report_file(source, tmp_path / "with-speeds.json", agreeing())
    done = publish(REPO, "--from", str(source), "--report", report, "--json")
    files = ["additional_chat_templates/tools.jinja", "chat_template.jinja", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(hub.files(REPO)) == sorted([*files, *OURS, *PLOTS])
    for name in files:
        assert hub.read(REPO, name) == (source / name).read_bytes()
    head = hub.head(REPO)
    assert head.title == "Tokenizer, cartridge and parity report (crayon-hf publish)"
    assert hub.head(REPO, head.parent or "").parent is None  # one commit after the one that made the repository
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
    metadata, body = card_of(hub)
    assert metadata == {
        "library_name": "crayon-hf",
        "license": "apache-2.0",
        "base_model": "somebody/model",
        "tags": ["tokenizer", "crayon-hf", "cartridge"],
    }
    assert body.count(BEGIN) == body.count(END) == 1
    assert not hub.storage.repository(REPO).private


@pytest.mark.slow
def test_it_opens_with_the_same_ids(hub: LocalHub, publish: Publish, source: Path, report: str, tmp_path: Path) -> None:
    import tokenizers
    import transformers

    publish(REPO, "--from", str(source / "tokenizer.json"), "--report", report)
    folder = tmp_path / "published"
    folder.mkdir()
    for name in hub.files(REPO):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(hub.read(REPO, name))
    reference = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json"))
    stock = transformers.AutoTokenizer.from_pretrained(folder)
    ours = crayon_hf.AutoTokenizer.from_pretrained(folder)
    plain = crayon_hf.Tokenizer.from_file(folder / "tokenizer.dat")
    for text in SENTENCES:
        ids = reference.encode(text).ids
        assert stock(text).input_ids == ours(text).input_ids == plain.encode(text).ids == ids
    assert ours.engine_report()["origin"] == "repository"
    assert stock.model_max_length == 512  # a file beside it counts, as for convert


@pytest.mark.slow
def test_the_same_again_is_no_commit(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    publish(REPO, "--from", str(source), "--report", report)
    head = hub.head(REPO).sha
    again = publish(REPO, "--from", str(source), "--report", report)
    assert again.stdout == f"{REPO}@main has all of it, nothing was changed: {hub.url}/{REPO}/commit/{head}\n"
    kept = publish(REPO, "--no-speed", "--json")  # the report that is there is of this tokenizer.json
    assert json.loads(kept.stdout)["files"] == []
    assert "it is kept" in kept.stderr
    assert hub.head(REPO).sha == head


@pytest.mark.slow
def test_a_report_that_stays_keeps_its_speeds(hub: LocalHub, publish: Publish, source: Path, tmp_path: Path) -> None:
    with_speeds = report_file(source, tmp_path / "with-speeds.json", agreeing())
    publish(REPO, "--from", str(source), "--report", with_speeds)
    head = hub.head(REPO)
    assert set(PLOTS) <= head.files.keys()
    kept = publish(REPO, "--no-speed", "--json")
    assert "it is kept" in kept.stderr
    assert json.loads(kept.stdout)["files"] == []
    assert hub.head(REPO).sha == head.sha


@pytest.mark.slow
def test_what_a_repository_has_stays(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    readme = b"---\nlanguage:\n- en\nlicense:   mit # ours\ntags:\n- mine\n---\n\n# My model\n\nIts text.\n"
    there = {"README.md": readme, "model.safetensors": b"\0weights", "config.json": b"{}", "notes.txt": b"x"}
    there["tokenizer.json"] = (source / "tokenizer.json").read_bytes()
    before = hub.commit(REPO, there)
    publish(REPO, "--report", report)
    assert hub.head(REPO).parent == before
    assert sorted(hub.files(REPO)) == sorted([*OURS, *there.keys() - {"README.md"}])  # no tokenizer_config.json
    for name in there.keys() - {"README.md"}:
        assert hub.head(REPO).files[name] == hub.head(REPO, before).files[name]
    text = hub.read(REPO, "README.md").decode()
    assert text.startswith(
        "---\nlanguage:\n- en\nlicense:   mit # ours\ntags:\n- mine\n- tokenizer\n- crayon-hf\n- cartridge\n---\n"
        f"\n# My model\n\nIts text.\n\n{BEGIN}\n"
    )


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
    assert hub.head(REPO).files.keys() == first.files.keys() - set(PLOTS)  # which are not of this report
    assert hub.head(REPO).title == "Once more"
    assert hub.head(REPO).parent == first.sha
    certificate = json.loads(_core.Engine.from_bytes(hub.read(REPO, "tokenizer.dat")).certificate or "")
    assert certificate["started"] == "2027-01-01T00:00:00Z"


# -- where it is published


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
def test_a_branch_of_a_new_repository(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    publish(REPO, "--from", str(source), "--report", report, "--revision", "v1")
    assert hub.files(REPO) == []
    assert set(OURS) <= set(hub.files(REPO, "v1"))


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
def test_a_pull_request_to_nothing(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    message = failure(publish(REPO, "--from", str(source), "--report", report, "--create-pr", check=False))
    assert message.startswith(f"{REPO}: there is no such repository")
    assert not hub.exists(REPO)


@pytest.mark.slow
def test_private(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    arguments = ["--from", str(source), "--report", report, "--private"]
    publish("tokenizer", *arguments)  # a name alone is one of the user's own
    assert hub.storage.repository(REPO).private
    hub.create("user/public")
    message = failure(publish("user/public", *arguments, check=False))
    assert "user/public exists and is public" in message
    assert hub.files("user/public") == []


# -- what does not go


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "repo", "said"),
    [
        ("hf_Nobody", REPO, "token"),
        (None, REPO, "hf auth login"),
        (LocalHub.read_token, REPO, "write"),
        (LocalHub.token, "stranger/model", "write"),
        (LocalHub.token, "stranger/new", "stranger is another user"),
    ],
    ids=["wrong", "none", "reads", "a stranger's", "a stranger's new one"],
)
def test_without_the_right(
    token: str | None, repo: str, said: str, hub: LocalHub, publish: Publish, source: Path, report: str
) -> None:
    before = {each: hub.commit(each, {"README.md": b"text\n"}) for each in (REPO, "stranger/model")}
    done = publish(repo, "--from", str(source), "--report", report, check=False, token=token)
    assert said in failure(done)
    assert {each: hub.head(each).sha for each in before} == before
    assert not hub.exists("stranger/new")


@pytest.mark.slow
def test_somebody_else_pushes_meanwhile(hub: LocalHub, home: Path, publish: Publish, source: Path, report: str) -> None:
    hub.commit(REPO, {"README.md": b"first\n"})
    done = run_client(
        hub,
        f"""
        import crayon_hf, huggingface_hub

        def meanwhile(line):
            if "uploading" in line:
                huggingface_hub.upload_file(
                    repo_id={REPO!r}, path_in_repo="README.md", path_or_fileobj=b"second\\n", commit_message="theirs"
                )

        try:
            crayon_hf.publish({REPO!r}, {str(source)!r}, report={report!r}, progress=meanwhile)
        except crayon_hf.HubError as error:
            print(error)
        """,
        home,
        check=True,
    )
    assert "try again" in done.stdout
    assert hub.head(REPO).title == "theirs"
    assert hub.files(REPO) == ["README.md"]
    publish(REPO, "--from", str(source), "--report", report)
    assert "second" in hub.read(REPO, "README.md").decode()


@pytest.mark.slow
def test_a_report_that_does_not_vouch_for_it(source: Path, tmp_path: Path) -> None:
    said = {
        "differs": "does not agree fully: 3 of",
        "other": "another tokenizer.json",
        "none": "schema",
        "edited": "contradicts itself: 'agreed' is True",
        "older": "made with crayon-hf 0.0.9, and the cartridge is compiled with",
        "itself": "does not compare with a reference",
    }
    files = {name: tmp_path / f"{name}.json" for name in said}
    report_file(source, files["differs"], differing())
    files["other"].write_text(agreeing().to_json(), encoding="utf-8")
    files["none"].write_text("{}")
    edited = Path(report_file(source, files["edited"], differing())).read_text(encoding="utf-8")
    files["edited"].write_text(edited.replace('"agreed": false', '"agreed": true'), encoding="utf-8")
    report_file(source, files["older"], replace(agreeing(), ours=replace(agreeing().ours, version="0.0.9")))
    report_file(source, files["itself"], replace(agreeing(), reference=agreeing().ours))
    for name, file in files.items():
        with pytest.raises(crayon_hf.CrayonError, match=said[name]) as raised:
            crayon_hf.publish(REPO, source, report=file, dry_run=tmp_path / "dry")
        assert "parity" in str(raised.value)
    assert not (tmp_path / "dry").exists()


@pytest.mark.slow
def test_a_refused_report_creates_nothing(hub: LocalHub, publish: Publish, source: Path, tmp_path: Path) -> None:
    report = report_file(source, tmp_path / "differs.json", differing())
    assert "does not agree fully" in failure(publish(REPO, "--from", str(source), "--report", report, check=False))
    assert not hub.exists(REPO)
    assert hub.asked("POST") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [".gitignore", "README.md"])
def test_what_the_repository_has_is_in_the_way(
    name: str, hub: LocalHub, publish: Publish, source: Path, report: str
) -> None:
    before = hub.commit(REPO, {name: {".gitignore": b"*.dat\n", "README.md": b"---\na: [\n---\ntext\n"}[name]})
    message = failure(publish(REPO, "--from", str(source), "--report", report, check=False))
    assert name in message
    assert hub.head(REPO).sha == before


@pytest.mark.parametrize("repo", ["a/b/c", "user/", "user/a..b", "", "user/a b"])
def test_no_name_of_a_repository(repo: str, source: Path) -> None:
    with pytest.raises(ValueError, match="name of a repository"):
        crayon_hf.publish(repo, source)


@pytest.mark.slow
def test_a_license_that_contradicts(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    before = hub.commit(REPO, {"README.md": b"---\nlicense: mit\n---\n"})
    arguments = [REPO, "--from", str(source), "--report", report, "--license"]
    assert "license: mit" in failure(publish(*arguments, "apache-2.0", check=False))
    assert hub.head(REPO).sha == before
    publish(*arguments, "mit")
    assert card_of(hub)[0]["license"] == "mit"


@pytest.mark.slow
def test_a_source_without_a_tokenizer(hub: LocalHub, publish: Publish) -> None:
    hub.commit(REPO, {"README.md": b"text\n", "model.safetensors": b"weights"})
    assert "no tokenizer" in failure(publish(REPO, check=False))
    assert "no such file" in failure(publish(REPO, "--from", "./nothing/here/at/all", check=False))


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
    asked = len(hub.requests)  # all that is needed is in the client's cache now
    publish(REPO, "--report", report, "--dry-run", str(tmp_path / "dry-3"), token=None, offline=True)
    assert len(hub.requests) == asked
    assert (tmp_path / "dry-3" / "README.md").read_bytes() == hub.read(REPO, "README.md")


@pytest.mark.slow
def test_without_a_report_the_comparison_is_run(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "RUN", {"strings": 60, "tokens": 10, "texts": ()})
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


@pytest.mark.slow
def test_the_commands_of_the_card(hub: LocalHub, home: Path, source: Path, tmp_path: Path) -> None:
    code = f"""
    import crayon_hf
    from crayon_hf.hub import publishing

    publishing.RUN = {{"strings": 20, "tokens": 4, "texts": ()}}
    crayon_hf.publish({REPO!r}, {str(source)!r}, speed=False)
    """
    run_client(hub, code, home, check=True)
    (install, first, second) = re.findall(r"^```sh\n(.*?)\n```$", card_of(hub)[1], re.DOTALL | re.MULTILINE)
    assert shlex.split(install) == ["python", "-m", "pip", "install", ".[transformers,hub]"]
    (text := tmp_path / "text.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    told = {}
    for line in [*first.splitlines(), second]:
        command, *arguments = shlex.split(line)
        assert command == "crayon-hf"
        if line in first and arguments[0] == "parity":  # less than it does by itself
            arguments += ["--strings", "10", "--no-speed", "--text", str(text)]
        told[arguments[0]] = run_client(hub, ["-m", "crayon_hf", *arguments], home, check=True).stdout
    assert list(told) == ["pull", "info", "parity"]
    assert re.search(r"^parity +agreed with tokenizers ", told["info"], re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["main", "v1"])
def test_the_programs_of_the_card(
    revision: str, hub: LocalHub, publish: Publish, source: Path, report: str, home: Path
) -> None:
    """Ours and that of transformers alone, each on a machine of its own: the same ids."""
    import tokenizers

    publish(REPO, "--from", str(source), "--report", report, "--revision", revision)
    programs = re.findall(r"^```python\n(.*?)\n```$", card_of(hub, revision)[1], re.DOTALL | re.MULTILINE)
    ids = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json")).encode("Hello, world!").ids
    show = "print([ids, tokenizer.engine_report()['origin'] if 'crayon_hf' in sys.modules else None])"
    said = [
        run_client(hub, f"import sys\n{program}\n{show}", home / str(number), check=True, token=None).stdout
        for number, program in enumerate(programs)
    ]
    assert list(map(ast.literal_eval, said)) == [[ids, "repository"], [ids, None]]


def test_a_difference_is_never_published(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's ids are those of another tokenizer.json, which stands in the way of the one that is published."""
    data = json.loads((source / "tokenizer.json").read_bytes())
    swapped = json.loads((source / "tokenizer.json").read_bytes())
    vocab = swapped["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]
    assert data != swapped
    compiled = staging.Staged.compiled

    def other(staged: staging.Staged) -> bytes:
        return compiled(staged._replace(files={"tokenizer.json": json.dumps(swapped).encode()}))

    monkeypatch.setattr(staging.Staged, "compiled", other)
    with pytest.raises(crayon_hf.CrayonError, match="would not be used"):
        crayon_hf.publish(REPO, source, speed=False, dry_run=tmp_path / "dry")
    assert not (tmp_path / "dry").exists()


def test_vocab_and_merges(gpt2_like: Path, tmp_path: Path) -> None:
    model = json.loads(gpt2_like.read_bytes())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    (tmp_path / "config.json").write_text("{}")
    staged = staging.stage(tmp_path)
    assert sorted(staged.files) == ["merges.txt", "tokenizer.json", "vocab.json"]
    assert _core.Engine.from_bytes(staged.compiled()).source_digest == staged.digest


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
    (source / "tokenizer.json").write_bytes(data + b"\n")  # it is of another one now
    assert staging.stage(source).metadata == '{"reference":"tokenizers"}'


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("tokenizer.json", True),
        ("cl100k_base.tiktoken", True),
        ("additional_chat_templates/a.jinja", True),
        ("chat_template.jinja", True),
        ("tokenizer.dat", False),
        ("config.json", False),
        ("model.safetensors", False),
        ("pytorch_model.bin", False),
        (".env", False),
        ("x/tokenizer.json", False),
        ("tokenizer.json.bak", False),
        ("README.md", False),
    ],
)
def test_what_is_a_tokenizer_file(name: str, is_one: bool) -> None:
    assert staging.is_tokenizer_file(name) == is_one


@pytest.mark.slow
def test_no_license_is_said(hub: LocalHub, publish: Publish, source: Path, report: str) -> None:
    (source / "README.md").unlink()
    done = publish(REPO, "--from", str(source), "--report", report)
    assert re.search(r"note: .*no license.*--license", done.stderr)
    assert "license" not in card_of(hub)[0]
