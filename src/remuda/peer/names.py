"""Ids that people can tell apart: a horse's colour and some digits, new for every life."""

from __future__ import annotations

import random

_COLOURS = (
    "amber", "bay", "black", "blue", "brown", "buck", "champ", "cream", "dapple", "dun", "dusk",
    "ebony", "flax", "gold", "grey", "grulla", "liver", "paint", "pearl", "pinto", "roan", "ruby",
    "rust", "sable", "sand", "silver", "smoke", "sorrel", "tawny", "tiger", "umber", "white",
)  # fmt: skip


def new_peer_id(chance: random.Random) -> str:
    return f"{chance.choice(_COLOURS)}-{chance.getrandbits(40):010x}"


def new_entry_id(chance: random.Random) -> str:
    return f"{chance.getrandbits(96):024x}"
