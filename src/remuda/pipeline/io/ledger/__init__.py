"""An ordered log on disk, as Spark reads and writes it: the worked example of a data source.

- `log`     the log itself: partitions, sequence numbers, commits that take effect once; no Spark
- `source`  a source with offsets, and a sink whose commits are keyed, in Spark's Python API
- `plugin`  both as a plugin of Remuda's, `ledger`
"""
