"""Windows and triggers on Spark, in batch and in streams.

`operator.emitted` is the whole of it: the rows that come to a windowed task in, the rows that its
triggers emit out.

- `operator`   what is done for each window of a task, by Spark's operators or by ours
- `choice`     which of the two, and what a stream cannot have
- `times`      a time column as Spark's timestamps
- `grouping`   the group of a row, as columns that Spark can group by
- `native`     windows and aggregates by Spark's own operators
- `ordered`    in batch: the state machine of `window_state`, over rows in the order of arrival
- `stateful`   in a stream: the same machine, its state kept by Spark (`transformWithState`)
- `acting`     aggregates to contents, and contents to the rows that triggers emit
- `columns`    a column by its name
- `shapes`     what the emitted rows look like
- `closing`    how a stream over a bounded input is told that no more comes

A streaming query with windows has the output mode `append`. Content that is collected in a window
is in the order of arrival in batch, and wherever our state machine runs. When Spark's operators
collect in a stream, rows of earlier micro-batches come first, and within one the order is open.
"""
