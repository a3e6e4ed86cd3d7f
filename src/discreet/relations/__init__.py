"""Cells and the equations between them."""

from discreet.relations.system import System, build_system

__all__ = ["System", "build_system"]
