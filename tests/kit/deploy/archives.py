"""Archives of actions, and wheels, made of texts."""

from __future__ import annotations

import base64
import io
import tarfile
import zipfile


def zipped(**files):
    """`exec.code` of a zip; a file's name has `__` for a slash, and `_py` or `_js` for its suffix."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(_path(name), text)
    return base64.b64encode(made.getvalue()).decode()


def tarred(**files):
    """The same as a tar.gz."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(_path(name))
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return base64.b64encode(made.getvalue()).decode()


def _path(name):
    if name == "main_py":
        return "__main__.py"
    stem, _, suffix = name.rpartition("_")
    return f"{stem.replace('__', '/')}.{suffix}"


def wheel(folder, name, version="1.0", source="", tag="py3-none-any", needs=()):
    """Writes the wheel of a distribution with one module."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as archive:
        archive.writestr(f"{name}.py", source)
        archive.writestr(
            f"{about}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        )
        archive.writestr(
            f"{about}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
        )
        archive.writestr(f"{about}/RECORD", "")
