# Spark's readers and writers answer what is untyped.
# pyright: basic
"""Tables of a database, by its JDBC driver.

Output is staged in a table of its own, and published in one transaction, which copies the rows into
the target and notes the commit's key in `remuda_commits`. The key is that table's primary key: a
second transaction for the same commit is refused by the database, and changes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import count, lit

from remuda.errors import RemudaError
from remuda.pipeline.io import jvm, options
from remuda.pipeline.io.database import Database, connected
from remuda.pipeline.io.failures import explained, first_line
from remuda.pipeline.io.options import entry, option
from remuda.pipeline.io.port import BadInput, BadOutput, NothingStaged, Target
from remuda.pipeline.model.job import Task
from remuda.pipeline.model.problems import Problem, nearest
from remuda.pipeline.run import Run

_CONNECTION = (
    "url",
    "driver",
    "user",
    "password",
    "queryTimeout",
    "connectionProvider",
    "isolationLevel",
)
_READ = (
    "table",
    "query",
    "partitionColumn",
    "lowerBound",
    "upperBound",
    "numPartitions",
    "fetchsize",
    "sessionInitStatement",
    "prepareQuery",
    "pushDownPredicate",
    "preferTimestampNTZ",
)
_WRITE = ("table", "batchsize", "numPartitions", "createTableOptions", "createTableColumnTypes")
_COMMITS = (
    "create table remuda_commits (job varchar(200) not null, task varchar(200) not null, "
    "epoch bigint not null, row_count bigint not null, primary key (job, task, epoch))"
)
_STAGED = (
    "create table remuda_staged (name varchar(100) not null primary key, "
    "job varchar(200) not null, task varchar(200) not null, epoch bigint not null, "
    "fence bigint not null, row_count bigint not null)"
)


class JdbcPlugin:
    """Options of the driver's own are passed on as they are, if they are written as
    `driver.<name>`."""

    def check(self, task: Task) -> list[Problem]:
        own = [name for name in task.options if name.startswith("driver.")]
        known = [*own, *_CONNECTION, *(_READ if task.type == "input" else _WRITE)]
        problems = [
            *options.unknown(task, known),
            *options.missing(task, "url", "like `jdbc:postgresql://host/database`"),
        ]
        if task.type == "output":
            return [*problems, *options.missing(task, "table", "where the rows go")]
        if (option(task, "table") is None) == (option(task, "query") is None):
            problems.append(Problem(entry(task), "options", "name a `table` or write a `query`"))
        return problems

    # ── input ────────────────────────────────────────────────────────────────────────────────

    def read(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        given = _spark_options(task)
        if option(task, "table") is not None:
            given["dbtable"] = str(option(task, "table"))
        with _in_one_line(task, BadInput):
            return spark.read.format("jdbc").options(**given).load()

    def read_stream(self, spark: SparkSession, task: Task, run: Run) -> DataFrame:
        raise BadInput(
            f"{entry(task)}: a table is no stream: read it in a job with `mode: batch`, or take "
            "its changes from a log, such as Kafka"
        )

    # ── output ───────────────────────────────────────────────────────────────────────────────

    def stage(self, rows: DataFrame, target: Target) -> None:
        with _in_one_line(target.task, BadOutput):
            with self._database(target) as database:
                database.make_tables(_COMMITS, _STAGED)
                if _published_rows(database, target) is not None:
                    return
                self._remove_staged(database, target)
                there = database.columns(_table(target))
            _expect_columns(rows, there, target)
            # Writing may take hours, for which no database keeps a connection that does nothing.
            counted = Observation()
            writer = rows.observe(counted, count(lit(1)).alias("rows")).write.format("jdbc")
            given = _spark_options(target.task) | _text_columns(rows, there)
            writer.options(**given, dbtable=_name(target)).mode("overwrite").save()
            with self._database(target) as database:
                database.do(
                    "insert into remuda_staged (name, job, task, epoch, fence, row_count) "
                    "values (?, ?, ?, ?, ?, ?)",
                    _name(target),
                    *_key(target),
                    target.run.fence_epoch,
                    counted.get["rows"],
                )
                database.commit()

    def publish(self, target: Target) -> int:
        with _in_one_line(target.task, BadOutput), self._database(target) as database:
            rows = _published_rows(database, target)
            if rows is None:
                staged, rows = self._newest_staged(database, target)
                self._make_target(database, target, staged)
                self._copy(database, target, staged, rows)
            self._remove_staged(database, target)
            return rows

    def discard(self, target: Target) -> None:
        with _in_one_line(target.task, BadOutput), self._database(target) as database:
            self._remove_staged(database, target)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _database(self, target: Target):
        return connected(jvm.active(), _spark_options(target.task))

    def _make_target(self, database: Database, target: Target, staged: str) -> None:
        """An empty table, if there is none."""
        if database.columns(_table(target)):
            return
        given = _spark_options(target.task)
        reader = jvm.active().read.format("jdbc")
        empty = reader.options(**given, dbtable=staged).load().limit(0)
        empty.write.format("jdbc").options(**given, dbtable=_table(target)).mode("append").save()

    def _copy(self, database: Database, target: Target, staged: str, rows: int) -> None:
        there = {name.lower(): name for name in database.columns(_table(target))}
        staged_columns = list(database.columns(staged))
        into = ", ".join(database.quoted(there[name.lower()]) for name in staged_columns)
        select = ", ".join(map(database.quoted, staged_columns))
        try:
            database.do(
                "insert into remuda_commits (job, task, epoch, row_count) values (?, ?, ?, ?)",
                *_key(target),
                rows,
            )
            database.do(f"insert into {_table(target)} ({into}) select {select} from {staged}")
            target.run.check_fence()
            database.commit()
        except Exception:
            database.roll_back()
            # Another driver of the same job may have been quicker.
            if _published_rows(database, target) is None:
                raise

    def _newest_staged(self, database: Database, target: Target) -> tuple[str, int]:
        found = database.ask(
            "select name, row_count from remuda_staged where job = ? and task = ? and epoch = ? "
            "and fence <= ? order by fence",
            *_key(target),
            target.run.fence_epoch,
        )
        if not found:
            raise NothingStaged(
                f"{target}: nothing of it is staged: run the job again, under the same id"
            )
        return str(found[-1][0]), int(found[-1][1])

    def _remove_staged(self, database: Database, target: Target) -> None:
        """What this driver, and those before it, have staged whole or in part."""
        found = database.ask(
            "select name from remuda_staged where job = ? and task = ? and epoch = ? "
            "and fence <= ?",
            *_key(target),
            target.run.fence_epoch,
        )
        for name in {_name(target), *(str(row[0]) for row in found)}:
            if database.columns(name):
                database.do(f"drop table {name}")
            database.do("delete from remuda_staged where name = ?", name)
        database.commit()


jdbc = JdbcPlugin()


def _table(target: Target) -> str:
    return str(option(target.task, "table"))


def _key(target: Target) -> tuple[str, str, int]:
    return target.run.job_id, target.task.name, target.number


def _name(target: Target) -> str:
    key = "\0".join(map(str, (*_key(target), target.run.fence_epoch)))
    return f"remuda_staged_{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _published_rows(database: Database, target: Target) -> int | None:
    found = database.ask(
        "select row_count from remuda_commits where job = ? and task = ? and epoch = ?",
        *_key(target),
    )
    return int(found[0][0]) if found else None


def _expect_columns(rows: DataFrame, there: dict[str, str], target: Target) -> None:
    names = {name.lower() for name in there}
    for column in rows.columns if there else ():
        if column.lower() not in names:
            raise BadOutput(
                f"{target}: {_table(target)} has no column `{column}`{nearest(column, there)}"
            )


def _text_columns(rows: DataFrame, there: dict[str, str]) -> dict[str, str]:
    """Text is staged as the target has it: not every database copies its long texts into short."""
    kinds = {name.lower(): kind for name, kind in there.items()}
    types = [
        f"`{field.name}` {kinds[field.name.lower()]}"
        for field in rows.schema.fields
        if field.dataType.simpleString() == "string" and kinds.get(field.name.lower())
    ]
    return {"createTableColumnTypes": ", ".join(types)} if types else {}


def _spark_options(task: Task) -> dict[str, str]:
    given = options.passed_on(task, "table")
    return {name.removeprefix("driver."): value for name, value in given.items()}


# ── errors ───────────────────────────────────────────────────────────────────────────────────


_OF_A_FUNCTION = "Traceback (most recent call last)"
_OF_THE_DRIVER = re.compile(r"ClassNotFoundException|No suitable driver")
_OF_THE_DATABASE = re.compile(rf"java\.sql\.|SQL\w*Exception|{_OF_THE_DRIVER.pattern}")


@contextmanager
def _in_one_line(task: Task, kind: type[RemudaError]) -> Generator[None]:
    """What the database says, without what would let a reader of logs in."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        about_files = explained(error)
        if about_files is not None:
            raise about_files from None
        text = str(error)
        if _OF_A_FUNCTION in text or not _OF_THE_DATABASE.search(text):
            raise
        said = f"the database says: {_redacted(task, error)}"
        if _OF_THE_DRIVER.search(text):
            said = "there is no driver for its `url`: put its jar on Spark's class path"
        raise kind(f"{entry(task)}: {said}") from None


def _redacted(task: Task, error: Exception) -> str:
    text = first_line(error)
    for name in ("password", "user", "url"):
        secret = option(task, name)
        if secret:
            text = text.replace(str(secret), f"<{name}>")
    return re.sub(r"(?i)(password|pwd|secret|token)=[^;&\s]*", r"\1=<hidden>", text)
