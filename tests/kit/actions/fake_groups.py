"""cgroup v2 as a temporary directory: its rules, and the errors that it may answer with."""

from __future__ import annotations

import errno
import os
import shutil

LIMITS = {
    "memory": ("memory.max", "memory.swap.max", "memory.oom.group", "memory.events"),
    "pids": ("pids.max",),
}


class FakeTree:
    """A `Tree` over a directory, whose processes are numbers.

    Args:
        root: the directory.
        controllers: that the root has.
        is_machines: whether the root is the machine's: that one may have processes and pass on controllers.
        lacks: files that this kernel does not have.
    """

    def __init__(self, root, controllers=("memory", "pids"), *, is_machines=False, lacks=()):
        self.root, self.controllers = root, controllers
        self.is_machines, self.lacks = is_machines, set(lacks)
        self.errors = []  # operation, end of the path, number of the error, how often
        self.stubborn = {}  # by process: kills that it survives
        self.delegated = set()
        self.killed, self.done = [], []
        root.mkdir(exist_ok=True)
        self._equip(root)

    # --- the port ----------------------------------------------------------------------------

    def read(self, path):
        self._check("read", path)
        return path.read_text()

    def write(self, path, text):
        self._check("write", path)
        if not path.exists():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        match path.name:
            case "cgroup.procs":
                self._move(path.parent, text)
            case "cgroup.subtree_control":
                self._control(path.parent, text[0], text[1:])
            case "cgroup.kill":
                for group in [path.parent, *(p for p in path.parent.rglob("*") if p.is_dir())]:
                    for pid in self.processes(group):
                        self.kill(pid)
            case _:
                path.write_text(text)

    def make(self, group):
        self._check("make", group)
        group.mkdir()
        self._equip(group)

    def remove(self, group):
        self._check("remove", group)
        if not group.is_dir():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(group))
        if self.processes(group) or self.below(group):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(group))
        shutil.rmtree(group)

    def below(self, group):
        return [path for path in sorted(group.iterdir()) if path.is_dir()]

    def kill(self, pid):
        self.killed.append(pid)
        self.stubborn[pid] = self.stubborn.get(pid, 0) - 1
        if self.stubborn[pid] < 0:
            self._leave(pid)

    def wait(self, group, seconds):
        self.done.append(("wait", group.name))

    def is_delegated(self, group):
        return group in self.delegated

    # --- its rules ---------------------------------------------------------------------------

    def processes(self, group):
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]

    def place(self, pid, group):
        """Puts a process somewhere, as a fork does."""
        self._leave(pid)
        with (group / "cgroup.procs").open("a") as file:
            file.write(f"{pid}\n")

    def where(self, pid):
        groups = [self.root, *(path for path in self.root.rglob("*") if path.is_dir())]
        found = [group for group in groups if pid in self.processes(group)]
        return found[0] if found else None

    def _check(self, operation, path):
        self.done.append((operation, path.name))
        for entry in self.errors:
            wanted, end, number, left = entry
            if wanted == operation and str(path).endswith(end) and left > 0:
                entry[3] -= 1
                raise OSError(number, os.strerror(number), str(path))

    def _move(self, group, text):
        if self._control_of(group) and not (self.is_machines and group == self.root):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(group))
        self.place(int(text), group)

    def _leave(self, pid):
        group = self.where(pid)
        if group is not None:
            left = [each for each in self.processes(group) if each != pid]
            (group / "cgroup.procs").write_text("".join(f"{each}\n" for each in left))

    def _control(self, group, sign, name):
        there = self._control_of(group)
        if sign == "+":
            if name not in (group / "cgroup.controllers").read_text().split():
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(group))
            if self.processes(group) and not (self.is_machines and group == self.root):
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(group))
            there = {*there, name}
        else:
            if any(name in self._control_of(below) for below in self.below(group)):
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(group))
            there = there - {name}
        (group / "cgroup.subtree_control").write_text(" ".join(sorted(there)))
        for below in self.below(group):
            self._equip(below)

    def _control_of(self, group):
        return set((group / "cgroup.subtree_control").read_text().split())

    def _equip(self, group):
        """The files that the kernel shows in a group, by the controllers that its parent passes on."""
        has = self.controllers if group == self.root else sorted(self._control_of(group.parent))
        names = ["cgroup.procs", "cgroup.subtree_control", "cgroup.kill", "cgroup.freeze"]
        limits = {name for each in LIMITS.values() for name in each}
        there = {name for each in has for name in LIMITS.get(each, ()) if group != self.root}
        for name in limits - there:
            (group / name).unlink(missing_ok=True)
        for name in {*names, *there} - self.lacks:
            (group / name).touch()
        (group / "cgroup.controllers").write_text(" ".join(has))
