"""rows.py: the models that bench.py times, with the sizes of those that have a floor."""

from dataclasses import dataclass


@dataclass
class Row:
    """Sizes, told independently of the compiler, which is asked whether it agrees."""

    layers: int
    heads: int
    width: int
    seq: int
    batch: int
    vocab: int
    context: int
    kv_heads: int = 0
    hidden: int = 0
    up: int = 1  # matrices that lead into the middle of the feed-forward part
    tied: bool = False
    bias: bool = True
    attention_bias: bool = False
    gelu: str = "tanh"
    in_out: bool = False
    model: str = "gpt"
    config: str = ""
    sets: tuple = ()

    def __post_init__(self):
        self.kv_heads = self.kv_heads or self.heads
        self.hidden = self.hidden or 4 * self.width


@dataclass
class NoFloor:
    """Whose products hang on each other, or are too small to be a floor: Lathe and PyTorch side by side."""

    model: str
    config: str = ""
    sets: tuple = ()


ROWS = {
    "char": Row(4, 4, 128, 64, 12, 65, 64, tied=True, bias=False, gelu="erf"),
    "small": Row(2, 8, 256, 128, 32, 10000, 512),
    "large": Row(6, 8, 512, 128, 8, 50000, 512),
    "stream": Row(6, 8, 512, 256, 16, 16000, 512),
    "gpt2": Row(12, 12, 768, 256, 4, 50257, 1024, tied=True, attention_bias=True, in_out=True,
                sets=("seq=256", "batch=4", "context=1024", "accumulate=1")),
    "llama": Row(2, 8, 256, 128, 32, 10000, 512, kv_heads=4, hidden=704, up=2, model="llama", config="small"),
    "char_rnn": NoFloor("char_rnn", "large"),
    "mu": NoFloor("mu"),
    "diffusion": NoFloor("diffusion", "cpu"),
    "convnet": NoFloor("convnet", "cifar"),
    "vit": NoFloor("vit", "cifar"),
    "pointer": NoFloor("pointer_generator", sets=("batch=4", "accumulate=1")),
}  # fmt: skip
