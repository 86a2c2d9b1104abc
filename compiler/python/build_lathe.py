"""build_lathe.py: what pip calls (PEP 517) to make a wheel of the compiler: cmake builds it into the tree's build/, and
the wheel takes what `lathe build` needs: programs, runtime, Lua library (which is in the program)."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE / "lathe"))  # the package itself needs NumPy
from wheel_file import write_wheel  # noqa: E402

_TREE = _HERE.parent.parent
_PROGRAMS = ["lathe", "lathe-data", "lathe-diff", "lathe-measure", "lathe-sweep"]
_VERSION = re.search(r'define LATHE_VERSION "(.*)"', (_TREE / "runtime/interface/version.h").read_text())[1]


def _run(*line: str) -> None:
    if not shutil.which(line[0]):
        sys.exit(f"{line[0]} is missing: building Lathe takes the Debian packages that tests/setup.sh lists")
    if subprocess.run(line, cwd=_TREE).returncode:
        sys.exit(f"{' '.join(line)} failed; the Debian packages that it takes are listed in tests/setup.sh")


def _build() -> Path:
    build = _TREE / os.environ.get("BUILD", "build")
    if not (build / "CMakeCache.txt").exists():
        _run("cmake", "-S", ".", "-B", str(build))
    _run("cmake", "--build", str(build), "--parallel", "--target", "lathe")
    return build


def _without_debugging(file: Path) -> bytes:
    """A tenth of the size."""
    if not shutil.which("strip"):
        return file.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["strip", "-g", "-o", f"{folder}/stripped", str(file)], check=True)
        return Path(folder, "stripped").read_bytes()


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    if not (_TREE / "CMakeLists.txt").exists():
        sys.exit("the package is built inside of Lathe's tree: pip install LATHE/compiler/python")
    build = _build()
    files = {f"lathe/{f.name}": f.read_bytes() for f in sorted((_HERE / "lathe").iterdir()) if f.is_file()}
    files |= {f"lathe/bin/{program}": _without_debugging(build / program) for program in _PROGRAMS}
    for f in sorted((_TREE / "runtime").rglob("*")):
        if f.is_file():
            files[f"lathe/runtime/{f.relative_to(_TREE / 'runtime')}"] = f.read_bytes()
    files["lathe/runtime/library.c"] = (build / "library.c").read_bytes()
    files["lathe/runtime/liblathe_rt.a"] = _without_debugging(build / "liblathe_rt.a")
    metadata = "Summary: compiles a page of Lua to a model that trains at full speed\nLicense: MIT\nRequires-Dist: numpy\n"
    tag = f"py3-none-linux_{platform.machine()}"  # its libraries are this system's
    programs = [f"lathe/bin/{program}" for program in _PROGRAMS]
    scripts = {"entry_points.txt": "[console_scripts]\nlathe = lathe.__main__:main\n"}
    return write_wheel(Path(wheel_directory), "lathe", _VERSION, tag, metadata, files, programs, scripts).name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    sys.exit("there is no source distribution: the package is built inside of Lathe's tree: pip install LATHE/compiler/python")
