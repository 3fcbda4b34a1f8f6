"""Remuda: services, queues, workflows and Spark pipelines, coordinated by one ordered log.

The public names, by what they are for. Nothing else re-exports. Each is imported when it is first
asked for: Spark's Python workers import this package at every start, and need little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remuda.config import Config
    from remuda.errors import GiveUp, RemudaError
    from remuda.peer.hooks import Hooks
    from remuda.peer.local import LocalCluster
    from remuda.peer.runtime import Peer
    from remuda.pipeline.here import run_here
    from remuda.pipeline.interpreter import interpret
    from remuda.pipeline.model.reading import read_job
    from remuda.pipeline.window_state import Content
    from remuda.queue.client import Queues
    from remuda.queue.context import Context, Message
    from remuda.queue.handler import consume, handler
    from remuda.queue.model import RetryDef
    from remuda.queue.worker import Worker, work
    from remuda.service.api import Service, Unit
    from remuda.service.member import Member, join, serve

__all__ = [
    # a service: units of work, spread over processes
    "Service",
    "Unit",
    "join",
    "serve",
    "Member",
    # a queue: messages, and who handles them
    "handler",
    "consume",
    "work",
    "Worker",
    "Message",
    "Context",
    "Queues",
    "RetryDef",
    "GiveUp",
    # a pipeline: a job as data
    "read_job",
    "interpret",
    "run_here",
    "Content",
    # a peer in your own process
    "Peer",
    "Hooks",
    "Config",
    # a cluster on your own machine
    "LocalCluster",
    # what can go wrong
    "RemudaError",
]

_HOMES = {
    "Config": "remuda.config",
    "Content": "remuda.pipeline.window_state",
    "Context": "remuda.queue.context",
    "GiveUp": "remuda.errors",
    "Hooks": "remuda.peer.hooks",
    "LocalCluster": "remuda.peer.local",
    "Member": "remuda.service.member",
    "Message": "remuda.queue.context",
    "Peer": "remuda.peer.runtime",
    "Queues": "remuda.queue.client",
    "RemudaError": "remuda.errors",
    "RetryDef": "remuda.queue.model",
    "Service": "remuda.service.api",
    "Unit": "remuda.service.api",
    "Worker": "remuda.queue.worker",
    "consume": "remuda.queue.handler",
    "handler": "remuda.queue.handler",
    "interpret": "remuda.pipeline.interpreter",
    "join": "remuda.service.member",
    "read_job": "remuda.pipeline.model.reading",
    "run_here": "remuda.pipeline.here",
    "serve": "remuda.service.member",
    "work": "remuda.queue.worker",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `remuda` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)
