"""Remuda: services, queues, workflows and Spark pipelines, coordinated by one ordered log.

The public names, by what they are for. Nothing else re-exports.
"""

from remuda.config import Config
from remuda.errors import RemudaError
from remuda.peer.hooks import Hooks
from remuda.peer.local import LocalCluster
from remuda.peer.runtime import Peer
from remuda.service.api import Service, Unit
from remuda.service.member import Member, join, serve

__all__ = [
    # a service: units of work, spread over processes
    "Service",
    "Unit",
    "join",
    "serve",
    "Member",
    # a peer in your own process
    "Peer",
    "Hooks",
    "Config",
    # a cluster on your own machine
    "LocalCluster",
    # what can go wrong
    "RemudaError",
]
