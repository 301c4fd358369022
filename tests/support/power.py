# SPDX-License-Identifier: MIT
"""What a disk may hold after the power went, from a journal of power_shim.c.

The rules are those of POSIX, no kinder: what was written to a file is there after a sync of that file; a name is there
(or gone) after a sync of its folder. Of what was not synced each page, each file's size, and each folder's latest changes,
in their order, may have reached the disk or not.
"""

import os

PAGE = 4096
SECTOR = 512


class Journal:
    """The entries, and where in the file each begins."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.entries, at = [], 0
        while at < len(data):
            end = data.index(b"\n", at)
            what, *rest = data[at:end].decode().split(" ")
            payload = b""
            begin, at = at, end + 1
            if what == "write":
                payload = data[at:at + int(rest[2])]
                at += len(payload)
            self.entries.append((begin, what, rest, payload))


class File:
    """Per page, all that it was since the last sync; the first is what is surely there. So with sizes."""

    def __init__(self):
        self.pages, self.sizes = {}, [0]

    def write(self, at, data):
        done = 0
        while done < len(data):
            number, begin = divmod(at + done, PAGE)
            part = data[done:done + PAGE - begin]
            versions = self.pages.setdefault(number, [b"\0" * PAGE])
            last = versions[-1]
            versions.append(last[:begin] + part + last[begin + len(part):])
            done += len(part)
        if at + len(data) > self.sizes[-1]:
            self.sizes.append(at + len(data))

    def resize(self, size):
        if size != self.sizes[-1]:
            self.sizes.append(size)

    def sync(self):
        self.pages = {number: versions[-1:] for number, versions in self.pages.items()}
        self.sizes = self.sizes[-1:]

    def content(self, pick):
        size = pick.version(self.sizes)
        data = bytearray(size)
        for number, versions in self.pages.items():
            at = number * PAGE
            if at < size:
                page = pick.page(versions)
                data[at:at + PAGE] = page[:size - at]
        return bytes(data)


class Folder:
    """Names as they are, as they were at the last sync, and the changes between."""

    def __init__(self):
        self.live, self.synced, self.changes = {}, {}, []

    def change(self, **names):
        """name -> what it now stands for, None: nothing. All of it at once, or none."""
        self.apply(self.live, names)
        self.changes.append(names)

    @staticmethod
    def apply(into, names):
        for name, what in names.items():
            if what is None:
                into.pop(name, None)
            else:
                into[name] = what

    def sync(self):
        self.synced, self.changes = dict(self.live), []

    def content(self, pick):
        names = dict(self.synced)
        for change in self.changes[:pick.count(len(self.changes))]:
            self.apply(names, change)
        return names


class Pick:
    """Which of the possible states: a share of what was not synced is there."""

    def __init__(self, random, share):
        self.random, self.share = random, share

    def version(self, versions):
        if self.random.random() < self.share:
            return versions[-1]
        return self.random.choice(versions) if 0 < self.share < 1 else versions[0]

    def page(self, versions):
        page = self.version(versions)
        if len(versions) > 1 and 0 < self.share < 1 and self.random.random() < 0.1:  # torn
            other = self.random.choice(versions)
            return b"".join((page if self.random.random() < 0.5 else other)[at:at + SECTOR] for at in range(0, PAGE, SECTOR))
        return page

    def count(self, most):
        if self.random.random() < self.share:
            return most
        return self.random.randint(0, most) if 0 < self.share < 1 else 0


class Disk:
    """A folder's files after the entries of a journal up to a place in it."""

    def __init__(self, root):
        self.root, self.top, self.files = root, Folder(), {}

    def place(self, path):
        """The folder object a path is in, and its name there."""
        parts = os.path.relpath(path, self.root).split("/")
        folder = self.top
        for part in parts[:-1]:
            folder = folder.live[part]
        return folder, parts[-1]

    def apply(self, what, words, payload):
        if what == "create":
            folder, name = self.place(words[1])
            self.files[words[0]] = File()
            folder.change(**{name: self.files[words[0]]})
        elif what == "mkdir":
            folder, name = self.place(words[0])
            folder.change(**{name: Folder()})
        elif what == "unlink":
            folder, name = self.place(words[0])
            folder.change(**{name: None})
        elif what == "rename":
            (one, old), (other, new) = self.place(words[0]), self.place(words[1])
            assert one is other, "a rename between folders"
            one.change(**{old: None, new: one.live[old]})
        elif what == "syncdir":
            if os.path.relpath(words[0], self.root) == ".":
                self.top.sync()
            else:
                folder, name = self.place(words[0])
                folder.live[name].sync()
        elif words[0] in self.files:
            file = self.files[words[0]]
            if what == "write":
                file.write(int(words[1]), payload)
            elif what == "size":
                file.resize(int(words[1]))
            elif what == "sync":
                file.sync()

    def write_out(self, target, pick):
        self.write_folder(self.top, target, pick)

    def write_folder(self, folder, path, pick):
        os.mkdir(path, 0o700)
        for name, what in folder.content(pick).items():
            if isinstance(what, Folder):
                self.write_folder(what, os.path.join(path, name), pick)
            else:
                with open(os.path.join(path, name), "wb") as file:
                    os.fchmod(file.fileno(), 0o600)
                    file.write(what.content(pick))
