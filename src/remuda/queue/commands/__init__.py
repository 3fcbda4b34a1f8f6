"""One file a command. `remuda.queue.catalog` lists them all."""
