"""Rows by pyfory. Schemas and values come and go as JSON, in the form of tests/data/row/manifest.json."""

import datetime
import math
import os
import time

EPOCH = datetime.date(1970, 1, 1)
MIDNIGHT = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def encode(schema, rows):
    """The bytes of each row as hex, its schema hash in front."""
    fields, encoder = prepare(schema)
    return [encoder.encode(to_python(fields, row)).hex() for row in rows]


def decode(schema, rows):
    """What is in each row, which is hex and has its schema hash in front."""
    fields, encoder = prepare(schema)
    return [from_python(fields, encoder.decode(bytes.fromhex(row))) for row in rows]


def prepare(schema):
    # Times without a zone are local ones to pyfory.
    os.environ["TZ"] = "UTC"
    time.tzset()
    import pyfory.format

    fields = {"type": "struct", "fields": schema}
    return fields, pyfory.format.Encoder(schema=pyfory.format.schema([field(pyfory.format, f) for f in schema]))


def field(module, described):
    return module.field(described["name"], data_type(module, described), described["nullable"])


def data_type(module, described):
    kind = described["type"]
    if kind == "list":
        return module.list_(data_type(module, described["element"]))
    if kind == "map":
        return module.map_(data_type(module, described["key"]), data_type(module, described["value"]))
    if kind == "struct":
        return module.struct([field(module, f) for f in described["fields"]])
    return {"bool": module.boolean}.get(kind, getattr(module, kind, None))()


def to_python(described, value):
    kind = described["type"]
    if value is None:
        return None
    if kind == "struct":
        return {f["name"]: to_python(f, value[f["name"]]) for f in described["fields"]}
    if kind == "list":
        return [to_python(described["element"], element) for element in value]
    if kind == "map":
        return {to_python(described["key"], k): to_python(described["value"], v) for k, v in value}
    if kind in ("float32", "float64"):
        return float(value)
    if kind == "binary":
        return bytes.fromhex(value)
    if kind == "date32":
        return EPOCH + datetime.timedelta(days=value)
    if kind == "timestamp":
        return MIDNIGHT + value * MICROSECOND
    return value


def from_python(described, value):
    kind = described["type"]
    if value is None:
        return None
    if kind == "struct":
        return {f["name"]: from_python(f, getattr(value, f["name"])) for f in described["fields"]}
    if kind == "list":
        return [from_python(described["element"], element) for element in value]
    if kind == "map":
        return [[from_python(described["key"], k), from_python(described["value"], v)] for k, v in value.items()]
    if kind in ("float32", "float64"):
        return number(value)
    if kind == "binary":
        return value.hex()
    if kind == "date32":
        return (value - EPOCH).days
    if kind == "timestamp":
        return (value - MIDNIGHT) // MICROSECOND
    return value


def number(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "-0.0" if value == 0 and math.copysign(1, value) < 0 else value
