"""The changes of tests/src/conflicts.rs, done by the reference from the version that a handle knows."""

import lance
import pyarrow as pa


def scores(ids):
    return pa.table({"id": pa.array(ids, pa.int64()), "score": pa.array([id * 10 for id in ids], pa.int64())}).cast(
        pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("score", pa.int64())])
    )


def rows(ids):
    names = [None if id % 4 == 0 else f"row {id}" for id in ids]
    fields = [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("score", pa.int64()),
        pa.field("extra", pa.int64()),
    ]
    columns = [list(ids), names, [id * 10 for id in ids], [-id for id in ids]]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, fields)], pa.schema(fields))


def delete(where):
    return lambda table, retries: table.delete(where, conflict_retries=retries)


def update(where):
    return lambda table, retries: table.update({"score": "score + 1000"}, where=where, conflict_retries=retries)


def upsert(ids, insert):
    def run(table, retries):
        merge = table.merge_insert("id").when_matched_update_all().conflict_retries(retries)
        if insert:
            merge.when_not_matched_insert_all()
        merge.execute(scores(ids))

    return run


def alter(**alteration):
    return lambda table, retries: table.alter_columns(alteration)


def restore(table, retries):
    lance.dataset(table.uri, version=1).restore()


CHANGES = {
    "append": lambda table, retries: lance.write_dataset(scores(range(100, 105)), table, mode="append"),
    "delete": delete("id IN (1, 2)"),
    "delete others": delete("id IN (4, 5)"),
    "delete fragment": delete("id < 10"),
    "delete elsewhere": delete("id IN (21, 22)"),
    "update": update("id IN (1, 2)"),
    "update elsewhere": update("id IN (21, 22)"),
    "upsert": upsert([1], False),
    "upsert and insert": upsert([2, 200], True),
    "add column": lambda table, retries: table.add_columns({"twice": "score * 2"}),
    "add null column": lambda table, retries: table.add_columns(pa.field("empty", pa.int32())),
    "cast column": alter(path="extra", data_type=pa.int32()),
    "drop column": lambda table, retries: table.drop_columns(["extra"]),
    "rename column": alter(path="name", name="label"),
    "allow nulls": alter(path="id", nullable=True),
    "refuse nulls": alter(path="score", nullable=False),
    "compact": lambda table, retries: table.optimize.compact_files(),
    "compact one": lambda table, retries: table.optimize.compact_files(target_rows_per_fragment=10),
    "overwrite": lambda table, retries: lance.write_dataset(rows(range(500, 503)), table, mode="overwrite"),
    "restore": restore,
    "config": lambda table, retries: table.update_config({"owner": "new"}),
    "other config": lambda table, retries: table.update_config({"other": "new"}),
    "schema metadata": lambda table, retries: table.update_schema_metadata({"about": "arms"}),
    "field metadata": lambda table, retries: table.update_field_metadata({"score": {"unit": "m"}}),
}


def change(path, name, version=None, retries=10):
    table = lance.dataset(path, version=version)
    CHANGES[name](table, retries)
    return lance.dataset(path).version
