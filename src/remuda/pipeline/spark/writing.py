# Spark's types are of any shape.
# pyright: basic
"""Outputs, written with as few passes over the data as can be.

Where several outputs come from one pass and are alike but for their paths, their plugin writes them
in one go. Otherwise what they come from is kept while each is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from remuda.pipeline.io.port import Target
from remuda.pipeline.io.registry import output_of
from remuda.pipeline.model.job import TaskName
from remuda.pipeline.spark.batch import Outputs, Shared
from remuda.pipeline.spark.row_pass import TO

# In `__to`: rows of triggers that lead nowhere.
_NOBODY = -1


def stage_all(outputs: Outputs, targets: Mapping[TaskName, Target]) -> None:
    """Stages every output of a batch job, and lets triggers that lead nowhere do what they do."""
    at_once = [shared for shared in outputs.shared if _can_be_written_at_once(shared, targets)]
    written = {name for shared in at_once for name in shared.outputs}
    if len(written) < len(outputs.frames) or outputs.ends:
        outputs.hold()
    for shared in at_once:
        stage_shared(shared, targets)
    for name, rows in outputs.frames.items():
        if name not in written:
            output_of(targets[name].task).stage(rows, targets[name])
    for rows in outputs.ends:
        compute(rows)


def compute(rows: DataFrame) -> None:
    """Compute rows that nobody wants, for what happens on the way."""
    rows.write.format("noop").mode("overwrite").save()


def stage_shared(shared: Shared, targets: Mapping[TaskName, Target]) -> None:
    """Stages every output of one frame, which is computed once."""
    if not shared.outputs:
        compute(shared.frame)
        return
    if _can_be_written_at_once(shared, targets):
        columns = dict.fromkeys(column for _, column in shared.outputs.values())
        row = sql.coalesce(*columns) if len(columns) > 1 else sql.col(next(iter(columns)))
        rows = shared.frame.select(TO, row.alias("row")).select(TO, "row.*")
        _plugin(shared, targets).stage_many(rows, _by_number(shared, targets))
        return
    held = shared.frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        for name in shared.outputs:
            output_of(targets[name].task).stage(shared.of(name), targets[name])
    finally:
        held.unpersist()


def together(outputs: Outputs) -> Shared:
    """All outputs of a job in one frame, for a stream, which has one query."""
    parts: list[DataFrame] = []
    numbers: dict[TaskName, tuple[int, str]] = {}
    for shared in outputs.shared:
        renamed = {column: f"c{len(parts)}_{column}" for _, column in shared.outputs.values()}
        renumbered = []
        for name, (number, column) in shared.outputs.items():
            numbers[name] = (len(numbers), renamed[column])
            renumbered.append(sql.when(sql.col(TO) == number, sql.lit(numbers[name][0])))
        structs = [sql.col(column).alias(name) for column, name in renamed.items()]
        tagged = shared.frame.select(sql.coalesce(*renumbered).alias(TO), *structs)
        parts.append(tagged.where(sql.col(TO).isNotNull()))
    of_shared = {name for shared in outputs.shared for name in shared.outputs}
    for name, frame in outputs.frames.items():
        if name in of_shared:
            continue
        numbers[name] = (len(numbers), f"c{len(parts)}")
        row = sql.struct(*(sql.col(f"`{column}`") for column in frame.columns))
        number, column = numbers[name]
        parts.append(frame.select(sql.lit(number).alias(TO), row.alias(column)))
    parts += [rows.select(sql.lit(_NOBODY).alias(TO)) for rows in outputs.ends]
    frame = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    return Shared(frame, numbers)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _can_be_written_at_once(shared: Shared, targets: Mapping[TaskName, Target]) -> bool:
    columns = {column for _, column in shared.outputs.values()}
    shapes = {shared.frame.schema[column].dataType.simpleString() for column in columns}
    plugins = {targets[name].task.plugin for name in shared.outputs}
    if len(shared.outputs) < 2 or len(shapes) > 1 or len(plugins) > 1:
        return False
    plugin = _plugin(shared, targets)
    asked = getattr(plugin, "can_stage_together", None)
    return asked is not None and asked(_by_number(shared, targets))


def _plugin(shared: Shared, targets: Mapping[TaskName, Target]) -> Any:
    return output_of(targets[next(iter(shared.outputs))].task)


def _by_number(shared: Shared, targets: Mapping[TaskName, Target]) -> dict[int, Target]:
    return {number: targets[name] for name, (number, _) in shared.outputs.items()}
