"""torch.py: a description's function as a torch.nn.Module: its forward and its backward are Lathe's."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy
import torch

from .build import built_module, words_of
from .model import _arrays, _module_again, _whole, load_module


def _numbers(t: torch.Tensor) -> numpy.ndarray:
    return t.detach().contiguous().numpy()


class _Run:
    """A call of a layer, as its backward needs it."""

    def __init__(self, layer: Layer, seed: int) -> None:
        self.layer, self.seed, self.ticket = layer, seed, 0


class _Gradients(torch.autograd.Function):
    """Backward of _Call; a function of its own, as gradients of gradients would otherwise pass for zeros."""

    @staticmethod
    def forward(run: _Run, needs: Sequence[bool], *tensors: torch.Tensor | None) -> Any:
        n = len(needs)
        return tuple(run.layer._gradients_of(run, tensors[:n], tensors[n:], needs))  # type: ignore[arg-type]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> Any:
        raise RuntimeError("a layer of Lathe differentiates once: gradients of its gradients (create_graph=True) are not there")


class _Call(torch.autograd.Function):
    @staticmethod
    def forward(run: _Run, *tensors: torch.Tensor) -> Any:
        layer = run.layer
        arrays = {name: _numbers(t) for name, t in zip(layer._names, tensors)}
        results = layer._empty_results()
        with layer._having(tensors[len(layer._names) :]):
            run.ticket = layer._instance.forward(arrays, {name: t.numpy() for name, t in results.items()}, run.seed)
        return tuple(results.values())

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.run, *tensors = inputs
        ctx.save_for_backward(*tensors)  # the parameters, too: PyTorch complains where they have changed before backward
        ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> Any:
        found = _Gradients.apply(ctx.run, ctx.needs_input_grad[1:], *ctx.saved_tensors, *gradients)
        return (None, *found)


class Layer(torch.nn.Module):
    """What wrap() returns.  Its parameters are the memory of the instance: an optimizer's update is seen at once."""

    def __init__(self, module: Any, threads: int, seed: int) -> None:
        super().__init__()
        about = module.describe()
        entries = {name: (_arrays(taken), _arrays(given)) for name, (taken, given) in about["entries"].items()}
        self._taken, given = entries["layer"]
        self._names = tuple(name for name in self._taken if not name.startswith("d_"))
        self._outputs = [a for a in given.values() if not a.name.startswith("d_")]
        self._draws = bool(about["draws"])
        self._predicts = "predict" in entries
        self._threads, self._seed = _whole("threads", threads), _whole("seed", seed)
        self._own: list[tuple[torch.nn.Module, str]] = []
        self._open(module)
        self._real = next((getattr(torch, shared.dtype.name) for shared in self._shared), torch.float32)
        for (name, *_), shared, slope in zip(self._instance.parameters(), self._shared, self._gradients):
            self._register(name, torch.nn.Parameter(torch.from_numpy(shared), requires_grad=slope is not None))

    def _open(self, module: Any) -> None:
        self._module = module
        self._running = threading.Lock()
        self._instance = module.open(self._threads, self._seed)
        self._shared: list[numpy.ndarray] = []
        self._gradients: list[torch.Tensor | None] = []
        for _, dtype, shape, strides, offset, gradient in self._instance.parameters():
            self._shared.append(numpy.ndarray(shape, dtype, self._instance, offset, strides))
            self._gradients.append(torch.from_numpy(numpy.ndarray(shape, dtype, self._instance, gradient, strides)) if gradient >= 0 else None)

    def _register(self, name: str, parameter: torch.nn.Parameter) -> None:
        """A module for each word before a dot, so that state_dict() has the names of model.safetensors."""
        place: torch.nn.Module = self
        *path, last = name.split(".")
        for word in path:
            if word not in place._modules:
                place.add_module(word, torch.nn.Module())
            place = place._modules[word]  # type: ignore[assignment]
        place.register_parameter(last, parameter)
        self._own.append((place, last))

    # ---- the memory that parameters share with the instance

    def _share(self) -> None:
        """Where PyTorch has given a parameter other memory, its values go into the instance's, and it has that again."""
        for (place, name), shared in zip(self._own, self._shared):
            p = place._parameters.get(name)
            if p is None or p.device.type != "cpu" or p.dtype != self._real or p.data_ptr() == shared.ctypes.data:
                continue
            if not p.is_shared():  # type: ignore[no-untyped-call]  # with other processes: share_memory()
                shared[...] = p.detach().numpy()
                p.data = torch.from_numpy(shared)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        """What to(), float() and the like call."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._share()
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: the parameters are those of the module; the instance is opened again."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("_module", "_instance", "_running", "_shared", "_gradients")}
        return {**state, "_module_of": (self._module.__name__, self._module.__file__)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        module = state.pop("_module_of")
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._open(_module_again(*module))
        self._share()

    def _current_parameters(self) -> list[torch.Tensor]:
        """What stands in their places now: parameters, or what torch.func or a parametrization put there."""
        now = [getattr(place, name) for place, name in self._own]
        for (_, name), parameter, shared in zip(self._own, now, self._shared):
            if parameter.device.type != "cpu":
                raise RuntimeError(f"a layer of Lathe runs on the processor; found the parameter {name} on {parameter.device}: use layer.cpu()")
            if parameter.dtype != self._real or tuple(parameter.shape) != shared.shape:
                raise RuntimeError(
                    f"the layer was built for parameters of {self._real}; found {name} of {parameter.dtype} and the shape {tuple(parameter.shape)}: "
                    f"use layer.to({self._real}); wrap(…, precision=\"fp64\") makes a layer of float64"
                )
        return now

    @contextlib.contextmanager
    def _having(self, parameters: Sequence[torch.Tensor]) -> Iterator[None]:
        """During a call, one at a time, the instance has these values; afterwards those of its own parameters again."""
        if not self._running.acquire(blocking=False):
            raise RuntimeError("another call of this instance is running; one at a time")
        before = []
        try:
            for t, shared in zip(parameters, self._shared):
                if t.data_ptr() != shared.ctypes.data:
                    before.append((shared, shared.copy()))
                    shared[...] = t.detach().numpy()
            yield
        finally:
            for shared, values in before:
                shared[...] = values
            self._running.release()

    # ---- calls

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # breaks the graph, as nothing in it is PyTorch's
    def forward(self, *inputs: torch.Tensor, **named: torch.Tensor) -> Any:
        """The inputs in the order of `inputs`, or by name.  Returns the output, or a dict where there are several."""
        tensors = self._checked(self._given(inputs, named))
        own = self._current_parameters()
        graded = torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *own))
        if self._draws and not self.training:
            return self._shown(self._predicted(tensors, own, graded))
        seed = int(torch.randint(2**31 - 1, ())) if self._draws else 0
        return self._shown(_Call.apply(_Run(self, seed), *tensors, *own))

    def _gradients_of(
        self, run: _Run, tensors: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor | None], needs: Sequence[bool]
    ) -> list[torch.Tensor | None]:
        """Of inputs and parameters, from those of the outputs."""
        inputs = dict(zip(self._names, tensors))
        batch = {name: _numbers(t) for name, t in inputs.items()}
        for output, g in zip(self._outputs, gradients):
            if f"d_{output.name}" in self._taken:
                batch[f"d_{output.name}"] = numpy.zeros(output.shape, output.dtype) if g is None else _numbers(g)
        wanted = {name: torch.empty(t.shape, dtype=t.dtype) for (name, t), n in zip(inputs.items(), needs) if n and t.is_floating_point()}
        with self._having(tensors[len(inputs) :]):
            self._instance.backward(run.ticket, batch, {f"d_{name}": t.numpy() for name, t in wanted.items()}, run.seed)
            own = [g.clone() if g is not None and n else None for g, n in zip(self._gradients, needs[len(inputs) :])]
        return [*(wanted.get(name) for name in inputs), *own]

    def _given(self, inputs: Sequence[torch.Tensor], named: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        if len(inputs) > len(self._names):
            raise TypeError(f"expected at most {len(self._names)} inputs ({', '.join(self._names)}), found {len(inputs)}")
        given = dict(zip(self._names, inputs))
        twice, other = given.keys() & named.keys(), named.keys() - set(self._names)
        missing = [name for name in self._names if name not in given and name not in named]
        if twice or other or missing:
            words = [f"{w}: {', '.join(sorted(n))}" for w, n in (("given twice", twice), ("not an input", other), ("missing", missing)) if n]
            raise TypeError(f"expected the inputs {', '.join(self._names)}; " + "; ".join(words))
        return [{**given, **named}[name] for name in self._names]

    def _checked(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Under autocast, reals of the layer's type, as PyTorch's operations in full precision have them."""
        for i, (name, t) in enumerate(zip(self._names, tensors)):
            wanted = getattr(torch, self._taken[name].dtype)
            if not isinstance(t, torch.Tensor):
                raise TypeError(f"the input {name}: expected a tensor, found {type(t).__name__}; torch.as_tensor({name}) makes one")
            if t.device.type != "cpu":
                raise RuntimeError(f"the input {name}: a layer of Lathe runs on the processor; found a tensor on {t.device}: use {name}.cpu()")
            if t.is_floating_point() and wanted.is_floating_point and torch.is_autocast_enabled("cpu"):
                t = tensors[i] = t.to(wanted)
            if t.dtype != wanted:
                raise TypeError(f"the input {name}: expected {wanted}, found {t.dtype}; use {name}.to({wanted})")
            if tuple(t.shape) != self._taken[name].shape:
                raise ValueError(
                    f"the input {name}: expected the shape {self._taken[name].shape}, found {tuple(t.shape)}; sizes, the batch's too, "
                    "are fixed when a layer is built: wrap(…, set={\"batch\": N})"
                )
        return tensors

    def _predicted(self, tensors: Sequence[torch.Tensor], own: Sequence[torch.Tensor], graded: bool) -> tuple[torch.Tensor, ...]:
        """Without dropout."""
        if graded or not self._predicts:
            raise RuntimeError("a layer with dropout has gradients in train() alone; in eval(), call it under torch.no_grad()")
        results = self._empty_results()
        with self._having(own):
            self._instance.predict({name: _numbers(t) for name, t in zip(self._names, tensors)}, {name: t.numpy() for name, t in results.items()})
        return tuple(results.values())

    def _empty_results(self) -> dict[str, torch.Tensor]:
        return {a.name: torch.empty(a.shape, dtype=getattr(torch, a.dtype)) for a in self._outputs}

    def _shown(self, results: Sequence[torch.Tensor]) -> Any:
        return results[0] if len(results) == 1 else {a.name: t for a, t in zip(self._outputs, results)}

    @property
    def inputs(self) -> tuple[str, ...]:
        return self._names

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {self._taken[name].dtype}{list(self._taken[name].shape)}" for name in self._names)


def wrap(
    model: str | os.PathLike[str],
    config: str | None = None,
    set: Mapping[str, Any] | None = None,
    *,
    threads: int | None = None,
    seed: int = 1,
    precision: str | None = None,
    options: Sequence[str] = (),
    cache: str | os.PathLike[str] | None = None,
) -> Layer:
    """A module whose forward and backward are those of a description's outputs; sizes, the batch's too, are fixed.

    What its `forward` returns beside the loss is the result; the loss is not computed.  threads: as many as torch's.
    """
    words = words_of(config, set, precision, False, ["--layer", *options])
    module = load_module(built_module(model, words, cache=cache))
    return Layer(module, threads or torch.get_num_threads(), seed)
