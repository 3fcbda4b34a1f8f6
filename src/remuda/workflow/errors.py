"""What can be wrong with what a workflow is given. It never leaves `apply`."""

from __future__ import annotations

from remuda.errors import RemudaError


class BadValue(RemudaError):
    """A value cannot be read, converted or combined as a spec asks for."""
