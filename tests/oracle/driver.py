"""Does jobs with the reference implementation.

    driver.py JOBS.json RESULTS.json
    driver.py

JOBS.json holds a list of objects. Each has "do", the name of a function below without the leading "do_", and its
arguments. RESULTS.json gets a list as long, of {"ok": value} or {"error": text}. One process does many jobs, since
starting it takes most of a second. Arrow data goes both ways as IPC streams in files: a stream may change its
dictionaries between batches, a file may not. Without arguments each line of the standard input is a job, and each line
of the standard output its result.
"""

import datetime
import json
import os
import sys
import time

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

import changes
import indices
import rows as row_format


def load(path):
    """The schema and the batches in an IPC stream."""
    with pa.memory_map(path) as source, pa.ipc.open_stream(source) as reader:
        return reader.schema, list(reader)


def store(data, path):
    """Writes a table or a batch as an IPC stream; the number of rows."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return data.num_rows


def opened(path, branch=None, version=None):
    """A version of a table or of a branch; the latest if none is said."""
    if branch is None:
        return lance.dataset(path, version=version)
    return lance.dataset(path).checkout_version((branch, version))


def do_write_file(arrow, to, version, **options):
    """Writes the batches of `arrow`, each as one, to a single file."""
    schema, batches = load(arrow)
    with LanceFileWriter(to, schema, version=version, **options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sum(batch.num_rows for batch in batches)


def do_read_file(path, to, rows=None, columns=None, batch_size=1024):
    """Reads all rows, or `rows`, which must ascend."""
    reader = LanceFileReader(path, columns=columns)
    if reader.num_rows() == 0:
        # The reference fails on an empty list of rows.
        rows = None
    results = reader.read_all(batch_size=batch_size) if rows is None else reader.take_rows(rows)
    return store(results.to_table(), to)


def do_describe_file(path):
    """The layouts of the pages, as the reference prints them: a list a column."""
    metadata = LanceFileReader(path).metadata()
    return {
        "version": [metadata.major_version, metadata.minor_version],
        "rows": metadata.num_rows,
        "columns": [[page.encoding for page in column.pages] for column in metadata.columns],
    }


def do_write_table(arrow, to, version=None, mode="create", **options):
    """Writes, appends to or overwrites a table; its version."""
    schema, batches = load(arrow)
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    return lance.write_dataset(reader, to, mode=mode, data_storage_version=version, **options).version


def do_write_to(path, arrow, mode, branch=None, **options):
    """Appends to or overwrites a table or a branch; its version."""
    schema, batches = load(arrow)
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    return lance.write_dataset(reader, opened(path, branch), mode=mode, **options).version


def do_look(path, whole, taken, filtered, rows, where, branch=None, version=None, lineage=False):
    """All rows of a version, some by position, and those that pass a filter; and what else is to be known of it."""
    table = opened(path, branch, version)
    columns = [field.name for field in table.schema]
    if lineage:
        columns += ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    store(table.to_table(columns=columns), whole)
    store(table.take(rows), taken)
    store(table.to_table(filter=where), filtered)
    return {
        "version": table.version,
        "counts": [table.count_rows(), table.count_rows(where)],
        "config": table.config(),
        "versions": [version["version"] for version in table.versions()],
    }


def do_read_table(
    path, to, rows=None, columns=None, version=None, with_row_id=False, where=None, storage_options=None
):
    """Scans a table, or takes rows by position."""
    table = lance.dataset(path, version=version, storage_options=storage_options)
    if rows is not None:
        return store(table.take(rows, columns=columns), to)
    return store(table.to_table(columns=columns, with_row_id=with_row_id, filter=where), to)


def do_filter_table(path, filters):
    """The ids of the rows that pass, for each filter; or why it is refused."""
    table = lance.dataset(path)

    def passing(text):
        try:
            return {"ok": table.to_table(filter=text, columns=[], with_row_id=True)["_rowid"].to_pylist()}
        except BaseException as error:  # noqa: BLE001
            return {"error": str(error)[:300]}

    return [passing(text) for text in filters]


def do_time_open(path, times):
    """The median of how many seconds it takes to open a table."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        lance.dataset(path)
        took.append(time.perf_counter() - start)
    return sorted(took)[times // 2]


def do_describe_table(path):
    """What the manifest says, and a count that goes through the deletion files."""
    table = lance.dataset(path)
    table.validate()
    return {
        "version": table.version,
        "rows": table.count_rows(),
        "versions": [version["version"] for version in table.versions()],
        "storage_version": table.data_storage_version,
        "fragments": [
            {"id": fragment.fragment_id, "physical_rows": fragment.physical_rows, "deleted": fragment.num_deletions}
            for fragment in table.get_fragments()
        ],
    }


def do_delete(path, predicate, version=None, branch=None):
    """Deletes rows; `version` is that of a handle that does not know what came after."""
    table = opened(path, branch, version)
    table.delete(predicate)
    return table.version


def do_update(path, updates, where=None, branch=None):
    table = opened(path, branch)
    table.update(updates, where=where)
    return table.version


def do_merge_insert(path, arrow, on, update=True, insert=True, delete=None, branch=None):
    """Replaces the rows that are there already, and adds the others. `update` and `delete` may be conditions."""
    schema, batches = load(arrow)
    merge = opened(path, branch).merge_insert(on)
    if update:
        merge.when_matched_update_all(update if isinstance(update, str) else None)
    if insert:
        merge.when_not_matched_insert_all()
    if delete:
        merge.when_not_matched_by_source_delete(delete if isinstance(delete, str) else None)
    merge.execute(pa.Table.from_batches(batches, schema))
    return opened(path, branch).version


def do_create_index(path, column, kind="BTREE"):
    table = lance.dataset(path)
    table.create_scalar_index(column, kind)
    return lance.dataset(path).version


def do_make_indexed(path, column, kind, stable):
    indices.make(path, column, kind, stable)


def do_wrong_answers(path, column, kind):
    return indices.wrong(path, column, kind)


def do_index_rows(path, name):
    """How many rows an index has, and how many it does not."""
    stats = lance.dataset(path).stats.index_stats(name)
    return [stats["num_indexed_rows"], stats["num_unindexed_rows"]]


def do_optimize_index(path):
    table = lance.dataset(path)
    table.optimize.optimize_indices()
    return lance.dataset(path).version


def do_clean_up(path, keep, branch=None, **options):
    """Keeps some of the newest versions; the versions that are left."""
    table = opened(path, branch)
    table.cleanup_old_versions(retain_versions=keep, **options)
    return [version["version"] for version in opened(path, branch).versions()]


def do_restore(path, version, branch=None):
    opened(path, branch, version).restore()
    return opened(path, branch).version


def do_update_config(path, values, branch=None):
    """Sets values, or removes those that are null."""
    table = opened(path, branch)
    table.update_config(values)
    return table.version


def do_compact(path, branch=None, **options):
    table = opened(path, branch)
    table.optimize.compact_files(**options)
    return table.version


def do_add_columns(path, expressions, branch=None):
    table = opened(path, branch)
    table.add_columns(expressions)
    return table.version


def do_add_columns_like(path, arrow, branch=None):
    """Adds the columns of a stream, all null."""
    table = opened(path, branch)
    table.add_columns(load(arrow)[0])
    return table.version


def do_add_aligned(path, arrow, cut, branch=None):
    """Adds the columns of a stream, a row to a row, in batches of `cut` rows."""
    table = opened(path, branch)
    schema, batches = load(arrow)
    rows = pa.Table.from_batches(batches, schema)
    table.add_columns(pa.RecordBatchReader.from_batches(schema, rows.to_batches(max_chunksize=cut)))
    return table.version


def do_join_columns(path, arrow, on, branch=None):
    """Adds the columns of a stream by a key."""
    table = opened(path, branch)
    schema, batches = load(arrow)
    table.merge(pa.Table.from_batches(batches, schema), on)
    return table.version


def do_drop_columns(path, columns, branch=None):
    table = opened(path, branch)
    table.drop_columns(columns)
    return table.version


def do_add_null_columns(path, types):
    """Adds a column for each name in `types`, of the Arrow type that is called so."""
    table = lance.dataset(path)
    table.add_columns(pa.schema([pa.field(name, pa.type_for_alias(alias)) for name, alias in types.items()]))
    return table.version


def do_alter_columns(path, alterations, branch=None):
    """Each may have a "data_type", the name of an Arrow type."""
    table = opened(path, branch)
    for alteration in alterations:
        if "data_type" in alteration:
            alteration["data_type"] = pa.type_for_alias(alteration["data_type"])
    table.alter_columns(*alterations)
    return table.version


def do_describe_columns(path):
    """The ids of the fields by their dotted paths, those of the columns in each data file, and the indices."""
    table = lance.dataset(path)

    def ids(fields, above):
        for field in fields:
            yield above + field.name(), field.id()
            yield from ids(field.children(), above + field.name() + ".")

    return {
        "ids": dict(ids(table.lance_schema.fields(), "")),
        "files": [[list(file.fields) for file in fragment.metadata.files] for fragment in table.get_fragments()],
        "indices": [index["name"] for index in table.list_indices()],
        "config": table.config(),
        "metadata": table.metadata,
        "schema_metadata": {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()},
    }


def do_read_blobs(path, column, version, to):
    """The values of a blob column, in scan order."""
    table = lance.dataset(path, version=version)
    files = table.take_blobs(column, indices=list(range(table.count_rows())))
    values = [None if file is None else file.read() for file in files]
    return store(pa.table({"blob": pa.array(values, pa.large_binary())}), to)


def do_read_lineage(path, to):
    columns = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    return store(lance.dataset(path).to_table(columns=columns), to)


def do_tag(path, name, version, branch=None, update=False):
    tags = lance.dataset(path).tags
    (tags.update if update else tags.create)(name, (branch, version))
    return name


def do_delete_tag(path, name):
    lance.dataset(path).tags.delete(name)


def do_names(path):
    """Tags as name: [branch, version], branches as name: [parent, version]."""
    table = lance.dataset(path)
    return {
        "tags": {name: [tag["branch"], tag["version"]] for name, tag in table.tags.list().items()},
        "branches": {
            name: [branch["parent_branch"], branch["parent_version"]] for name, branch in table.branches.list().items()
        },
    }


def do_branch(path, name, version=None, branch=None):
    return lance.dataset(path).create_branch(name, (branch, version)).version


def do_delete_branch(path, name):
    lance.dataset(path).branches.delete(name)


def do_write_branch(path, branch, arrow):
    """Appends to a branch; its version."""
    schema, batches = load(arrow)
    table = lance.dataset(path).checkout_version((branch, None))
    return lance.write_dataset(pa.RecordBatchReader.from_batches(schema, batches), table, mode="append").version


def do_delete_in_branch(path, branch, predicate):
    table = lance.dataset(path).checkout_version((branch, None))
    table.delete(predicate)
    return table.version


def do_compact_branch(path, branch):
    table = lance.dataset(path).checkout_version((branch, None))
    table.optimize.compact_files()
    return table.version


def do_read_branch(path, branch, to, version=None):
    table = lance.dataset(path).checkout_version((branch, version))
    return store(table.to_table(), to)


def do_clone(path, to, version, branch=None):
    return lance.dataset(path).shallow_clone(to, (branch, version)).version


def do_version_at(path, seconds):
    """The version that was the latest at a time."""
    moment = datetime.datetime.fromtimestamp(seconds)
    return lance.dataset(path, asof=moment).version


def do_migrate(path, version=2):
    # The latest version of a table with both kinds of names cannot be opened, but one of which the number is known.
    lance.dataset(path, version=version).migrate_manifest_paths_v2()


def do_change(path, name, version=None, retries=10):
    """One of the changes in changes.py, from a handle on `version`; the version after it."""
    return changes.change(path, name, version, retries)


def do_encode_rows(schema, rows):
    return row_format.encode(schema, rows)


def do_decode_rows(schema, rows):
    return row_format.decode(schema, rows)


def attempt(job):
    job = dict(job)
    name = job.pop("do")
    try:
        return {"ok": globals()["do_" + name](**job)}
    # A panic in the reference is a BaseException.
    except BaseException as error:  # noqa: BLE001
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": f"{name}: {type(error).__name__}: {str(error)[:2000]}"}


def serve():
    # Whatever else is printed must not come between the results.
    with os.fdopen(os.dup(1), "w") as results:
        os.dup2(2, 1)
        for line in sys.stdin:
            print(json.dumps(attempt(json.loads(line))), file=results, flush=True)


def main():
    if len(sys.argv) == 1:
        return serve()
    jobs, results = sys.argv[1:]
    with open(jobs) as file:
        done = [attempt(job) for job in json.load(file)]
    with open(results, "w") as file:
        json.dump(done, file)


if __name__ == "__main__":
    main()
