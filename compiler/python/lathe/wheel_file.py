"""wheel_file.py: writes a wheel; of Python alone, as build_lathe.py takes it before anything is installed."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Mapping, Sequence


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write_wheel(
    folder: Path, name: str, version: str, tag: str, metadata: str, files: Mapping[str, bytes], runs: Sequence[str] = (), more: Mapping[str, str] = {}
) -> Path:
    """Same files, same bytes.  runs: files that are programs; more: further files of dist-info."""
    about = f"{name}-{version}.dist-info"
    pure = "true" if tag.endswith("-none-any") else "false"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: >=3.11\n{metadata}"
    whole = dict(files)
    whole[f"{about}/METADATA"] = head.encode()
    whole[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: lathe\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    for file, text in more.items():
        whole[f"{about}/{file}"] = text.encode()
    record = "".join(f"{file},{_digest(content)},{len(content)}\n" for file, content in whole.items())
    whole[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for file, content in whole.items():
            info = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if file in runs else 0o100644) << 16
            z.writestr(info, content)
    return path
