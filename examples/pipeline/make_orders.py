"""Writes `data/orders`: some thousands of orders, of which one in a hundred cannot be read."""

from __future__ import annotations

import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

FILES = 4


def main(count: int) -> None:
    chance = random.Random(7)
    target = Path("data/orders")
    target.mkdir(parents=True, exist_ok=True)
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for number in range(FILES):
        with (target / f"{number}.json").open("w") as file:
            for id_ in range(number, count, FILES):
                broken = chance.random() < 0.01
                order = {
                    "id": id_,
                    "at": (start + timedelta(seconds=id_ / 20)).isoformat(),
                    "country": chance.choice(["de", "fr", "nl", "pt"]),
                    "amount": "a lot" if broken else f"{chance.uniform(1, 1000):.2f}",
                    "currency": chance.choice(["EUR", "USD", "GBP"]),
                }
                file.write(json.dumps(order) + "\n")
    print(f"{count} orders are in {target}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
