#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reader of a whole store that shares no code with the library: written from docs/store-format.md alone.

    store_reader.py [--json] FOLDER      the root of a store, or a format folder in it

It says what it found in each file, and exits with 1 if anything is damaged. The tests run it after each fault; where the
page and the library part, one of them is wrong. The store must be at rest: nobody publishes or evicts meanwhile.

    entries    what the index names and a record confirms, with every hash right
    damage     what the index names and no record confirms, and files that are not what the page says
    gone       what the index names in a segment that is no more: a miss
    orphans    whole records that no entry of the index points to
    torn       bytes of segments that belong to no record
    leftovers  unfinished names, index folders that are not current
"""

import argparse
import ctypes
import ctypes.util
import dataclasses
import hashlib
import json
import mmap
import os
import re
import struct
import sys

KINDS = {1: "artifact", 2: "link", 3: "failure", 4: "tombstone"}
PAGE = min(os.sysconf("SC_PAGE_SIZE"), 32768)
EMPTY_TREE = (1 << 64) - 1
DEEPEST = 32


class Xxh3:
    """XXH3 of the system's libxxhash, or of the xxhash package."""

    class Hash128(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    def __init__(self):
        name = ctypes.util.find_library("xxhash") or "libxxhash.so.0"
        try:
            library = ctypes.CDLL(name)
        except OSError:
            import xxhash  # pylint: disable=import-outside-toplevel
            self.hash64 = lambda data, seed=0: xxhash.xxh3_64_intdigest(data, seed=seed)
            self.hash128 = lambda data: (lambda n: n.to_bytes(16, "little"))(xxhash.xxh3_128_intdigest(data))
            return
        self.long, self.wide = library.XXH3_64bits_withSeed, library.XXH3_128bits
        self.long.argtypes, self.long.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64], ctypes.c_uint64
        self.wide.argtypes, self.wide.restype = [ctypes.c_char_p, ctypes.c_size_t], self.Hash128

    def hash64(self, data, seed=0):
        data = bytes(data)
        return self.long(data, len(data), seed)

    def hash128(self, data):
        """16 bytes, low half first."""
        data = bytes(data)
        value = self.wide(data, len(data))
        return struct.pack("<QQ", value.low, value.high)


XXH3 = Xxh3()


def keyed(data, key=b""):
    return hashlib.blake2b(data, digest_size=32, key=key).digest()


class Wrong(Exception):
    """A file, or a part of one, is not what the page says."""


@dataclasses.dataclass
class Member:
    name: str
    type: int
    data: bytes


@dataclasses.dataclass
class Record:
    """A whole record of a segment, all its hashes right."""
    kind: str
    strict: bool
    sequence: int
    key: bytes
    namespace: str
    namespace_id: int
    label: str
    encoding: bytes
    requires: list
    members: list
    created_ns: int
    compile_us: int
    hash: bytes
    label_hash: int
    segment: int
    offset: int
    length: int

    @property
    def place(self):
        return self.segment, self.offset

    def member(self, name):
        return next((member.data for member in self.members if member.name == name), None)


def whole(path):
    with open(path, "rb") as file:
        return file.read()


