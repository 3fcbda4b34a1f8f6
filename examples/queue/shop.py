"""A small shop: orders are charged, each customer's in order, and every charge makes a receipt."""

import asyncio
import os
import random

import remuda

# A customer whose order fails waits for it; the others do not.
PATIENT = remuda.RetryDef(max_attempts=4, blocks="key", first_ms=200, most_ms=2_000)


@remuda.handler("orders", group="billing", concurrency=16, retry=PATIENT)
async def charge(order: remuda.Message, ctx: remuda.Context) -> None:
    """An exception is a failed attempt: it is tried again, and in the end is a dead letter."""
    item = order.json()
    await asyncio.sleep(0.05)
    if item["price"] < 0:
        raise remuda.GiveUp(f"order {item['id']} has a price of {item['price']}")
    if random.random() < 0.1:
        raise ConnectionError("the bank does not answer")
    # Sent when this order is done, and only then; it belongs to the order's tree.
    ctx.emit_json("receipts", {"order": item["id"], "paid": item["price"]}, key=order.key)


@remuda.handler("receipts", group="post", batch=20)
def post(receipts: list[remuda.Message], ctx: remuda.Context) -> None:
    """A plain function runs in a thread; with `batch`, it is given several at once."""
    paid = sum(receipt.json()["paid"] for receipt in receipts)
    print(f"{os.getpid()} posts {len(receipts)} receipts, {paid} in all", flush=True)


if __name__ == "__main__":
    remuda.work(charge, post)
