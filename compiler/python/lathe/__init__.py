"""Lathe: a model described in a page of Lua, compiled to a module of Python.

    model = lathe.compile("model.lua", set={"batch": 64})
    model.step({"pixels": pixels, "targets": targets})

examples/python.md of Lathe's tree has more.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from .build import Error, built_module, words_of
from .model import Array, Model, load_module

__all__ = ["Array", "Error", "Model", "compile"]


def compile(
    model: str | os.PathLike[str],
    config: str | None = None,
    set: Mapping[str, Any] | None = None,
    *,
    threads: int = 1,
    seed: int = 1,
    precision: str | None = None,
    inference: bool = False,
    options: Sequence[str] = (),
    cache: str | os.PathLike[str] | None = None,
) -> Model:
    """Builds the model that a description says, which needs a C compiler, and opens an instance of it.

    config, set, precision, inference and options are those of `lathe build`.  A model that was built before, with the same
    words on the same kind of processor, is taken from `cache` (~/.cache/lathe/python).
    """
    words = words_of(config, set, precision, inference, options)
    return Model(load_module(built_module(model, words, cache=cache)), threads, seed)
