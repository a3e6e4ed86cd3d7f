"""Cells and the equations between them."""

from discreet.relations.build import build_system
from discreet.relations.system import System

__all__ = ["System", "build_system"]
