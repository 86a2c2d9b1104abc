"""model.py: a model as an object of Python, over the module _model that its description was compiled to.

Packages that `python3 -m lathe wheel` makes have a copy of this file: it needs NumPy and nothing of Lathe.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import itertools
import json
import operator
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence, TypedDict, TypeVar, Unpack, cast, overload

import numpy


_Bytes = bytes  # which Model has another meaning for


@dataclass(frozen=True)
class Array:
    """An input or an output: what is expected of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    below: int | None = None  #: of ids: they are below this


class Sampling(TypedDict, total=False):
    """How texts are written: what draw() takes."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    seed: int
    below: int


def _arrays(rows: list[tuple[Any, ...]]) -> dict[str, Array]:
    return {name: Array(name, dtype, shape, below or None) for name, dtype, shape, _, below in rows}


_loaded: dict[str, Any] = {}
_loading = threading.Lock()


def load_module(path: str | os.PathLike[str]) -> Any:
    """The module _model that a description was compiled to.

    A file is loaded once: for a second time Python would fill what sys.modules has as _model, which may be another model.
    """
    file = os.path.realpath(path)
    with _loading:
        if file not in _loaded:
            _loaded[file] = _load_file(file)
        return _loaded[file]


def _load_file(file: str) -> Any:
    loader = importlib.machinery.ExtensionFileLoader("_model", file)
    spec = importlib.util.spec_from_file_location("_model", file, loader=loader)
    assert spec
    other = sys.modules.pop("_model", None)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    finally:
        sys.modules.pop("_model", None)
        if other:
            sys.modules["_model"] = other
    return module


def _module_again(name: str, path: str) -> Any:
    """For a pickle: that of a wheel by its name, that which compile() built by its file."""
    if "." in name:
        return importlib.import_module(name)
    if os.path.realpath(path) not in _loaded and not Path(path).exists():
        raise FileNotFoundError(
            f"{path} is not there, to which the pickled model was compiled; "
            "compile it here and load() what save() gave, or make a wheel of it (python3 -m lathe wheel)"
        )
    return load_module(path)


def _whole(name: str, value: int) -> int:
    try:
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, found {value!r}") from None
    if not -(2**31) <= n < 2**31:
        raise ValueError(f"{name}: expected a whole number of 32 bits, found {n}")
    return n


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _of_one_batch(function: _Function) -> _Function:
    """Of a method: arrays that are not in a dict are refused with words."""

    @functools.wraps(function)
    def call(self: Model, *batch: Any, **named: Any) -> Any:
        if len(batch) + len(named) != 1 or (named and "batch" not in named):
            found = [*(type(b).__name__ for b in batch), *(f"{name}=" for name in named)]
            raise self._other_batch(function.__name__, ", ".join(found) or "nothing")
        return function(self, *batch, **named)

    return cast(_Function, call)


class Model:
    """An instance of a model: its parameters, and what training needs.

    One call at a time; different models are independent, and calls of them run side by side in threads.
    """

    def __init__(self, module: Any, threads: int = 1, seed: int = 1) -> None:
        about = module.describe()
        self._module, self._threads, self._seed = module, _whole("threads", threads), _whole("seed", seed)
        self._sampling: dict[str, float] = about["sampling"]
        self._has_weights = "train" in about["entries"]  # else load() brings them
        self.name: str = about["name"]
        self.config: str = about["config"]
        self.precision: str = about["precision"]
        self.parameter_count: int = about["parameters"]
        self.vocab: int | None = about["vocab"] or None
        self._entries = {name: (_arrays(taken), _arrays(given)) for name, (taken, given) in about["entries"].items()}
        self._known = {name for taken, _ in self._entries.values() for name in taken}
        self._views: dict[str, numpy.ndarray] | None = None
        self._instance = module.open(self._threads, self._seed)

    def __repr__(self) -> str:
        return f"<lathe model {self.name}: {self.parameter_count:,} parameters, {self.bytes:,} bytes, step {self.steps}>"

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: all that training needs; a text that is being written is not taken along."""
        whole = {key: value for key, value in self.__dict__.items() if key not in ("_module", "_instance", "_views")}
        return {"whole": whole, "module": (self._module.__name__, self._module.__file__), "saved": self.save() if self._has_weights else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["whole"])
        self._views = None
        self._module = _module_again(*state["module"])
        self._instance = self._module.open(self._threads, self._seed)
        if state["saved"] is not None:
            self.load(state["saved"])

    # ---- what it is

    @property
    def inputs(self) -> dict[str, Array]:
        """The arrays of a batch of step(); of predict(), where the model does not train."""
        return next((self._entries[e][0] for e in ("train", "predict", "layer") if e in self._entries), {})

    @property
    def outputs(self) -> dict[str, Array]:
        """The arrays that predict() returns."""
        return next((self._entries[e][1] for e in ("predict", "layer") if e in self._entries), {})

    @property
    def parameters(self) -> dict[str, Array]:
        """Names as in model.safetensors."""
        return {name: Array(name, dtype, shape) for name, dtype, shape, *_ in self._instance.parameters()}

    @property
    def steps(self) -> int:
        """Steps of training done; -1: it is closed."""
        done: int = self._instance.steps()
        return done

    @property
    def bytes(self) -> int:
        """All memory that it uses."""
        return memoryview(self._instance).nbytes

    # ---- calls

    def _batch(self, function: str, entry: str, batch: Mapping[str, Any]) -> dict[str, Any]:
        """As the entry takes it: arrays of other libraries as NumPy's, without what only other entries read."""
        if not isinstance(batch, Mapping):
            raise self._other_batch(function, type(batch).__name__)
        taken = self._entries.get(entry, ({},))[0]
        return {name: _array_of(function, name, array) for name, array in batch.items() if name in taken or name not in self._known}

    def _other_batch(self, function: str, found: str) -> TypeError:
        return TypeError(f"{function}: expected a dict of arrays by name ({', '.join(self.inputs)}), found {found}")

    @_of_one_batch
    def step(self, batch: Mapping[str, Any]) -> dict[str, float]:
        """Trains on a batch; returns loss, grad_norm (before clipping), lr, skipped, and losses by name."""
        said: dict[str, float] = self._instance.step(self._batch("step", "train", batch))
        return said

    @_of_one_batch
    def evaluate(self, batch: Mapping[str, Any]) -> dict[str, float]:
        """Loss and metrics of a batch."""
        said: dict[str, float] = self._instance.evaluate(self._batch("evaluate", "eval", batch))
        return said

    @_of_one_batch
    def predict(self, batch: Mapping[str, Any]) -> dict[str, numpy.ndarray]:
        """The outputs of a batch."""
        results = {a.name: numpy.empty(a.shape, a.dtype) for a in self._entries.get("predict", ({}, {}))[1].values()}
        self._instance.predict(self._batch("predict", "predict", batch), results)
        return results

    # ---- texts

    def next(self, token: int) -> numpy.ndarray:
        """Adds a token to the text; returns the scores (logits) of those that may come next."""
        scores = numpy.empty(self.vocab or 0, "float64" if self.precision == "fp64" else "float32")
        self._instance.next(token, scores)
        return scores

    def forget(self) -> None:
        """Begins another text."""
        self._instance.forget()

    def draw(
        self,
        scores: numpy.ndarray,
        *,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        seed: int = 1,
        below: int | None = None,
    ) -> int:
        """The next token, by the scores that next() gave: that of `trainer generate` with the same settings and seed.

        What is not given is as the description says.  temperature 0: the likeliest.  below: only ids below it are drawn.
        """
        given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "repetition_penalty": repetition_penalty}
        how = {key: self._sampling[key] if value is None else value for key, value in given.items()}
        token: int = self._instance.draw(scores, *how.values(), _whole("seed", seed), below or 0)
        return token

    def tokens(self, prompt: Sequence[int], **how: Unpack[Sampling]) -> Iterator[int]:
        """Goes on with a text of ids, token by token, without end; how: as draw() takes it."""
        return self._going_on(self._ids_of("tokens", prompt), how)

    def _ids_of(self, function: str, prompt: str | _Bytes | Sequence[int]) -> list[int]:
        if "decode" not in self._entries:
            self.forget()  # which refuses, and says why
        if isinstance(prompt, (str, bytes)) and self.vocab != 256:
            raise TypeError(f"{function}: expected ids below {self.vocab}, found {type(prompt).__name__}; only a model of bytes takes text")
        try:
            begun = [operator.index(token) for token in (prompt.encode() if isinstance(prompt, str) else prompt)]
        except TypeError as e:
            raise TypeError(f"{function}: expected the prompt as a list of ids; {e}") from e
        if not begun:
            raise ValueError(f"{function}: the prompt is empty; expected at least one token")
        return begun

    def _going_on(self, begun: Sequence[int], how: Sampling) -> Iterator[int]:
        self.forget()
        for token in begun:
            scores = self.next(token)
        while True:
            token = self.draw(scores, **how)
            yield token
            scores = self.next(token)

    @overload
    def generate(self, prompt: str, tokens: int, *, ends: Sequence[int] = (), **how: Unpack[Sampling]) -> str: ...
    @overload
    def generate(self, prompt: _Bytes, tokens: int, *, ends: Sequence[int] = (), **how: Unpack[Sampling]) -> _Bytes: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, prompt: Sequence[int], tokens: int, *, ends: Sequence[int] = (), **how: Unpack[Sampling]) -> list[int]: ...

    def generate(self, prompt: str | _Bytes | Sequence[int], tokens: int, *, ends: Sequence[int] = (), **how: Unpack[Sampling]) -> Any:
        """A text that begins with the prompt and has at most that many tokens more.

        Ids give ids; bytes and str are for models of bytes (vocab 256).  ends: tokens that end it, and are not part of it; how: as draw()
        takes it.
        """
        text = self._ids_of("generate", prompt)
        for token in itertools.islice(self._going_on(tuple(text), how), tokens):
            if token in ends:
                break
            text.append(token)
        if isinstance(prompt, str):
            return bytes(text).decode(errors="replace")
        return bytes(text) if isinstance(prompt, bytes) else text

    # ---- parameters

    def state_dict(self) -> dict[str, numpy.ndarray]:
        """The parameters, without a copy: what is written there is the model's, and a step changes it.

        NumPy's arrays are DLPack's, too: torch.from_dlpack(array) shares the memory.  bfloat16 is there as uint16.
        """
        if self._views is None:
            self._views = {
                name: numpy.ndarray(shape, dtype, self._instance, offset, strides)
                for name, dtype, shape, strides, offset, _ in self._instance.parameters()
            }
        return dict(self._views)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes all parameters; optimizer and steps begin anew, as after load() of parameters alone."""
        if not isinstance(state, Mapping):
            raise TypeError(f"load_state_dict: expected a dict of arrays by name, found {type(state).__name__}")
        own = self.state_dict()
        missing, other = own.keys() - state.keys(), state.keys() - own.keys()
        if missing or other:
            raise ValueError(
                "load_state_dict: expected the names of state_dict()"
                + (f"; missing: {', '.join(sorted(missing))}" if missing else "")
                + (f"; not there: {', '.join(sorted(other))}" if other else "")
            )
        taken = {name: numpy.asarray(_array_of("load_state_dict", name, state[name])) for name in own}
        for name, array in taken.items():
            if array.dtype != own[name].dtype:
                raise TypeError(f"load_state_dict: {name}: expected {own[name].dtype}, found {array.dtype}; use numpy.asarray(…, \"{own[name].dtype}\")")
            if array.shape != own[name].shape:
                raise ValueError(f"load_state_dict: {name}: expected the shape {own[name].shape}, found {array.shape}")
        self.load(_safetensors(taken))

    @overload
    def save(self, path: None = None, weights: bool = False) -> _Bytes: ...
    @overload
    def save(self, path: str | os.PathLike[str], weights: bool = False) -> None: ...

    def save(self, path: str | os.PathLike[str] | None = None, weights: bool = False) -> _Bytes | None:
        """All that training needs to go on to the bit, or the weights alone, as safetensors: bytes, or a file, which is never there in part."""
        if path is None:
            saved: _Bytes = self._instance.save(not weights)
            return saved
        self._instance.save_file(os.fsencode(path), not weights)
        return None

    def load(self, saved: _Bytes | str | os.PathLike[str]) -> None:
        """What save() gave or a trainer's model.safetensors: bytes, or a file."""
        if isinstance(saved, (str, os.PathLike)):
            self._instance.load_file(os.fsencode(saved))
        else:
            try:
                self._instance.load(saved)
            except TypeError:
                raise TypeError(f"load: expected a path, or the bytes that save() gave, found {type(saved).__name__}") from None
        self._has_weights = True

    def close(self) -> None:
        """Ends its threads.  Views of parameters stay readable."""
        self._instance.close()


def _array_of(function: str, name: str, array: Any) -> Any:
    """An array of NumPy; what has no numbers, or rows of different lengths, stays what it is, and is refused as such."""
    if isinstance(array, numpy.ndarray):
        return array
    try:
        made = numpy.asarray(array)
        return array if made.dtype == object else made
    except ValueError:
        return array
    except Exception as e:  # PyTorch's, of a tensor on a GPU, say
        raise TypeError(f"{function}: the array {name}: expected an array on the processor, found {type(array).__name__}: {e}") from e


_SAFETENSORS = {"float32": "F32", "float64": "F64", "uint16": "BF16", "float16": "F16", "int32": "I32", "uint8": "U8"}


def _safetensors(state: Mapping[str, numpy.ndarray]) -> bytes:
    head: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in state.items():
        part = array.tobytes()
        head[name] = {"dtype": _SAFETENSORS[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
