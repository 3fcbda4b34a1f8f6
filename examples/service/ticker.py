"""A sharded ticker: each shard ticks once a second, in whichever process owns it."""

import asyncio
import os

import remuda


class Ticker(remuda.Service):
    async def start(self, unit: remuda.Unit) -> None:
        print(f"{os.getpid()} starts {unit.id} under epoch {unit.epoch}", flush=True)
        unit.spawn(self.tick(unit))

    async def stop(self, unit: remuda.Unit) -> None:
        print(f"{os.getpid()} stops {unit.id}", flush=True)

    async def tick(self, unit: remuda.Unit) -> None:
        while True:
            unit.meter.mark()
            await asyncio.sleep(1)


if __name__ == "__main__":
    remuda.serve("ticker", Ticker())
