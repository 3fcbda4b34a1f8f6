"""Struct definitions for tests of values."""

from __future__ import annotations

from littlehorse.model.object_id_pb2 import StructDefId
from littlehorse.model.type_definition_pb2 import InlineStructDef


class NoStructs:
    """There are none."""

    def struct_def(self, struct_def_id: StructDefId) -> InlineStructDef | None:
        return None
