"""Writes the fixtures: small files and tables by the reference implementation, with what they hold as Arrow IPC streams.

    fixtures.py DIRECTORY

A case says which encodings it is there for; a file that does not have them fails the run, so that a fixture proves what
its name says.
"""

import json
import os
import shutil
import sys
import tempfile

import lance
import numpy
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

VERSIONS = ["2.1", "2.2"]


def main():
    (directory,) = sys.argv[1:]
    for part in ["files", "tables", "refused"]:
        shutil.rmtree(os.path.join(directory, part), ignore_errors=True)
        os.makedirs(os.path.join(directory, part))
    write_files(directory)
    write_tables(directory)
    write_refused(os.path.join(directory, "refused"))


# Single files


CASES = {}


def case(versions=VERSIONS, has=(), data_cache_bytes=None):
    """Registers a function that gives a field, or a list of them, and a list of batches: arrays or lists of arrays."""

    def register(make):
        CASES[make.__name__] = (make, versions, has, data_cache_bytes)
        return make

    return register


def random(seed=0):
    return numpy.random.default_rng(seed)


def field(name, type, **metadata):
    metadata = {f"lance-encoding:{key.replace('_', '-')}": value for key, value in metadata.items()}
    return pa.field(name, type, metadata=metadata or None)


def holes(values, type, every=7):
    return pa.array([None if at % every == 3 else value for at, value in enumerate(values)], type)


@case(has=["MiniBlockLayout", "Flat"])
def flat(rows=1500):
    ints = random().integers(-(2**62), 2**62, rows)
    floats = random(1).normal(size=rows)
    return (
        [field("int", pa.int64(), compression="none"), field("float", pa.float32()), field("hole", pa.float64())],
        [[pa.array(ints), pa.array(floats, pa.float32()), holes(floats, pa.float64())]],
    )