def mapped(path):
    """The file's bytes without reading them all."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def align(value):
    return (value + 63) // 64 * 64


# ---- config and control

class Config:
    def __init__(self, data):
        at = data.rfind(b"check ")
        if not data.startswith(b"tlcache-store 1\n") or at < 0:
            raise Wrong("not a config")
        if data[at:] != b"check %016x\n" % XXH3.hash64(data[:at]):
            raise Wrong("the check is wrong")
        self.id, self.limit, self.segment, self.clears = b"", 0, 0, {}
        for line in data[:at].decode().splitlines()[1:]:
            word, _, rest = line.partition(" ")
            if word == "id":
                self.id = bytes.fromhex(rest)
            elif word == "clear":
                sequence, _, name = rest.partition(" ")
                self.clears[name] = int(sequence)
            elif word in ("limit", "segment"):
                setattr(self, word, int(rest))
            else:
                raise Wrong(f"an unknown line: {line}")

    def is_cleared(self, namespace_id, sequence):
        return any(sequence <= floor and (name == "*" or XXH3.hash64(name.encode()) == namespace_id)
                   for name, floor in self.clears.items())


class Control:
    STAMPS = 307200

    def __init__(self, data):
        if len(data) < self.STAMPS + 4 * 65536:
            raise Wrong("cut short")
        if data[:8] != b"TLCCTL01" or struct.unpack_from("<I", data, 8) != (1,):
            raise Wrong("not a control file")
        if XXH3.hash64(data[:48]) != self.word(data, 48):
            raise Wrong("the check is wrong")
        self.id = data[16:48]
        self.control_word, self.generation = self.word(data, 64), self.word(data, 136)
        self.sequence, self.next_segment = self.word(data, 192), self.word(data, 200)
        self.slots, self.estimate = self.word(data, 216), self.word(data, 224)
        self.limit, self.segment = self.word(data, 232), self.word(data, 240)
        turned = (self.segment << 32 | self.segment >> 32) & ((1 << 64) - 1)
        if self.word(data, 248) != self.limit ^ turned ^ int.from_bytes(b"TLCCTL01", "little"):
            raise Wrong("the check over limit and segment size is wrong")
        self.active = [one for one in struct.unpack_from("<8Q", data, 256) if one]
        self.rebuilding = self.word(data, 336) != 0
        if not 65536 <= self.slots <= (len(data) - self.STAMPS) // 4:
            raise Wrong("it has no room for its recency slots")

    @staticmethod
    def word(data, at):
        return struct.unpack_from("<Q", data, at)[0]


# ---- the index

@dataclasses.dataclass
class IndexEntry:
    kind: int
    segment: int
    offset: int
    length: int
    sequence: int
    hash: bytes
    namespace_id: int
    label_hash: int
    created_ns: int


class Index:
    """The entries of data.mdb's newest snapshot that the control word allows, by key."""

    def __init__(self, data, control_word):
        self.data, self.entries, self.damage = data, {}, []
        metas = [meta for meta in (self.meta(0), self.meta(1)) if meta]
        self.stale = False
        chosen = next((meta for meta in metas if meta["txn"] == control_word), None)
        if chosen is None:  # until a writer opens it
            self.stale = True
            if not metas:
                raise Wrong("neither meta page is one")
            chosen = max(metas, key=lambda meta: meta["txn"])
        self.txn = chosen["txn"]
        if chosen["root"] != EMPTY_TREE:
            self.walk(chosen["root"], chosen["depth"], b"", None)
        if len(self.entries) + len(self.damage) != chosen["entries"]:
            raise Wrong(f"{len(self.entries)} entries, and the meta page says {chosen['entries']}")

    def page(self, number, flags):
        bytes_ = self.data[number * PAGE:(number + 1) * PAGE]
        if len(bytes_) < PAGE:
            raise Wrong(f"page {number} is outside the file")
        if struct.unpack_from("<Q", bytes_)[0] != number or struct.unpack_from("<H", bytes_, 10)[0] != flags:
            raise Wrong(f"page {number} is not of its kind")
        return bytes_

    def meta(self, slot):
        try:
            page = self.page(slot, 8)
        except Wrong:
            return None
        magic, version, _, map_size = struct.unpack_from("<IIQQ", page, 16)
        page_size, = struct.unpack_from("<I", page, 40)
        depth, = struct.unpack_from("<H", page, 88 + 6)
        entries, root, last, txn = struct.unpack_from("<QQQQ", page, 88 + 32)
        good = magic == 0xBEEFC0DE and version == 1 and map_size == 1 << 30 and page_size == PAGE
        return {"depth": depth, "entries": entries, "root": root, "last": last, "txn": txn} if good else None

    def walk(self, number, height, low, high):
        if not 1 <= height <= DEEPEST:
            raise Wrong("the tree's depth is impossible")
        leaf = height == 1
        page = self.page(number, 2 if leaf else 1)
        lower, = struct.unpack_from("<H", page, 12)
        nodes = [self.node(page, at, leaf, number) for at in struct.unpack_from(f"<{(lower - 16) // 2}H", page, 16)]
        keys = [key for key, _ in nodes]
        if not leaf:
            keys[0] = low  # a branch's first key is lower than all
        if keys != sorted(set(keys)) or keys and (keys[0] < low or high is not None and keys[-1] >= high):
            raise Wrong(f"page {number}: its keys are out of order")
        for i, (_, what) in enumerate(nodes):
            if leaf:
                self.add(keys[i], what)
            else:
                self.walk(what, height - 1, keys[i], keys[i + 1] if i + 1 < len(keys) else high)

    @staticmethod
    def node(page, at, leaf, number):
        """(key, value) of a leaf's, (key, page) of a branch's."""
        if at + 8 > PAGE:
            raise Wrong(f"page {number}: a node outside it")
        low, high, flags, key_size = struct.unpack_from("<HHHH", page, at)
        key = page[at + 8:at + 8 + key_size]
        if not leaf:
            return key, low | high << 16 | flags << 32
        value = page[at + 8 + key_size:at + 8 + key_size + (low | high << 16)]
        if flags or len(key) != 32 or len(value) != 128:
            raise Wrong(f"page {number}: a node of another size")
        return key, value

    def add(self, key, value):
        seed = XXH3.hash64(key[8:], struct.unpack("<Q", key[:8])[0])
        if value[0] != 1 or XXH3.hash64(value[:120], seed) != struct.unpack_from("<Q", value, 120)[0]:
            self.damage.append((key, "the index record's check is wrong"))
            return
        namespace_id, segment, offset, length, sequence = struct.unpack_from("<QQQQQ", value, 8)
        created_ns, = struct.unpack_from("<Q", value, 64)
        label_hash, = struct.unpack_from("<Q", value, 80)
        self.entries[key] = IndexEntry(value[1], segment, offset, length, sequence, value[48:64], namespace_id,
                                       label_hash, created_ns)


