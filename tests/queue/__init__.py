# ruff: noqa: A005 - it is tests.queue
