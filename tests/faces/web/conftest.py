"""The example vault, served."""

from served import client, monkeymodule, served_home

__all__ = ["client", "monkeymodule", "served_home"]
