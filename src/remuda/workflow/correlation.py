"""Nodes that wait by key: the partition of the key is told when they begin and when they end."""

from __future__ import annotations

from littlehorse.model.node_run_pb2 import NodeRun

from remuda.workflow.commands import Correlate, Uncorrelate
from remuda.workflow.placement import partition_of_correlation
from remuda.workflow.run import Run


def start_correlating(run: Run, node: NodeRun) -> None:
    """The node has its key by now."""
    work, waiting = run.work, node.external_event
    name, key = waiting.external_event_def_id.name, waiting.correlation_key
    thread, position = node.id.thread_run_number, node.id.position
    partition = partition_of_correlation(work.tenant, name, key, work.partitions)
    me = work.stamp.partition
    work.send(partition, Correlate(work.tenant, name, key, me, run.name, thread, position))


def stop_correlating(run: Run, node: NodeRun) -> None:
    """If it waits by key, it does not any more."""
    work, waiting = run.work, node.external_event
    if not waiting.HasField("correlation_key"):
        return
    name, key = waiting.external_event_def_id.name, waiting.correlation_key
    thread, position = node.id.thread_run_number, node.id.position
    partition = partition_of_correlation(work.tenant, name, key, work.partitions)
    work.send(partition, Uncorrelate(work.tenant, name, key, run.name, thread, position))