# ---- segments

class Segment:
    """Records of one file, found without the index."""

    def __init__(self, path, number, store_id):
        self.number, self.data, self.store_id = number, mapped(path), store_id
        self.records, self.damaged, self.torn, self.sealed = {}, {}, [], False
        if not self.is_header():
            raise Wrong("its header is damaged")
        self.full_size = struct.unpack_from("<Q", self.data, 24)[0]
        self.scan()

    def is_header(self):
        head = self.data[:64]
        return len(head) == 64 and head[:8] == b"TLCSEG01" and \
            struct.unpack_from("<QQ", head, 8) == (1, self.number) and XXH3.hash64(head[:56]) == \
            struct.unpack_from("<Q", head, 56)[0]

    def is_footer(self, at):
        foot = self.data[at:at + 64]
        return len(foot) == 64 and foot[:8] == b"TLCSEGEN" and \
            struct.unpack_from("<QQ", foot, 8) == (self.number, at) and XXH3.hash64(foot[:56]) == \
            struct.unpack_from("<Q", foot, 56)[0]

    def scan(self):
        at, end, torn = 64, len(self.data), None
        while at + 64 <= end:
            length = self.length_at(at)
            if not length and at + 64 == end and self.is_footer(at):
                self.sealed = True
                break
            if not length:
                torn = at if torn is None else torn
                at += 64
                continue
            leads = at + length == end or self.length_at(at + length) or self.is_footer(at + length)
            try:
                self.records[at] = self.record(at)
            except Wrong as wrong:
                self.damaged[at] = str(wrong)
            if torn is not None:
                self.torn.append((torn, at - torn))
                torn = None
            at += length if leads else 64
            if not leads and at - 64 not in self.records:
                torn = at - 64
        if torn is not None:
            self.torn.append((torn, at - torn))

    def length_at(self, at):
        """Of the record whose header is here, or 0."""
        header = self.data[at:at + 256]
        if len(header) < 256 or header[:8] != b"TLCSREC1" or header[8:10] != b"\1\0":
            return 0
        if struct.unpack_from("<QQ", header, 136) != (self.number, at) or keyed(header[:224], self.store_id) != header[224:]:
            return 0
        return struct.unpack_from("<Q", header, 72)[0]

    def record(self, at):
        header = self.data[at:at + 256]
        kind, flags = struct.unpack_from("<HI", header, 10)
        sequence, = struct.unpack_from("<Q", header, 16)
        namespace_id, length, meta_length, body_length, created_ns, compile_us = struct.unpack_from("<6Q", header, 64)
        label_hash, = struct.unpack_from("<Q", header, 128)
        if align(256 + body_length) != length or meta_length > body_length or at + length > len(self.data):
            raise Wrong("the record is cut short")
        body = self.data[at + 256:at + 256 + body_length]
        if XXH3.hash128(body[:meta_length]) != header[112:128]:
            raise Wrong("the meta's hash is wrong")
        if flags & 1 and keyed(body) != header[160:192]:
            raise Wrong("the hash of the body is wrong")
        namespace, label, encoding, requires, members = self.meta(body, meta_length)
        if XXH3.hash64(namespace) != namespace_id or XXH3.hash64(label) != label_hash:
            raise Wrong("namespace or label are not those of the header")
        return Record(KINDS.get(kind, str(kind)), bool(flags & 1), sequence, header[32:64], namespace.decode(), namespace_id,
                      label.decode(errors="replace"), encoding, requires, members, created_ns, compile_us, header[112:128],
                      label_hash, self.number, at, length)

    @staticmethod
    def meta(body, meta_length):
        parts = Parts(body[:meta_length])
        namespace, label = parts.take(parts.number("<H")), parts.take(parts.number("<H"))
        encoding = parts.take(parts.number("<I"))
        requires = [parts.take(32) for _ in range(parts.number("<I"))]
        members = []
        for _ in range(parts.number("<I")):
            kind, offset, size = parts.number("<I"), parts.number("<Q"), parts.number("<Q")
            hash_, name = parts.take(16), parts.take(parts.number("<H"))
            data = body[offset:offset + size]
            if offset % 64 or len(data) != size:
                raise Wrong(f"member {name!r} lies outside the record")
            if XXH3.hash128(data) != hash_:
                raise Wrong(f"the hash of member {name!r} is wrong")
            members.append(Member(name.decode(), kind, data))
        if parts.at != meta_length:
            raise Wrong("the meta has more than its parts")
        return namespace, label, encoding, requires, members


