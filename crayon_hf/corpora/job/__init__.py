"""The job: documents in, files of token ids out, in one shard or a directory of shards. It can resume at any point."""
