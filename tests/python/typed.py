"""typed.py: a program of a user, for mypy --strict; nothing runs it."""

import numpy
import numpy.typing as npt

import lathe


def train(batches: list[dict[str, npt.NDArray[numpy.float32]]]) -> float:
    with lathe.compile("examples/digits/digits.lua", set={"batch": 32}, threads=2, seed=5) as model:
        losses: list[float] = [model.step(batch)["loss"] for batch in batches]
        best: int = int(model.predict(batches[0])["logits"].argmax())
        print(best, model.inputs["pixels"].shape, model.steps)
        weights: dict[str, npt.NDArray[numpy.float32]] = model.state_dict()
        model.load_state_dict(weights)
        saved: bytes = model.save()
        model.load(saved)
        model.save("digits.state")
        return losses[-1]


def write(model: lathe.Model) -> str:
    ids: list[int] = model.generate([1, 2], 20, top_k=5)
    some: bytes = model.generate(b"To be", 20, ends=[10])
    scores = model.next(ids[0])
    print(some, model.draw(scores, temperature=0))
    return model.generate("To be", 20, temperature=0.5, seed=2)
