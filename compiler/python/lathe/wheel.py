"""wheel.py: the wheel of a model (python3 -m lathe wheel)."""

from __future__ import annotations

import argparse
import keyword
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Sequence

from .build import MODULE, Error, compile_module, words_of, write_source
from .model import Model, load_module
from .wheel_file import write_wheel

# ---------------------------------------------------------------- what a module needs of the system

_OF_MANYLINUX = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def platform_tag(module: Path) -> str:
    """manylinux_2_N, where N is the newest version of glibc that a symbol of the module asks for; a module that
    needs another library, or another libc, is for this system alone."""
    readelf = shutil.which("readelf")
    if not readelf:
        raise Error("readelf is missing (Debian, Ubuntu: apt install binutils): it says which systems a wheel is for")
    environment = dict(os.environ, LC_ALL="C")
    said = subprocess.run([readelf, "-dVW", str(module)], capture_output=True, text=True, env=environment, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
    newest = max((int(n) for n in re.findall(r"Name: GLIBC_2\.(\d+)", said)), default=0)
    machine = platform.machine()
    if needed <= _OF_MANYLINUX and newest:
        return f"manylinux_2_{max(newest, 17)}_{machine}"
    return f"linux_{machine}"


# ---------------------------------------------------------------- the wheel of a model

_INIT = '''"""{title}, made by lathe."""

from importlib import resources as _resources

from . import _model
from .model import Array, Model

__all__ = ["Array", "Model", "open"]


def open(threads: int = 1, seed: int = 1) -> Model:
    """An instance of the model{trained}."""
    model = Model(_model, threads, seed)
{load}    return model
'''
_LOAD = '    model.load(_resources.files(__name__).joinpath("model.safetensors").read_bytes())\n'
_ANYWHERE = {"x86_64": "x86-64-v3", "aarch64": "armv8-a"}


def _word(name: str) -> str:
    """As it is imported; pip's name of it begins and ends with a letter or digit."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    if word[:1].isdigit():
        return f"_{word}"
    return f"{word}_" if keyword.iskeyword(word) else word


def _read_weights(path: Path) -> bytes:
    if path.is_dir():
        path /= "model.safetensors"
    try:
        return path.read_bytes()
    except OSError as e:
        raise Error(f"--weights {path}: {e.strerror}; expected a model.safetensors, or the folder of a checkpoint, which has one") from e


def _check_weights(path: str, weights: bytes, source: Path) -> None:
    """By what reads them where the wheel is installed.  A wheel for another processor is compiled for this one, too."""
    try:
        module = load_module(source.with_name(MODULE))
    except ImportError:
        here = source.with_name("here.abi3.so")
        compile_module(source, here, "native")
        module = load_module(here)
    try:
        Model(module).load(weights)
    except ValueError as e:
        raise Error(f"--weights {path}: {str(e).removeprefix('load: ')}\n  expected weights of this model, built with the same --config and --set") from e


def make_wheel(
    model: str, words: Sequence[str], out: str = ".", name: str | None = None, version: str = "1.0", weights: str | None = None, march: str | None = None
) -> Path:
    package = _word(name or Path(model).stem)
    trained = _read_weights(Path(weights)) if weights else None
    march = march or _ANYWHERE.get(platform.machine(), "native")
    with tempfile.TemporaryDirectory() as folder:
        source = write_source(model, words, Path(folder))
        compile_module(source, Path(folder) / MODULE, march)
        if weights and trained is not None:
            _check_weights(weights, trained, source)
        module = (Path(folder) / MODULE).read_bytes()
        tag = f"cp311-abi3-{platform_tag(Path(folder) / MODULE)}"
    init = _INIT.format(
        title=Path(model).name.replace("\\", "").replace('"', ""), trained=", with the weights of the wheel" if weights else "", load=_LOAD if weights else ""
    )
    files = {
        f"{package}/__init__.py": init.encode(),
        f"{package}/model.py": (Path(__file__).parent / "model.py").read_bytes(),
        f"{package}/py.typed": b"",
        f"{package}/{MODULE}": module,
    }
    if trained is not None:
        files[f"{package}/model.safetensors"] = trained
    metadata = f"Summary: the model {package}, made by lathe for {march}\nRequires-Dist: numpy\n"
    return write_wheel(Path(out), package.strip("_") or "model", version, tag, metadata, files)


def wheel_command(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python3 -m lathe wheel", description="A wheel of a model: installing it takes no compiler and no Lathe.")
    parser.add_argument("model", metavar="MODEL.lua")
    parser.add_argument("--config", metavar="NAME")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("--precision", metavar="P")
    parser.add_argument("--inference", action="store_true", help="without training and evaluation")
    parser.add_argument("--weights", metavar="FILE", help="a model.safetensors, or the folder of a checkpoint, that goes into the wheel")
    parser.add_argument("--name", help="of the package (that of the description's file)")
    parser.add_argument("--version", default="1.0", help="of the package (1.0)")
    parser.add_argument("--march", help="the oldest processor that it runs on, as the C compiler's -march (x86-64-v3, armv8-a)")
    parser.add_argument("-o", metavar="DIR", default=".", help="where the wheel goes (here)")
    a = parser.parse_args(arguments)
    words = words_of(a.config, dict(s.partition("=")[::2] for s in a.set), a.precision, a.inference, ())
    print(make_wheel(a.model, words, a.o, a.name, a.version, a.weights, a.march))
