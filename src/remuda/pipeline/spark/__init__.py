"""Jobs on Spark.

- `session`     a Spark session as Remuda wants it
- `cut`         a job's graph, cut for Spark: places where rows rest, passes and links between them
- `types`       what rows look like: declared, annotated or seen, as Spark and Arrow have it
- `shapes`      what comes out of each task of a pass
- `row_pass`    a pass at work in a Python worker
- `boundaries`  tasks in Arrow, DataFrame and SQL form, and grouping
- `batch`       the frames of a job's outputs, for a batch and for a stream alike
- `stream`      those frames as one streaming query
- `writing`     outputs, written with as few passes over the data as can be
- `counts`      rows by edge, counted where they pass
- `measure`     how far a run has come
- `failures`    from a wall of JVM to one clear line

Beside this package `io`, `windowing`, `driver` and the modules that join them import pyspark; the
model, the interpreter and what they need do not.
"""