@case(has=["InlineBitpacking", "Flat"])
def primitives(rows=1030):
    """Every fixed-width type, without and with nulls."""
    fields, arrays = [], []
    draw = random(2)
    for bits in [8, 16, 32, 64]:
        for name in [f"int{bits}", f"uint{bits}"]:
            low = -50 if name[0] == "i" else 0
            values = draw.integers(low, 100, rows).tolist()
            fields += [field(name, getattr(pa, name)()), field(f"{name}_hole", getattr(pa, name)())]
            arrays += [pa.array(values, fields[-1].type), holes(values, fields[-1].type)]
    numbers = draw.integers(0, 2**20, rows).tolist()
    others = [
        pa.bool_(),
        pa.float16(),
        pa.date32(),
        pa.date64(),
        pa.time32("s"),
        pa.time32("ms"),
        pa.time64("us"),
        pa.time64("ns"),
        pa.timestamp("s"),
        pa.timestamp("ms"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns", "Europe/Berlin"),
        pa.duration("s"),
        pa.duration("ms"),
        pa.duration("us"),
        pa.duration("ns"),
        pa.decimal128(20, 3),
        pa.decimal256(50, 5),
    ]
    for type in others:
        if pa.types.is_boolean(type):
            make = lambda hole: hole([number % 2 == 0 for number in numbers], type)
        elif pa.types.is_float16(type):
            make = lambda hole: hole([numpy.float16(number % 1000) for number in numbers], type)
        elif pa.types.is_decimal(type):
            make = lambda hole: hole(numbers, type)
        else:
            # By way of integers: Python's own times have no nanoseconds.
            scale = 86_400_000 if pa.types.is_date64(type) else 1
            width = pa.int32() if type.bit_width == 32 else pa.int64()
            make = lambda hole: hole([number % 80_000 * scale for number in numbers], width).cast(type)
        name = str(type).replace(" ", "")
        fields += [field(name, type), field(f"{name}_hole", type)]
        arrays += [make(pa.array), make(holes)]
    return fields, [arrays]


@case(has=["InlineBitpacking"])
def bitpacked(rows=2500):
    draw = random(3)
    columns = []
    for bits, type in [(3, pa.uint8()), (11, pa.int16()), (17, pa.int32()), (40, pa.int64()), (0, pa.uint32())]:
        columns.append(pa.array(draw.integers(0, 2**bits, rows), type))
    # All zero but for the end: one vector of width 0.
    columns[-1] = pa.array([0] * (rows - 500) + list(range(500)), pa.uint32())
    return [field(f"bits{at}", column.type) for at, column in enumerate(columns)], [columns]


@case(has=["Rle"])
def runs(rows=6000):
    ints = [at // 700 for at in range(rows)]
    return (
        [field("int", pa.int32()), field("byte", pa.uint8()), field("short", pa.int16())],
        [[pa.array(ints, pa.int32()), pa.array(ints, pa.uint8()), holes(ints, pa.int16(), 3000)]],
    )


@case(has=["ByteStreamSplit", "General"])
def split_streams(rows=3000):
    values = numpy.linspace(20, 21, rows)
    return (
        [
            field("single", pa.float32(), compression="lz4", bss="on"),
            field("double", pa.float64(), compression="zstd", bss="on"),
        ],
        [[pa.array(values, pa.float32()), pa.array(values)]],
    )


@case(has=["General", "Lz4", "Zstd", "Variable"])
def compressed(rows=3000):
    texts = [f"the quick brown fox number {at % 10} of {at}" for at in range(rows)]
    ints = [at % 100 * 1_000_000_007 for at in range(rows)]
    return (
        [
            field("lz4", pa.string(), compression="lz4"),
            field("zstd", pa.large_binary(), compression="zstd", compression_level="5"),
            field("ints", pa.int64(), compression="lz4", dict_divisor="1000000"),
        ],
        [[pa.array(texts), holes([text.encode() for text in texts], pa.large_binary()), pa.array(ints)]],
    )


@case(has=["Variable"])
def strings(rows=800):
    texts = ["" if at % 11 == 0 else f"{at * 7919 % 10007:x}é" for at in range(rows)]
    bytes = [text.encode() for text in texts]
    types = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
    fields = [field(str(type), type) for type in types] + [field(f"{type}_hole", type) for type in types]
    values = [texts, texts, bytes, bytes]
    arrays = [pa.array(value, type) for value, type in zip(values, types)]
    return fields, [arrays + [holes(value, type) for value, type in zip(values, types)]]


@case(has=["Fsst"])
def symbols(rows=1800):
    """Strings with a symbol table that is on, and a few with one that is off."""
    draw = random(4)
    words = "robot arm joint torque gripper camera depth frame episode left right ready".split()
    texts = [" ".join(draw.choice(words, 6)) + f" {at}" for at in range(rows)]
    return (
        [field("on", pa.string()), field("on_large", pa.large_string())],
        [[pa.array(texts), holes(texts, pa.large_string())]],
    )


@case(has=["Fsst"])
def symbols_off(rows=3000):
    """More than 32 KiB with the offsets, less without: a symbol table with its switch off."""
    return [field("off", pa.string())], [[pa.array([f"{at:08d}" for at in range(rows)])]]


@case(has=["dictionary: Some", "MiniBlockLayout"])
def dictionaries(rows=2000):
    """Dictionaries that the writer makes from repeated values."""
    draw = random(5)
    names = [f"episode {at} of the recording" for at in range(20)]
    texts = [names[at] for at in draw.integers(0, 20, rows)]
    numbers = [int(at) * 10**25 for at in draw.integers(0, 30, rows)]
    return (
        [
            field("string", pa.string()),
            field("large_binary", pa.large_binary()),
            field("decimal", pa.decimal128(38, 0)),
            field("wide", pa.int64(), dict_size_ratio="1.0"),
        ],
        [
            [
                pa.array(texts),
                holes([text.encode() for text in texts], pa.large_binary()),
                pa.array(numbers, pa.decimal128(38, 0)),
                pa.array([int(at) * 2**55 for at in draw.integers(0, 30, rows)]),
            ]
        ],
    )


@case(has=["dictionary: Some"])
def arrow_dictionaries(rows=600):
    draw = random(6)
    keys = draw.integers(0, 5, rows)

    def indices(type):
        return holes(keys.tolist(), type)

    values = ["idle", "reach", "grasp", "lift", ""]
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(keys, pa.int8()), pa.array(values)),
        pa.DictionaryArray.from_arrays(indices(pa.int16()), pa.array(values, pa.large_string())),
        pa.DictionaryArray.from_arrays(indices(pa.int32()), pa.array([value.encode() for value in values])),
        pa.DictionaryArray.from_arrays(indices(pa.uint8()), pa.array([5, 500, 50_000, 5_000_000, 0], pa.int32())),
    ]
    return [field(f"dictionary{at}", array.type) for at, array in enumerate(arrays)], [arrays]


