"""build.py: runs lathe and a C compiler: from a description to the module _model."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Mapping, Sequence

_HERE = Path(__file__).resolve().parent
_TREE = _HERE.parent.parent.parent  # where this is not installed, but lies in Lathe's tree
MODULE = "_model.abi3.so"


class Error(Exception):
    """What lathe or the C compiler says of a model."""


def lathe_program() -> tuple[str, dict[str, str]]:
    """Where lathe is, and the environment in which it finds its runtime."""
    own = os.environ.get("LATHE")
    environment = dict(os.environ)
    if own:
        return own, environment
    if (_HERE / "bin" / "lathe").exists():
        environment.setdefault("LATHE_RUNTIME", str(_HERE / "runtime"))
        return str(_HERE / "bin" / "lathe"), environment
    built = _TREE / os.environ.get("BUILD", "build") / "lathe"
    if built.exists():
        return str(built), environment
    raise Error(f"lathe is not built: expected {built}\n  build it (cmake --build build --target lathe), or set LATHE")


def c_compiler() -> list[str]:
    own = shlex.split(os.environ.get("CC", ""))
    if own and not shutil.which(own[0]):
        raise Error(f"CC={own[0]}: there is no such command\n  unset CC, or set it to a C compiler")
    for known in ([own] if own else []) + [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(known[0]):
            return known
    raise Error(
        "no C compiler: looked for cc, gcc and clang in PATH\n"
        "  install one (Debian, Ubuntu: apt install gcc libc6-dev), or set CC; a wheel of the model, made where there is one "
        "(python3 -m lathe wheel MODEL.lua), needs none"
    )


def _version(cc: Sequence[str]) -> str:
    return subprocess.run([*cc, "--version"], capture_output=True, text=True, env=dict(os.environ, LC_ALL="C")).stdout


def _c_flags(version: str, march: str) -> list[str]:
    """Results do not depend on them: what they depend on is in the source.  Speed does: gcc makes no vectors of a root that may set errno."""
    own = [] if "clang" in version else ["-fopenmp"]  # threads of its own, for gcc
    arithmetic = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"]
    return ["-std=gnu11", "-O3", f"-march={march}", *arithmetic, *own, "-fPIC", "-fvisibility=hidden", "-w", *shlex.split(os.environ.get("CFLAGS", ""))]


def _processor() -> str:
    """What -march=native means."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _setting(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def words_of(
    config: str | None, set: Mapping[str, Any] | None, precision: str | None, inference: bool, options: Sequence[str]
) -> list[str]:
    if set is not None and not isinstance(set, Mapping):
        raise TypeError(f'set: expected a dict such as {{"batch": 64}}, found {type(set).__name__}')
    if isinstance(options, str):
        raise TypeError(f"options: expected a list of words, found str; use options={options.split()}")
    words = ["--config", config] if config else []
    for key, value in (set or {}).items():
        words += ["--set", f"{key}={_setting(value)}"]
    words += ["--precision", precision] if precision else []
    return words + (["--inference"] if inference else []) + list(options)


def write_source(model: str | os.PathLike[str], words: Sequence[str], folder: Path) -> Path:
    program, environment = lathe_program()
    line = [program, "build", os.fspath(model), "--python", *words, "-o", str(folder)]
    run = subprocess.run(line, capture_output=True, text=True, env=environment)
    if run.returncode:
        raise Error(run.stderr.strip().removeprefix("lathe: error: ") or f"{shlex.join(line)} ended with {run.returncode}")
    return folder / "_model.c"


def compile_module(source: Path, module: Path, march: str) -> None:
    cc = c_compiler()
    line = [*cc, *_c_flags(_version(cc), march), "-shared", "-Wl,--strip-debug", "-o", str(module), str(source), "-lm", "-lpthread"]
    run = subprocess.run(line, capture_output=True, text=True)
    if run.returncode:
        raise Error(f"{shlex.join(line)}\n{run.stderr.strip()[:2000]}")


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lathe" / "python"


def built_module(model: str | os.PathLike[str], words: Sequence[str], march: str = "native", cache: str | os.PathLike[str] | None = None) -> Path:
    """Built before, or now.  Several processes may build the same."""
    folder = Path(cache) if cache else cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="new-") as new:
        source = write_source(model, words, Path(new))
        key = hashlib.sha256(source.read_bytes())
        cc = c_compiler()
        version = _version(cc)
        key.update("\0".join([*cc, version, *_c_flags(version, march), _processor() if march == "native" else ""]).encode())
        there = folder / key.hexdigest()[:32] / MODULE
        if not there.exists():
            compile_module(source, Path(new) / MODULE, march)
            there.parent.mkdir(exist_ok=True)
            os.replace(source, there.parent / "_model.c")
            os.replace(Path(new) / MODULE, there)
    return there
