"""Where a job's rows come from, and where they go.

- `port`        the interface: `Input`, `Output`, `Target`; one page of docs is in docs/plugins.md
- `registry`    a plugin by its name, or by `module:object`; what is wrong with a job's
- `failures`    what Spark says about data, in one line

- `files`       Parquet, JSON lines, CSV, text
- `jdbc`        tables of a database, published in one transaction
- `kafka`       topics, through Spark's connector
- `datasource`  anything that is a data source of Spark's, such as one written in Python
- `ledger/`     an ordered log on disk, as a source with offsets and a sink that commits once
- `rate`, `memory`  rows from nowhere, and from Python, for tests

- `options`, `option_names`  what is wrong with a task's options, said before anything runs
- `schemas`, `listing`       whether what is declared fits what is there
- `storage`     files here and in any Hadoop file system: the few operations that output needs
- `sealed`      a directory that appears whole, once, and what a crash leaves of it is put right
- `held`        rows that wait in the job's own directory, for outputs that can only append
- `jvm`, `database`          the session's JVM, and connections made in it

An output is *staged*, which may be done again and again, and then *published*, which takes effect
once. Everything here may import pyspark; others need the first three only.
"""