@case(has=["FixedSizeList"])
def vectors(rows=600):
    draw = random(7)
    floats = pa.array(draw.normal(size=rows * 8), pa.float32())
    ints = pa.array([None if at % 5 == 2 else at % 1000 for at in range(rows * 3)], pa.int16())
    bits = pa.array(draw.integers(0, 2, rows * 9) == 1)
    absent = pa.array([at % 7 == 3 for at in range(rows)])
    nested = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(ints, 3), 2)
    arrays = [
        pa.FixedSizeListArray.from_arrays(floats, 8),
        pa.FixedSizeListArray.from_arrays(ints, 3, mask=absent),
        pa.FixedSizeListArray.from_arrays(bits, 9),
        pa.array([bytes([at % 256] * 5) for at in range(rows)], pa.binary(5)),
    ]
    arrays.append(pa.concat_arrays([nested, nested]))
    return [field(f"vector{at}", array.type) for at, array in enumerate(arrays)], [arrays]


@case(has=["FullZipLayout", "Flat", "FixedSizeList", "Variable"])
def full_zip(rows=180):
    """Values that are stored one by one, since they are long or since it was asked for."""
    draw = random(8)
    floats = pa.array(draw.normal(size=rows * 70), pa.float32())
    ints = pa.array([None if at % 5 == 2 else at for at in range(rows * 4)], pa.int32())
    absent = pa.array([at % 7 == 3 for at in range(rows)])
    payload = [bytes(draw.integers(0, 256, 260 + at % 50).astype(numpy.uint8)) for at in range(60)] * (rows // 60)
    wide = pa.FixedSizeListArray.from_arrays(floats, 70)
    hole = pa.FixedSizeListArray.from_arrays(floats, 70, mask=absent)
    small = pa.FixedSizeListArray.from_arrays(ints, 4, mask=absent)
    images = field("images", pa.large_binary(), dict_divisor="1000000")
    return (
        [
            field("wide", wide.type),
            field("wide_hole", wide.type),
            images,
            field("small", small.type, structural_encoding="fullzip"),
            field("int", pa.int64(), structural_encoding="fullzip"),
            field("bool", pa.bool_(), structural_encoding="fullzip"),
        ],
        [
            [
                wide,
                hole,
                holes(payload, pa.large_binary()),
                small,
                holes(range(rows), pa.int64()),
                holes([at % 3 == 0 for at in range(rows)], pa.bool_()),
            ]
        ],
    )


@case(has=["FullZipLayout", "Fsst", "General", "Zstd"])
def full_zip_compressed(rows=150):
    draw = random(9)
    words = "robot arm joint torque gripper camera depth frame episode left right ready".split()
    texts = [" ".join(draw.choice(words, 60)) for _ in range(rows)]
    return (
        [field("fsst", pa.string()), field("zstd", pa.binary(), compression="zstd")],
        [[pa.array(texts), holes([text.encode() for text in texts], pa.binary())]],
    )


@case(has=["ConstantLayout"])
def constants(rows=1200):
    """One value, or none at all. Before 2.2 only the latter has a page of its own."""
    absent = pa.nulls(rows)
    return (
        [
            field("int", pa.int64()),
            field("int_hole", pa.int32()),
            field("string", pa.string()),
            field("long", pa.binary(40)),
            field("bool", pa.bool_()),
            field("null", pa.null()),
            field("no_int", pa.int16()),
            field("no_string", pa.string()),
            field("no_lists", pa.list_(pa.int32())),
            field("empty_lists", pa.list_(pa.string())),
            field("list", pa.list_(pa.int32())),
        ],
        [
            [
                pa.array([2**40] * rows),
                holes([5] * rows, pa.int32()),
                pa.array(["constant"] * rows),
                pa.array([b"x" * 40] * rows, pa.binary(40)),
                pa.array([True] * rows),
                absent,
                absent.cast(pa.int16()),
                absent.cast(pa.string()),
                pa.array([None] * rows, pa.list_(pa.int32())),
                pa.array([[] if at % 2 else None for at in range(rows)], pa.list_(pa.string())),
                pa.array([None if at % 5 == 0 else [9] * (at % 4) for at in range(rows)], pa.list_(pa.int32())),
            ]
        ],
    )


def tree(depth, at):
    """Lists in lists, of every kind of absence, that differ from row to row."""
    if at % 13 == 5:
        return None
    if depth == 0:
        return at % 1000
    return [tree(depth - 1, at * 3 + child + depth) for child in range(at % 4)]


@case(has=["MiniBlockLayout"])
def lists(rows=900):
    types = [
        pa.list_(pa.int32()),
        pa.large_list(pa.list_(pa.int16())),
        pa.list_(pa.list_(pa.list_(pa.uint32()))),
    ]
    arrays = [pa.array([tree(depth + 1, at) for at in range(rows)], type) for depth, type in enumerate(types)]
    texts = [None if at % 9 == 4 else [None if (at + i) % 5 == 0 else f"{at} {i}" for i in range(at % 4)] for at in range(rows)]
    arrays.append(pa.array(texts, pa.list_(pa.string())))
    # Lists without any absence.
    arrays.append(pa.array([[at, at + 1] for at in range(rows)], pa.list_(pa.int64())))
    return [field(f"list{at}", array.type) for at, array in enumerate(arrays)], [arrays]


@case(has=["FullZipLayout"])
def lists_full_zip(rows=120):
    """Lists whose items are stored one by one: fixed width with a repetition index, and variable."""
    values = [None if at % 9 == 4 else [None if (at + i) % 5 == 0 else at + i for i in range(at % 4)] for at in range(rows)]
    blobs = [None if value is None else [bytes([i % 256 if i else 0] * 300) if i else None for i in value] for value in values]
    deep = pa.int8()
    for _ in range(9):
        deep = pa.list_(deep)

    def dig(depth, at):
        if at % 11 == 5:
            return None
        return at % 100 if depth == 0 else [dig(depth - 1, at + child + 1) for child in range(at % 3)]

    return (
        [
            field("ints", pa.list_(pa.int32()), structural_encoding="fullzip"),
            field("blobs", pa.list_(pa.binary()), structural_encoding="fullzip"),
            field("deep", deep, structural_encoding="fullzip"),
        ],
        [
            [
                pa.array(values, pa.list_(pa.int32())),
                pa.array(blobs, pa.list_(pa.binary())),
                pa.array([dig(9, at) for at in range(rows)], deep),
            ]
        ],
    )


@case(has=["OutOfLineBitpacking"])
def many_levels(rows=3000):
    """So many levels that they are packed for the page as a whole, with a tail in each chunk."""
    flags = [None if at % 3 == 1 else at for at in range(rows)]
    values = [None if at % 17 == 4 else [None if (at + i) % 5 == 0 else at for i in range(at % 5)] for at in range(rows)]
    return (
        [field("int", pa.int64()), field("list", pa.list_(pa.int32()))],
        [[pa.array(flags, pa.int64()), pa.array(values, pa.list_(pa.int32()))]],
    )


@case(has=["MiniBlockLayout"])
def structs(rows=700):
    pair = pa.struct([("x", pa.int32()), ("name", pa.string())])
    outer = pa.struct([("pair", pair), ("list", pa.list_(pair)), ("flag", pa.bool_()), ("vector", pa.list_(pa.float32(), 2))])

    def make_pair(at):
        if at % 5 == 1:
            return None
        return {"x": None if at % 7 == 2 else at, "name": None if at % 4 == 0 else f"n{at}"}

    def make(at):
        if at % 11 == 6:
            return None
        pairs = None if at % 6 == 5 else [make_pair(at + child) for child in range(at % 3)]
        return {
            "pair": make_pair(at),
            "list": pairs,
            "flag": None if at % 3 == 0 else at % 2 == 0,
            "vector": None if at % 8 == 0 else [at * 0.5, None if at % 9 == 0 else 1.0],
        }

    full = [{"x": at, "name": str(at)} for at in range(rows)]
    return (
        [field("full", pair), field("outer", outer), field("list", pa.list_(pair))],
        [
            [
                pa.array(full, pair),
                pa.array([make(at) for at in range(rows)], outer),
                pa.array([None if at % 9 == 8 else [make_pair(at * 2 + i) for i in range(at % 4)] for at in range(rows)], pa.list_(pair)),
            ]
        ],
    )


@case(has=["MiniBlockLayout"], data_cache_bytes=1)
def pages(rows=1600):
    """Several pages a column, whose layouts and layers differ."""
    batches = []
    for page in range(4):
        first = page * rows // 4
        ids = range(first, first + rows // 4)
        ints = pa.array(ids, pa.int32()) if page % 2 == 0 else holes(ids, pa.int32())
        if page == 3:
            ints = pa.nulls(len(ids), pa.int32())
        texts = pa.array([("x" * 300 if page == 1 else "x") + str(at) for at in ids])
        nested = pa.array([None if page == 2 and at % 5 == 0 else [at] * (at % 3 if page else 2) for at in ids], pa.list_(pa.int16()))
        pairs = pa.StructArray.from_arrays([ints, texts], ["int", "text"])
        batches.append([ints, texts, nested, pairs])
    pair = pa.struct([("int", pa.int32()), ("text", pa.string())])
    fields = [field("int", pa.int32()), field("text", pa.string()), field("list", pa.list_(pa.int16())), field("pair", pair)]
    return fields, batches


@case()
def empty():
    return [field("int", pa.int32()), field("list", pa.list_(pa.string()))], []


@case()
def one_row():
    row = [pa.array([7]), pa.array(["seven"]), pa.array([[1, None]], pa.list_(pa.int32())), pa.array([{"a": None}])]
    return [field("int", pa.int64()), field("text", pa.string()), field("list", row[2].type), field("pair", row[3].type)], [row]


@case(has=["PackedStruct"])
def packed(rows=500):
    pair = pa.struct([("x", pa.int32()), ("y", pa.float64())])
    values = [None if at % 7 == 3 else {"x": at, "y": at / 2} for at in range(rows)]
    return [field("packed", pair, packed="true")], [[pa.array(values, pair)]]


@case(versions=["2.2"])
def maps(rows=300):
    type = pa.map_(pa.string(), pa.int32())
    values = [None if at % 7 == 3 else [(f"k{i}", None if i == 1 else at) for i in range(at % 4)] for at in range(rows)]
    return [field("map", type)], [[pa.array(values, type)]]


# Version 2.0


LEGACY = ["2.0"]


@case(versions=LEGACY, has=["NoNulls", "SomeNulls", "AllNulls", "Flat"])
def legacy_primitives(rows=70):
    numbers = [at * 7919 % 100 for at in range(rows)]
    types = [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(), pa.timestamp("us", "UTC"), pa.decimal128(20, 3)]
    fields = [field("null", pa.null()), field("bool", pa.bool_()), field("bool_hole", pa.bool_()), field("fixed", pa.binary(3))]
    flags = [number % 3 == 0 for number in numbers]
    bytes = [number.to_bytes(3, "little") for number in numbers]
    arrays = [pa.nulls(rows), pa.array(flags), holes(flags, pa.bool_()), holes(bytes, pa.binary(3))]
    for type in types:
        fields += [field(str(type), type), field(f"{type}_hole", type), field(f"{type}_none", type)]
        arrays += [pa.array(numbers, type), holes(numbers, type), pa.nulls(rows, type)]
    return fields, [arrays]


@case(versions=LEGACY, has=["Binary", "Dictionary"])
def legacy_strings(rows=150):
    """All four types, and strings of which so few are distinct that the writer makes a dictionary."""
    texts = ["" if at % 11 == 0 else f"{at * 7919 % 10007:x}é" for at in range(rows)]
    bytes = [text.encode() for text in texts]
    types = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
    fields = [field(str(type), type) for type in types] + [field(f"{type}_hole", type) for type in types]
    values = [texts, texts, bytes, bytes]
    arrays = [pa.array(value, type) for value, type in zip(values, types)]
    arrays += [holes(value, type) for value, type in zip(values, types)]
    few = ["idle", "", "grasp"]
    fields += [field("few", pa.string()), field("few_hole", pa.string()), field("none", pa.string())]
    arrays += [pa.array([few[at % 3] for at in range(rows)]), holes([few[at % 3] for at in range(rows)], pa.string())]
    return fields, [arrays + [pa.nulls(rows, pa.string())]]


@case(versions=LEGACY, has=["zstd", "lz4", "Fsst"])
def legacy_compressed(rows=900):
    """Strings in compressed buffers; symbol tables with the switch on, and off."""
    words = "robot arm joint torque gripper camera depth frame episode left right ready".split()
    texts = [" ".join(words[(at * at + i * 7) % 12] for i in range(7)) + f" {at}" for at in range(rows)]
    few = [f"{at} {text[:9]}" if at < 150 else None for at, text in enumerate(texts)]
    return (
        [
            field("zstd", pa.string(), compression="zstd", compression_level="3"),
            field("lz4", pa.large_binary(), compression="lz4"),
            field("none", pa.binary(), compression="none"),
            field("on", pa.string(), compression="fsst"),
            field("off", pa.string(), compression="fsst"),
            field("list", pa.list_(pa.field("item", pa.string(), metadata={"lance-encoding:compression": "zstd"}))),
        ],
        [
            [
                holes(texts, pa.string()),
                pa.array([text.encode() for text in texts], pa.large_binary()),
                pa.array([b"" if text is None else text.encode() for text in few]),
                holes(texts, pa.string()),
                pa.array(few),
                pa.array([None if text is None else text.split() for text in few], pa.list_(pa.field("item", pa.string(), metadata={"lance-encoding:compression": "zstd"}))),
            ]
        ],
    )


@case(versions=LEGACY, has=["Dictionary"])
def legacy_dictionaries(rows=120):
    keys = [at * 7919 % 5 for at in range(rows)]
    values = ["idle", "reach", "grasp", "lift", ""]
    some = pa.array(["idle", None, "grasp", "lift", ""])
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(keys, pa.int8()), pa.array(values)),
        pa.DictionaryArray.from_arrays(holes(keys, pa.int16()), pa.array(values, pa.large_string())),
        pa.DictionaryArray.from_arrays(holes(keys, pa.uint32()), pa.array([value.encode() for value in values])),
        pa.DictionaryArray.from_arrays(holes(keys, pa.int64()), pa.array([5, 500, 50_000, 5_000_000, 0], pa.int32())),
        pa.DictionaryArray.from_arrays(pa.array(keys, pa.uint8()), some),
        pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int8()), pa.array(values)),
    ]
    return [field(f"dictionary{at}", array.type) for at, array in enumerate(arrays)], [arrays]


