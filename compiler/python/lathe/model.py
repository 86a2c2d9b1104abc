"""model.py: a model as an object of Python, over the module _model that its description was compiled to.

Packages that `python3 -m lathe wheel` makes have a copy of this file: it needs NumPy and nothing of Lathe.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

import numpy


_Bytes = bytes  # which Model has another meaning for


@dataclass(frozen=True)
class Array:
    """An input or an output: what is expected of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    below: int | None = None  #: of ids: they are below this


def _arrays(rows: list[tuple[Any, ...]]) -> dict[str, Array]:
    return {name: Array(name, dtype, shape, below or None) for name, dtype, shape, _, below in rows}


class Model:
    """An instance of a model: its parameters, and what training needs.

    One call at a time; different models are independent, and calls of them run side by side in threads.
    """

    def __init__(self, module: Any, threads: int = 1, seed: int = 0) -> None:
        about = module.describe()
        self.name: str = about["name"]
        self.config: str = about["config"]
        self.precision: str = about["precision"]
        self.parameter_count: int = about["parameters"]
        self.vocab: int | None = about["vocab"] or None
        self._entries = {name: (_arrays(taken), _arrays(given)) for name, (taken, given) in about["entries"].items()}
        self._known = {name for taken, _ in self._entries.values() for name in taken}
        self._views: dict[str, numpy.ndarray] | None = None
        self._instance = module.open(threads, seed)

    def __repr__(self) -> str:
        return f"<lathe model {self.name}: {self.parameter_count:,} parameters, {self.bytes:,} bytes, step {self.steps}>"

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

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

    def _batch(self, entry: str, batch: Mapping[str, Any]) -> dict[str, Any]:
        """As the entry takes it: arrays of other libraries as NumPy's, without what only other entries read."""
        taken = self._entries.get(entry, ({},))[0]
        return {
            name: array if isinstance(array, numpy.ndarray) else numpy.asarray(array)
            for name, array in batch.items()
            if name in taken or name not in self._known
        }

    def step(self, batch: Mapping[str, Any]) -> dict[str, float]:
        """Trains on a batch; returns loss, grad_norm (before clipping), lr and skipped."""
        said: dict[str, float] = self._instance.step(self._batch("train", batch))
        return said

    def evaluate(self, batch: Mapping[str, Any]) -> dict[str, float]:
        """Loss and metrics of a batch."""
        said: dict[str, float] = self._instance.evaluate(self._batch("eval", batch))
        return said

    def predict(self, batch: Mapping[str, Any]) -> dict[str, numpy.ndarray]:
        """The outputs of a batch."""
        results = {a.name: numpy.empty(a.shape, a.dtype) for a in self._entries.get("predict", ({}, {}))[1].values()}
        self._instance.predict(self._batch("predict", batch), results)
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

    def tokens(self, prompt: Sequence[int], temperature: float = 1.0, seed: int = 0) -> Iterator[int]:
        """Goes on with a text of ids, token by token; temperature 0: always the likeliest."""
        draw = numpy.random.default_rng(seed)
        if not len(prompt):
            raise ValueError("generate: the prompt is empty; expected at least one token")
        self.forget()
        for token in prompt:
            scores = self.next(int(token))
        while True:
            if temperature > 0:
                shares = numpy.exp((scores - scores.max()).astype("float64") / temperature)
                token = int(draw.choice(len(shares), p=shares / shares.sum()))
            else:
                token = int(scores.argmax())
            yield token
            scores = self.next(token)

    def generate(self, prompt: str | _Bytes | Sequence[int], tokens: int, temperature: float = 1.0, seed: int = 0) -> Any:
        """A text that begins with the prompt.  Ids give ids; bytes and str are for models of bytes (vocab 256)."""
        if isinstance(prompt, (str, bytes)) and self.vocab != 256:
            raise TypeError(f"generate: expected ids below {self.vocab}, found {type(prompt).__name__}; only a model of bytes takes text")
        begun = list(prompt.encode() if isinstance(prompt, str) else prompt)
        more = self.tokens(begun, temperature, seed)
        text = begun + [next(more) for _ in range(tokens)]
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
        own = self.state_dict()
        missing, other = own.keys() - state.keys(), state.keys() - own.keys()
        if missing or other:
            raise ValueError(
                "load_state_dict: expected the names of state_dict()"
                + (f"; missing: {', '.join(sorted(missing))}" if missing else "")
                + (f"; not there: {', '.join(sorted(other))}" if other else "")
            )
        self.load(_safetensors({name: numpy.asarray(state[name]) for name in own}))

    def save(self, path: str | os.PathLike[str] | None = None, weights: bool = False) -> _Bytes | None:
        """All that training needs to go on to the bit, or the weights alone, as safetensors: bytes, or a file."""
        saved: _Bytes = self._instance.save(not weights)
        if path is None:
            return saved
        part = f"{os.fspath(path)}.part"
        with open(part, "wb") as f:
            f.write(saved)
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, path)
        return None

    def load(self, saved: _Bytes | str | os.PathLike[str]) -> None:
        """What save() gave or a trainer's model.safetensors: bytes, or a file."""
        if isinstance(saved, (str, os.PathLike)):
            with open(saved, "rb") as f:
                saved = f.read()
        self._instance.load(saved)

    def close(self) -> None:
        """Ends its threads.  Views of parameters stay readable."""
        self._instance.close()


_SAFETENSORS = {"float32": "F32", "float64": "F64", "uint16": "BF16", "float16": "F16", "int32": "I32", "uint8": "U8"}


def _safetensors(state: Mapping[str, numpy.ndarray]) -> bytes:
    head: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in state.items():
        if array.dtype.name not in _SAFETENSORS:
            raise TypeError(f"load_state_dict: {name}: expected numbers of type float32, found {array.dtype}")
        part = array.tobytes()
        head[name] = {"dtype": _SAFETENSORS[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
