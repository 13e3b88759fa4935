"""Packages that a test makes itself: wheels, archives of actions, and an npm that copies."""

from __future__ import annotations

import base64
import io
import tarfile
import zipfile


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """An archive of an action, as its document holds it."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return base64.b64encode(raw.getvalue()).decode()


def tarred(files):
    """The same as a tar.gz."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, text in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    return base64.b64encode(raw.getvalue()).decode()


def wheel(folder, name, version="1.0", **modules):
    """Writes a wheel with modules, as `pip` and `uv` install it."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    files = {
        **{f"{module}.py": source for module, source in modules.items()},
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    listed = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{about}/RECORD": listed}.items():
            archive.writestr(file, text)
    return path
