"""Jobs on a real Spark whose workers share no files with the driver, only an S3 store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.corpora.job.job_cases import corpus, tree
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import RESET, Fault, Proxy, Request
from tests.corpora.test_spark import spark  # noqa: F401 - skips this module where Spark cannot be

from crayon_hf import CorpusError, JobError, tokenize_corpus  # isort: skip
from crayon_hf.corpora.spark_corpus import tokenize_corpus_on_spark  # isort: skip


@pytest.mark.slow
def test_spark(
    proxy: Proxy,
    spark: Any,  # noqa: F811
    gpt2_like: Path,
    tmp_path: Path,
    bucket: Bucket,
) -> None:
    corpus(tmp_path / "in", 5, 30)
    for name, data in tree(tmp_path / "in").items():
        bucket.put(f"in/{name}", data)
    how: dict[str, Any] = {"format": "npy", "tokenizer": str(gpt2_like), "group_bytes": 1, "max_tokens_per_shard": 900}
    tokenize_corpus("s3://bkt/in", tmp_path / "whole", workers=1, **how)

    def fault(request: Request) -> Fault:
        return RESET if request.changes and request.number % 9 == 0 else None

    proxy.fault = fault
    summary = tokenize_corpus_on_spark(spark, "s3://bkt/in", "s3://bkt/out", **how)
    proxy.fault = lambda request: None
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert not summary.already_done
    assert tokenize_corpus_on_spark(spark, "s3://bkt/in", "s3://bkt/out", **how).already_done

    bucket.put("in/9.jsonl", b'{"txt": "no text"}\n')
    with pytest.raises((JobError, CorpusError), match=r"9\.jsonl, line 1"):
        tokenize_corpus_on_spark(spark, "s3://bkt/in", "s3://bkt/bad", **how)
    assert "manifest.json" not in bucket.tree("bad")
    tokenize_corpus("s3://bkt/in", "s3://bkt/bad", workers=1, bad_records="skip", **how)  # the other task continues
    assert "manifest.json" in bucket.tree("bad")
    with pytest.raises(TypeError, match="tokenize_corpus_on_spark has no argument workers: see threads"):
        tokenize_corpus_on_spark(spark, "s3://bkt/in", "s3://bkt/bad", tokenizer="lite", workers=2)
