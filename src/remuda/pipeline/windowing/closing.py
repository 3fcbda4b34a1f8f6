# pyright: basic
"""How a stream over a bounded input is told that no more comes.

Spark emits a window when the watermark has passed its end, and the watermark follows the data: the
last windows of a bounded input would stay open. So every windowed task also reads a directory,
`closing`, that is empty until all data has been consumed. Then `close` puts one row there, whose
time is later than any; a second run of the same query moves the watermark by it past every window
and timer, and drops the row itself.

A query that was closed is done: whatever comes later is late, by any lateness. So a job is closed
only if its input has ended; one that goes on is left open.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

# When a row happened, in a stream's own time: Spark's watermark begins in 1970, and rows from
# before would be late. So every row is put off by two thousand years.
AT = "__at"
SHIFT_S = 730_000 * 86_400
# Later than every window: rows at or after it are closing rows.
END = "9000-01-01T00:00:00Z"
END_MS = 221_845_392_000_000
_CLOSING = "9999-12-01T00:00:00Z"


def close(directory: str | Path) -> None:
    """No more data comes: the next run of the query emits whatever is left. Again: no change."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    closed = folder / "closed.json"
    if not closed.exists():
        scratch = folder / ".closed"
        scratch.write_text(f'{{"{AT}": "{_CLOSING}"}}\n')
        scratch.replace(closed)


def watched(rows: DataFrame, delay: str, closing: str | Path | None) -> DataFrame:
    """Streaming rows with a watermark on `__at`, which the closing row moves to the end."""
    if closing is None:
        return rows.withWatermark(AT, delay)
    Path(closing).mkdir(parents=True, exist_ok=True)
    last = rows.sparkSession.readStream.schema(f"{AT} timestamp").json(str(closing))
    both = rows.unionByName(last, allowMissingColumns=True).withWatermark(AT, delay)
    # It names the watermark's column, so that Spark does not move it before the watermark.
    return both.where(sql.col(AT) < sql.lit(END).cast("timestamp"))
