# pyright: basic
"""A column by its name, whatever the name is: Spark reads `a.b` as a field `b` of `a`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sql


def column_of(name: str) -> Column:
    return sql.col("`" + name.replace("`", "``") + "`")