@case(versions=LEGACY, has=["FixedSizeList"])
def legacy_vectors(rows=60):
    floats = pa.array([at / 8 for at in range(rows * 8)], pa.float32())
    ints = pa.array([None if at % 5 == 2 else at % 1000 for at in range(rows * 6)], pa.int16())
    bits = pa.array([at * 7919 % 3 == 0 for at in range(rows * 9)])
    absent = pa.array([at % 7 == 3 for at in range(rows)])
    inner = pa.FixedSizeListArray.from_arrays(ints, 3, mask=pa.array([at % 4 == 1 for at in range(rows * 2)]))
    arrays = [
        pa.FixedSizeListArray.from_arrays(floats, 8),
        pa.FixedSizeListArray.from_arrays(ints, 6, mask=absent),
        pa.FixedSizeListArray.from_arrays(bits, 9, mask=absent),
        pa.FixedSizeListArray.from_arrays(inner, 2, mask=absent),
        pa.FixedSizeListArray.from_arrays(pa.nulls(rows * 2, pa.int32()), 2),
    ]
    return [field(f"vector{at}", array.type) for at, array in enumerate(arrays)], [arrays]


@case(versions=LEGACY, has=["List", "Struct"])
def legacy_nested(rows=90):
    """Lists in lists, structs in lists, lists in structs, a struct without members."""
    pair = pa.struct([("x", pa.int32()), ("name", pa.string())])
    outer = pa.struct([("pair", pair), ("list", pa.large_list(pair)), ("vector", pa.list_(pa.float32(), 2)), ("empty", pa.struct([]))])

    def make_pair(at):
        return {"x": None if at % 7 == 2 else at, "name": None if at % 4 == 0 else f"n{at}"}

    def make(at):
        pairs = None if at % 6 == 5 else [make_pair(at + child) for child in range(at % 3)]
        return {"pair": make_pair(at), "list": pairs, "vector": None if at % 8 == 0 else [at * 0.5, None if at % 9 == 0 else 1.0], "empty": {}}

    types = [pa.list_(pa.int32()), pa.large_list(pa.list_(pa.int16())), pa.list_(pa.list_(pa.list_(pa.uint32())))]
    arrays = [pa.array([tree(depth + 1, at) for at in range(rows)], type) for depth, type in enumerate(types)]
    arrays.append(pa.array([None if at % 9 == 4 else [f"{at} {i}" for i in range(at % 4)] for at in range(rows)], pa.list_(pa.string())))
    arrays.append(pa.array([None if at % 2 else [] for at in range(rows)], pa.list_(pa.int64())))
    arrays.append(pa.array([make(at) for at in range(rows)], outer))
    arrays.append(pa.array([None if at % 9 == 8 else [make_pair(at * 2 + i) for i in range(at % 4)] for at in range(rows)], pa.list_(pair)))
    return [field(f"nested{at}", array.type) for at, array in enumerate(arrays)], [arrays]


