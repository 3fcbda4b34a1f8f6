"""Sends orders, and waits until each is charged and its receipt is posted."""

import argparse
import asyncio
import json
import random
from collections import Counter

import remuda

CUSTOMERS = ("ann", "bob", "cleo", "dan", "eve")


async def buy(count: int) -> None:
    async with remuda.Queues() as queues:
        await queues.create("orders", parts=4)
        await queues.create("receipts", parts=2)
        orders = [
            queues.send_tracked(
                "orders",
                json.dumps({"id": number, "price": random.randint(1, 100)}).encode(),
                key=random.choice(CUSTOMERS),
            )
            for number in range(count)
        ]
        print(f"{count} orders are on their way")
        outcomes = Counter(tree.outcome for tree in await asyncio.gather(*orders))
        print(", ".join(f"{many} {outcome}" for outcome, many in outcomes.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=100)
    asyncio.run(buy(parser.parse_args().count))
