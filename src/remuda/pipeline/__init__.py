"""Pipelines: jobs over data, written as data.

- `model/`        what a job is: plain data, read from Python, JSON or YAML, and validated
- `functions`     `module:function` to something that can be called
- `flow`          where a row goes next
- `durations`     `5 minutes`, exactly
- `windows`       which windows an event is in, as arithmetic
- `aggregations`  what is kept of a window's rows
- `interpreter`   a job run in memory, in pure Python: it is the specification

Words, as Onyx has them: a job is a *workflow* (edges between task names), a *catalog* (what each
task is), *flow conditions* (where a row goes), *windows* with *triggers*, *lifecycles*, metadata. A
row is a dict.

Data processing is to run on Spark: the executors are not here yet. The interpreter is what their
results will be compared with, and what a user's unit tests run a job on without a cluster.
"""
