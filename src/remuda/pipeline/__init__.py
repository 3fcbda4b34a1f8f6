"""Pipelines: jobs over data, written as data, executed by Spark.

What a job is and means, in pure Python:

- `model/`        what a job is: plain data, read from Python, JSON or YAML, and validated
- `functions`, `forms`   `module:function` to something that can be called, and how it is to be
- `flow`, `stage`, `lifecycles`   where a row goes next, and what happens around a task's work
- `windows`, `durations`, `aggregations`, `window_state`   windows and triggers, exactly
- `interpreter`   a job run in memory: it is the specification

How Spark runs it:

- `spark/`        the graph cut into passes, the frames of a batch and of a stream, their writing
- `windowing/`    windows by Spark's own operators where they can, by ours where they cannot
- `io/`           inputs and outputs, each published once
- `engine`        all of that, as a driver needs it; `here` runs it in the caller's own session
- `run`, `killed`  one execution with its fence, and why one ended

Who runs it, and where:

- `driver/`       the process that has Spark, and the peer's hold on it
- `leading`, `node`   the drivers of the jobs that a peer leads, and the peer itself
- `submission`, `control`, `soundness`, `explain`, `alone`, `settings`   what operators ask for

Words, as Onyx has them: a job is a *workflow* (edges between task names), a *catalog* (what each
task is), *flow conditions* (where a row goes), *windows* with *triggers*, *lifecycles*, metadata. A
row is a dict. How a job becomes Spark work is decision 8; what the cluster knows of it is in
docs/jobs-in-the-log.md.
"""
