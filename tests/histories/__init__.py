"""Recorded logs, replayed for ever: what was written once must always mean the same.

    0.1-membership.jsonl     the entries from 0 on, a line each, byte for byte as they were written
    0.1-membership.digests   `position digest`: the replica after every 25th entry and the last

A file's name begins with the version that wrote it. Files are only ever added: one that no longer
replays to its digests is a build that no longer reads its own past, and the build is what is to be
mended. When a version brings new commands, `python -m tests.histories.record` records a log that
has them.

- `record`  makes a history out of a simulation
- `replay`  plays them all and prints the digests, so that two processes can be compared
"""
