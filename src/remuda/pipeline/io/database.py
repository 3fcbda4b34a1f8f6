# Objects of the JVM are of any shape.
# pyright: basic
"""A connection to a database, made and used in the JVM as Spark makes its own."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from remuda.pipeline.io import jvm

_TEXT = {1: "CHAR", 12: "VARCHAR", -15: "CHAR", -9: "VARCHAR"}


class Database:
    """Nothing is done for good before `commit`."""

    def __init__(self, connection: Any, dialect: Any) -> None:
        self._connection = connection
        self._dialect = dialect

    def quoted(self, name: str) -> str:
        return self._dialect.quoteIdentifier(name)

    def do(self, statement: str, *values: Any) -> None:
        prepared = self._prepared(statement, values)
        try:
            prepared.executeUpdate()
        finally:
            prepared.close()

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        prepared = self._prepared(query, values)
        try:
            result = prepared.executeQuery()
            width = result.getMetaData().getColumnCount()
            rows: list[tuple[Any, ...]] = []
            while result.next():
                rows.append(tuple(result.getObject(n) for n in range(1, width + 1)))
            return rows
        finally:
            prepared.close()

    def commit(self) -> None:
        self._connection.commit()

    def roll_back(self) -> None:
        self._connection.rollback()

    def columns(self, table: str) -> dict[str, str]:
        """A table's columns, each with its type if that is a bounded text; none if there is no
        such table."""
        schema, _, name = table.rpartition(".")
        for spelled in _spellings(schema, name):
            found = self._columns(*spelled)
            if found:
                return found
        return {}

    def make_tables(self, *statements: str) -> None:
        for statement in statements:
            name = statement.split()[2]
            if self.columns(name):
                continue
            try:
                self.do(statement)
                self.commit()
            except Exception:
                self.roll_back()
                # Another driver may have made it meanwhile.
                if not self.columns(name):
                    raise

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _prepared(self, statement: str, values: tuple[Any, ...]) -> Any:
        prepared = self._connection.prepareStatement(statement)
        for number, value in enumerate(values, 1):
            prepared.setObject(number, value)
        return prepared

    def _columns(self, schema: str | None, table: str) -> dict[str, str]:
        result = self._connection.getMetaData().getColumns(None, schema, table, None)
        columns: dict[str, str] = {}
        try:
            while result.next():
                # The name is taken for a pattern, in which `_` is any letter.
                if result.getString("TABLE_NAME") != table:
                    continue
                kind = _TEXT.get(result.getInt("DATA_TYPE"), "")
                size = result.getInt("COLUMN_SIZE")
                columns[result.getString("COLUMN_NAME")] = f"{kind}({size})" if kind else ""
        finally:
            result.close()
        return columns


@contextmanager
def connected(spark: SparkSession, options: Mapping[str, str]) -> Generator[Database]:
    java = jvm.of(spark)
    given = java.java.util.HashMap()
    for name, value in {"dbtable": "remuda_commits", **options}.items():
        given.put(name, value)
    parsed = java.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(
        java.PythonUtils.toScalaMap(given)
    )
    dialect = java.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])
    connection = dialect.createConnectionFactory(parsed).apply(-1)
    try:
        connection.setAutoCommit(False)
        yield Database(connection, dialect)
    finally:
        try:
            connection.rollback()
        finally:
            connection.close()


def _spellings(schema: str, name: str) -> list[tuple[str | None, str]]:
    """Databases keep names that are not in quotes in small letters, in large ones, or as they
    are."""
    made = [(s, n) for s, n in ((schema, name), (schema.upper(), name.upper()))]
    made.append((schema.lower(), name.lower()))
    return [(s.strip('"') or None, n.strip('"')) for s, n in dict.fromkeys(made)]