class Parts:
    """What follows one another in a meta."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        part = self.data[self.at:self.at + size]
        if len(part) != size:
            raise Wrong("the meta is cut short")
        self.at += size
        return part

    def number(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]


# ---- all of it

class Store:
    """A format folder, read once."""

    def __init__(self, folder):
        self.folder = folder
        self.entries, self.damage, self.gone, self.orphans, self.torn, self.leftovers = {}, [], [], [], [], []
        self.segments, self.tombstones = {}, 0
        self.config = self.read("config", Config, whole)
        self.control = self.read("control", Control, whole)
        self.memo_places = self.read("memo", self.count_memo, whole) if self.has("memo") else 0
        self.index = self.read_index()
        if self.config and self.control and self.config.id != self.control.id:
            self.damage.append(("control", "its id is not the config's"))
        known = self.config or self.control
        self.id = known.id if known else b""
        self.read_segments()
        self.match()
        self.check_folders()
        self.find_leftovers()
        self.allocated = sum(os.lstat(path).st_blocks * 512 for path in self.everything())

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def has(self, *parts):
        return os.path.exists(self.path(*parts))

    def names(self, *parts):
        return sorted(os.listdir(self.path(*parts))) if self.has(*parts) else []

    def read(self, name, parse, load):
        try:
            return parse(load(self.path(name)))
        except (Wrong, OSError, UnicodeDecodeError, ValueError) as wrong:
            self.damage.append((name, str(wrong)))
            return None

    def read_index(self):
        if self.control is None:
            return None
        name = f"index-{self.control.generation}/data.mdb"
        if not self.has(name) and self.control.control_word == 0:
            return None  # nothing was ever published
        return self.read(name, lambda data: Index(data, self.control.control_word), mapped)

    @staticmethod
    def count_memo(data):
        if len(data) != 4096 * 128:
            raise Wrong("it has not 4096 places")
        places = (data[at:at + 128] for at in range(0, len(data), 128))
        return sum(XXH3.hash64(place[:120]) == struct.unpack_from("<Q", place, 120)[0] for place in places if any(place))

    def read_segments(self):
        for name in self.names("segments"):
            found = re.fullmatch(r"([0-9a-f]{16})\.seg", name)
            if not found:
                continue
            number = int(found.group(1), 16)
            try:
                segment = self.segments[number] = Segment(self.path("segments", name), number, self.id)
            except Wrong as wrong:
                # One that was being made has less than a header; no entry can be in it.
                if os.path.getsize(self.path("segments", name)) >= 64:
                    self.damage.append((f"segments/{name}", str(wrong)))
                continue
            self.torn += [(number, *region) for region in segment.torn]
            self.tombstones += sum(record.kind == "tombstone" for record in segment.records.values())

    def match(self):
        """The entry is what the index says and the record confirms."""
        confirmed = set()
        for key, why in self.index.damage if self.index else ():
            self.damage.append((key.hex(), why))
        for key, entry in (self.index.entries if self.index else {}).items():
            if entry.kind == 4:  # until the end of a rebuild
                continue
            if not self.has("segments", f"{entry.segment:016x}.seg"):
                self.gone.append(key)
                continue
            segment = self.segments.get(entry.segment)
            record = segment.records.get(entry.offset) if segment else None
            if record and self.agree(key, entry, record):
                self.entries[key] = record
                confirmed.add(record.place)
                continue
            why = segment.damaged.get(entry.offset) if segment else "its segment is damaged"
            self.damage.append((key.hex(), why or ("no record is there" if record is None else "it is another record")))
        self.orphans = [record for segment in self.segments.values() for record in segment.records.values()
                        if record.kind != "tombstone" and record.place not in confirmed]

    @staticmethod
    def agree(key, entry, record):
        return (key, entry.sequence, entry.hash, entry.length, KINDS.get(entry.kind), entry.namespace_id,
                entry.label_hash, entry.created_ns) == \
            (record.key, record.sequence, record.hash, record.length, record.kind, record.namespace_id, record.label_hash,
             record.created_ns)

    def check_folders(self):
        """files/<16 hex digits>-<sequence>[.<n>] has the members of the entry it is named after, if that is there."""
        by_name = {f"{key.hex()[:16]}-{record.sequence}": record for key, record in self.entries.items()}
        for name in self.names("files"):
            record = by_name.get(name.split(".")[0])
            if record is None or name.endswith(".lock") or ".tmp-" in name:
                continue
            found = {member: whole(self.path("files", name, member)) for member in self.names("files", name)}
            if found != {member.name: member.data for member in record.members}:
                self.damage.append((f"files/{name}", "not what the entry has"))

    def find_leftovers(self):
        current = f"index-{self.control.generation}" if self.control else None
        for folder in ("", "segments", "files"):
            for name in self.names(folder) if folder else self.names():
                if ".tmp-" in name or not folder and name.startswith("index-") and name != current:
                    self.leftovers.append(os.path.join(folder, name))

    def everything(self):
        yield self.folder
        for folder, folders, names in os.walk(self.folder):
            yield from (os.path.join(folder, name) for name in (*folders, *names))

    def newest(self, key):
        """The record of a key with the highest sequence that no clear and no tombstone takes away; what a rebuild finds."""
        best = max((record for segment in self.segments.values() for record in segment.records.values()
                    if record.key == key and not (self.config and self.config.is_cleared(record.namespace_id, record.sequence))),
                   key=lambda record: record.sequence, default=None)
        return best if best and best.kind != "tombstone" else None

    def summary(self):
        return {
            "folder": self.folder, "id": self.id.hex(), "limit": self.control.limit if self.control else 0,
            "generation": self.control.generation if self.control else 0,
            "transaction": self.index.txn if self.index else 0, "stale": bool(self.index and self.index.stale),
            "rebuilding": bool(self.control and self.control.rebuilding), "allocated": self.allocated,
            "segments": len(self.segments), "memo": self.memo_places, "tombstones": self.tombstones,
            "entries": len(self.entries), "damage": self.damage, "gone": [key.hex() for key in self.gone],
            "orphans": [{"key": one.key.hex(), "segment": one.segment, "offset": one.offset, "length": one.length}
                        for one in self.orphans],
            "torn": self.torn, "leftovers": self.leftovers,
        }


def read_store(path):
    """The store of a root, which has one format folder, or of a format folder."""
    inner = [name for name in os.listdir(path) if re.fullmatch(r"tlc1-lmdb1-[-a-z0-9]+", name)]
    return Store(os.path.join(path, inner[0]) if inner else path)


def listing(store):
    for key, record in sorted(store.entries.items(), key=lambda item: item[1].place):
        members = ", ".join(f"{member.name} ({len(member.data)})" for member in record.members)
        yield f"{key.hex()[:16]} {record.kind:9} {record.namespace:16} {record.segment:x}+{record.offset:<9} {members}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    store = read_store(options.folder)
    if options.json:
        print(json.dumps(store.summary(), indent=1))
    else:
        print("\n".join(listing(store)))
        for what, found in store.summary().items():
            print(f"{what:12} {found if not isinstance(found, list) or len(found) < 4 else len(found)}")
    return 1 if store.damage else 0


if __name__ == "__main__":
    sys.exit(main())