@case(versions=LEGACY, has=["PackedStruct"])
def legacy_packed(rows=40):
    inner = [pa.field("x", pa.int8()), pa.field("y", pa.float64()), pa.field("v", pa.list_(pa.int16(), 3)), pa.field("d", pa.decimal128(5, 1))]
    values = [{"x": at, "y": at / 2, "v": [at, -at, 7], "d": at} for at in range(rows)]
    packed = field("packed", pa.struct(inner), packed="true")
    return [packed, field("id", pa.int32())], [[pa.array(values, pa.struct(inner)), pa.array(range(rows), pa.int32())]]


@case(versions=LEGACY, has=["PackedStruct"])
def legacy_blobs(rows=30):
    values = [None if at % 7 == 3 else b"" if at % 7 == 5 else bytes([at]) * (at + 1) for at in range(rows)]
    blob = field("blob", pa.large_binary(), blob="true")
    return [blob, field("id", pa.int32())], [[pa.array(values, pa.large_binary()), pa.array(range(rows), pa.int32())]]


@case(has=["BlobLayout", "PackedStruct"], data_cache_bytes=1)
def blobs(rows=60):
    """Nulls in some pages only, and blobs in structs that are null."""
    blob = field("blob", pa.large_binary(), blob="true")
    pair = pa.struct([blob, pa.field("n", pa.int8())])
    batches = []
    for page in range(3):
        ids = range(page * rows // 3, (page + 1) * rows // 3)
        values = [None if page == 1 and at % 7 == 3 else b"" if at % 7 == 5 else bytes([at]) * (at + 1) for at in ids]
        pairs = [None if page == 2 and at % 5 == 1 else {"blob": value, "n": at} for at, value in zip(ids, values)]
        batches.append([pa.array(values, pa.large_binary()), pa.array(pairs, pair)])
    return [blob, field("pair", pair)], batches


@case(versions=["2.2"], has=["VariablePackedStruct"])
def packed_texts(rows=60):
    inner = [pa.field("id", pa.uint16(), False), pa.field("text", pa.string(), False), pa.field("v", pa.list_(pa.int8(), 2), False)]
    values = [None if at % 9 == 4 else {"id": at, "text": "t" * (at % 5), "v": [at, -at]} for at in range(rows)]
    packed = field("packed", pa.struct(inner), packed="true")
    item = pa.field("item", packed.type, metadata=packed.metadata)
    lists = [None if at % 7 == 2 else values[: at % 4] for at in range(rows)]
    return [packed, field("packs", pa.list_(item))], [[pa.array(values, packed.type), pa.array(lists, pa.list_(item))]]


@case(versions=LEGACY, has=["List"], data_cache_bytes=1)
def legacy_pages(rows=160):
    """Several pages a column: other encodings in each, and lists that start anew."""
    batches = []
    for page in range(4):
        ids = range(page * rows // 4, (page + 1) * rows // 4)
        ints = pa.array(ids, pa.int32()) if page % 2 == 0 else holes(ids, pa.int32())
        if page == 3:
            ints = pa.nulls(len(ids), pa.int32())
        texts = pa.array([None if page == 2 else ("x" * 30 if page == 1 else "x") + str(at) for at in ids], pa.string())
        nested = pa.array([None if page == 2 and at % 5 == 0 else [at] * (at % 3 if page else 2) for at in ids], pa.list_(pa.int16()))
        keys = pa.DictionaryArray.from_arrays(holes([at % 3 for at in ids], pa.int8()), pa.array([f"p{page}", "y", "z"]))
        batches.append([ints, texts, nested, pa.StructArray.from_arrays([ints, texts], ["int", "text"]), keys])
    pair = pa.struct([("int", pa.int32()), ("text", pa.string())])
    fields = [field("int", pa.int32()), field("text", pa.string()), field("list", pa.list_(pa.int16())), field("pair", pair), field("keys", keys.type)]
    return fields, batches


@case(versions=LEGACY)
def legacy_empty():
    pair = pa.struct([("a", pa.int32())])
    return [field("int", pa.int32()), field("list", pa.list_(pa.string())), field("pair", pair)], []


def write_files(directory):
    listing = []
    for name, (make, versions, has, data_cache_bytes) in CASES.items():
        fields, batches = make()
        schema = pa.schema(fields)
        batches = [pa.RecordBatch.from_arrays(arrays, schema=schema) for arrays in batches]
        expected = pa.Table.from_batches(batches, schema)
        store(expected, os.path.join(directory, "files", f"{name}.arrow"))
        for version in versions:
            path = os.path.join(directory, "files", f"{name}-{version}.lance")
            with LanceFileWriter(path, schema, version=version, data_cache_bytes=data_cache_bytes) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            check(path, expected, has)
        listing.append({"name": name, "versions": versions, "has": list(has)})
    with open(os.path.join(directory, "files.json"), "w") as file:
        json.dump(listing, file, indent=1)
        file.write("\n")


def check(path, expected, has):
    """That the file has what the case says, and that the reference reads it back."""
    reader = LanceFileReader(path)
    layouts = "\n".join(page.encoding for column in reader.metadata().columns for page in column.pages)
    missing = [word for word in has if word not in layouts]
    if missing:
        sys.exit(f"{path} has no {missing}:\n{layouts}")
    actual = reader.read_all().to_table().combine_chunks()
    for name, column in zip(expected.column_names, expected.combine_chunks().columns):
        # Dictionaries differ in order, which only the second way does not mind.
        if not actual[name].equals(column) and actual[name].to_pylist() != column.to_pylist():
            sys.exit(f"{path}: the reference reads something else in {name}")


def store(table, path):
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)


# Tables


def rows(first, count):
    ids = list(range(first, first + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([None if at % 10 == 3 else f"row {at}" for at in ids]),
            "state": pa.FixedSizeListArray.from_arrays(pa.array([at * 0.25 for at in ids for _ in range(4)], pa.float32()), 4),
            "tags": pa.array([[f"t{i}" for i in range(at % 3)] for at in ids], pa.list_(pa.string())),
        }
    )


def build_plain(path, version):
    lance.write_dataset(rows(0, 300), path, data_storage_version=version)


def build_fragments(path, version):
    lance.write_dataset(rows(0, 500), path, data_storage_version=version, max_rows_per_file=150)
    lance.write_dataset(rows(500, 100), path, mode="append")
    lance.write_dataset(rows(600, 50), path, mode="append")


def build_deletes(path, version):
    """Both kinds of deletion file: few rows as an Arrow array, many as a bitmap."""
    lance.write_dataset(rows(0, 6000), path, data_storage_version=version, max_rows_per_file=3000)
    table = lance.dataset(path)
    table.delete("id IN (0, 17, 18, 1999, 2999)")
    table.delete("id >= 3000 AND id % 5 != 0")


def build_columns(path, version):
    """Columns added by expression, added without data, dropped; an append with the new schema."""
    lance.write_dataset(rows(0, 200), path, data_storage_version=version, max_rows_per_file=100)
    table = lance.dataset(path)
    table.add_columns({"double": "id * 2"})
    table.add_columns([pa.field("later", pa.int32()), pa.field("pair", pa.struct([("a", pa.int8())]))])
    table.drop_columns(["tags"])
    more = rows(200, 50).drop_columns(["tags"])
    more = more.append_column("double", pa.array([at * 2 for at in range(200, 250)], pa.int64()))
    more = more.append_column("later", pa.array(range(50), pa.int32()))
    more = more.append_column("pair", pa.array([{"a": 1}] * 50, pa.struct([("a", pa.int8())])))
    lance.write_dataset(more, path, mode="append")
    table = lance.dataset(path)
    table.alter_columns({"path": "name", "name": "label"})
    table.delete("id = 5")


def build_versions(path, version):
    """Append, overwrite with another schema, tags, and a row count that goes down and up."""
    lance.write_dataset(rows(0, 40), path, data_storage_version=version)
    lance.write_dataset(rows(40, 40), path, mode="append")
    table = lance.dataset(path)
    table.tags.create("two", 2)
    lance.write_dataset(pa.table({"other": ["a", None, "c"]}), path, mode="overwrite", data_storage_version=version)


def build_old_names(path, version):
    """Manifests whose names ascend, as earlier releases wrote them."""
    lance.write_dataset(rows(0, 20), path, data_storage_version=version, enable_v2_manifest_paths=False)
    lance.write_dataset(rows(20, 20), path, mode="append")


def build_empty(path, version):
    lance.write_dataset(rows(0, 0), path, data_storage_version=version)


def write_tables(directory):
    listing = []
    builders = [build_plain, build_fragments, build_deletes, build_columns, build_versions, build_old_names, build_empty]
    for build in builders:
        # What tables are made of is the same in all versions, but for the columns of fields.
        kinds = [*LEGACY, *VERSIONS] if build in [build_fragments, build_columns, build_empty] else VERSIONS
        for version in kinds:
            name = f"{build.__name__.removeprefix('build_')}-{version}"
            path = os.path.join(directory, "tables", name)
            build(path, version)
            table = lance.dataset(path)
            versions = []
            for number in sorted(entry["version"] for entry in table.versions()):
                old = lance.dataset(path, version=number)
                expected = f"{name}-version-{number}.arrow"
                store(old.to_table(), os.path.join(directory, "tables", expected))
                versions.append(
                    {
                        "version": number,
                        "rows": old.count_rows(),
                        "fragments": len(old.get_fragments()),
                        "row_ids": old.to_table(columns=[], with_row_id=True)["_rowid"].to_pylist()[-3:],
                        "expected": expected,
                    }
                )
            listing.append({"name": name, "versions": versions})
    with open(os.path.join(directory, "tables.json"), "w") as file:
        json.dump(listing, file, indent=1)
        file.write("\n")


# Files of versions that are refused


def write_refused(directory):
    table = pa.table({"id": range(10)})
    with LanceFileWriter(os.path.join(directory, "2.3.lance"), table.schema, version="2.3") as writer:
        writer.write_batch(table)
    with tempfile.TemporaryDirectory() as place:
        lance.write_dataset(table, place, data_storage_version="legacy", mode="overwrite")
        (name,) = os.listdir(os.path.join(place, "data"))
        shutil.copy(os.path.join(place, "data", name), os.path.join(directory, "legacy.lance"))


if __name__ == "__main__":
    main()
