"""torch.py: a description's function as a torch.nn.Module: its forward and its backward are Lathe's."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

import numpy
import torch

from .build import built_module, load_module, words_of
from .model import _arrays


class _Call(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layer: Layer, names: tuple[str, ...], seed: int, *tensors: torch.Tensor) -> Any:
        inputs = tensors[: len(names)]
        arrays = {name: t.detach().contiguous().numpy() for name, t in zip(names, inputs)}
        results = {a.name: torch.empty(a.shape, dtype=getattr(torch, a.dtype)) for a in layer._outputs}
        ctx.ticket = layer._instance.forward(arrays, {name: t.numpy() for name, t in results.items()}, seed)
        ctx.layer, ctx.names, ctx.seed = layer, names, seed
        ctx.save_for_backward(*tensors)  # the parameters, too: PyTorch complains where they have changed before backward
        ctx.mark_non_differentiable(*(t for t in results.values() if not t.is_floating_point()))
        return tuple(results.values())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> Any:
        layer = ctx.layer
        inputs = dict(zip(ctx.names, ctx.saved_tensors[: len(ctx.names)]))
        batch = {name: t.detach().contiguous().numpy() for name, t in inputs.items()}
        for output, g in zip(layer._outputs, gradients):
            if f"d_{output.name}" in layer._taken:
                batch[f"d_{output.name}"] = numpy.zeros(output.shape, output.dtype) if g is None else g.contiguous().numpy()
        wanted = {
            name: torch.empty(t.shape, dtype=t.dtype)
            for (name, t), needs in zip(inputs.items(), ctx.needs_input_grad[3:])
            if needs and t.is_floating_point()
        }
        layer._instance.backward(ctx.ticket, batch, {f"d_{name}": t.numpy() for name, t in wanted.items()}, ctx.seed)
        needs = ctx.needs_input_grad[3 + len(ctx.names) :]
        own = [g.clone() if g is not None and n else None for g, n in zip(layer._gradients, needs)]
        return (None, None, None, *(wanted.get(name) for name in ctx.names), *own)


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
        self._instance = module.open(threads, seed)
        self._shared: list[torch.Tensor] = []
        self._gradients: list[torch.Tensor | None] = []
        self._own: list[tuple[torch.nn.Module, str]] = []
        for name, dtype, shape, strides, offset, gradient in self._instance.parameters():
            view, slope = (torch.from_numpy(numpy.ndarray(shape, dtype, self._instance, at, strides)) if at >= 0 else None for at in (offset, gradient))
            assert view is not None
            self._shared.append(view)
            self._gradients.append(slope)
            self._register(name, torch.nn.Parameter(view, requires_grad=slope is not None))

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

    def _current_parameters(self) -> list[torch.Tensor]:
        """Whoever has given a parameter other memory has it copied at each call."""
        now = [place._parameters[name] for place, name in self._own]
        for parameter, shared in zip(now, self._shared):
            assert parameter is not None
            if parameter.device.type != "cpu":
                raise RuntimeError(f"a layer of Lathe runs on the processor; found a parameter on {parameter.device}: use layer.cpu()")
            if parameter.data_ptr() != shared.data_ptr():
                shared.copy_(parameter.detach())
        return now  # type: ignore[return-value]

    def forward(self, *inputs: torch.Tensor, **named: torch.Tensor) -> Any:
        """The inputs in the order of `inputs`, or by name.  Returns the output, or a dict where there are several."""
        if len(inputs) > len(self._names):
            raise TypeError(f"expected at most {len(self._names)} inputs ({', '.join(self._names)}), found {len(inputs)}")
        given = dict(zip(self._names, inputs))
        twice, other = given.keys() & named.keys(), named.keys() - set(self._names)
        missing = [name for name in self._names if name not in given and name not in named]
        if twice or other or missing:
            words = [f"{w}: {', '.join(sorted(n))}" for w, n in (("given twice", twice), ("not an input", other), ("missing", missing)) if n]
            raise TypeError(f"expected the inputs {', '.join(self._names)}; " + "; ".join(words))
        tensors = [{**given, **named}[name] for name in self._names]
        own = self._current_parameters()
        graded = torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *own))
        if self._draws and not self.training:
            return self._shown(self._predicted(tensors, graded))
        seed = int(torch.randint(2**31 - 1, ())) if self._draws else 0
        return self._shown(_Call.apply(self, self._names, seed, *tensors, *own))

    def _predicted(self, tensors: Sequence[torch.Tensor], graded: bool) -> tuple[torch.Tensor, ...]:
        """Without dropout."""
        if graded or not self._predicts:
            raise RuntimeError("a layer with dropout has gradients in train() alone; in eval(), call it under torch.no_grad()")
        results = {a.name: torch.empty(a.shape, dtype=getattr(torch, a.dtype)) for a in self._outputs}
        arrays = {name: t.detach().contiguous().numpy() for name, t in zip(self._names, tensors)}
        self._instance.predict(arrays, {name: t.numpy() for name, t in results.items()})
        return tuple(results.values())

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
    seed: int = 0,
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
