"""The job: documents in, files of token ids out, one shard or a directory of them, resumable at any moment."""
