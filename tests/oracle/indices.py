"""Tables with an index of each kind, and what is wrong with what it answers."""

import lance
import numpy as np
import pyarrow as pa

DIMENSION = 16
NAME = "the_index"
FILTERS = {
    "id": [
        "id = 7",
        "id = 1203",
        "id >= 100 AND id < 130",
        "id BETWEEN 990 AND 1010",
        "NOT (id > 5)",
        "id IN (3, 404, 1999, 2100)",
        "id IS NULL",
    ],
    "label": ["label = 'c3'", "label IN ('c1', 'c2')", "label IS NULL", "NOT (label = 'c3')", "label > 'c4'"],
    "tags": ["array_has_any(tags, ['t1'])", "array_has_all(tags, ['t1', 'u2'])", "array_has(tags, 'u4')"],
    "text": ["contains(text, 'word3')"],
}


def rows(first, last):
    numbers = np.arange(first, last)
    vectors = np.random.default_rng(first).standard_normal((last - first) * DIMENSION).astype("f4")
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "label": pa.array([f"c{n % 7}" if n % 11 else None for n in numbers]),
            "tags": pa.array([[f"t{n % 3}", f"u{n % 5}"] if n % 13 else None for n in numbers]),
            "text": pa.array([f"word{n % 9} common thing{n % 4}" for n in numbers]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIMENSION),
        }
    )


def make(path, column, kind, stable):
    """2000 rows in 8 fragments below an index, of which some are deleted, and 100 that it does not cover."""
    table = lance.write_dataset(rows(0, 2000), path, max_rows_per_file=250, enable_stable_row_ids=stable)
    if column == "vector":
        options = {"num_sub_vectors": 8} if "PQ" in kind else {}
        table.create_index(column, kind, name=NAME, num_partitions=4, **options)
    else:
        table.create_scalar_index(column, kind, name=NAME)
    lance.dataset(path).delete("id % 3 = 0 AND id < 750")
    lance.write_dataset(rows(2000, 2100), path, mode="append")


def wrong(path, column, kind):
    """What is missing, too much or twice in answers with the index, compared with those without it."""
    table = lance.dataset(path)
    problems = []

    def compare(what, found, expected):
        if found != expected:
            problems.append(f"{what}: {len(found)} rows instead of {len(expected)}: {found[:5]}, {expected[:5]}")

    def passing(text, **options):
        return sorted(table.scanner(filter=text, columns=["id"], **options).to_table()["id"].to_pylist())

    for text in FILTERS.get(column, []):
        for text in (text, f"({text}) AND id % 2 = 0"):
            expected = passing(text, use_scalar_index=False)
            compare(text, passing(text), expected)
            compare(f"{text} with addresses", passing(text, with_row_address=True), expected)
            if table.count_rows(filter=text) != len(expected):
                problems.append(f"{text}: {table.count_rows(filter=text)} counted instead of {len(expected)}")
    everything = table.to_table()
    ids = np.array(everything["id"].to_pylist())
    if kind == "INVERTED":
        texts = [set(text.split()) for text in everything["text"].to_pylist()]
        for words in ["word3", "common", "word3 thing1"]:
            expected = sorted(int(n) for n, text in zip(ids, texts) if text & set(words.split()))
            search = {"full_text_query": words, "columns": ["id", "_score"]}
            compare(words, sorted(table.scanner(**search).to_table()["id"].to_pylist()), expected)
            for prefilter in (True, False):
                found = table.scanner(**search, filter="id % 3 = 1", prefilter=prefilter).to_table()
                compare(
                    f"{words}, prefilter {prefilter}",
                    sorted(found["id"].to_pylist()),
                    [n for n in expected if n % 3 == 1],
                )
    if column == "vector":
        vectors = np.stack(everything["vector"].to_numpy(zero_copy_only=False))
        for query in range(0, len(vectors), 500):
            nearest = {"column": "vector", "q": vectors[query], "k": 10, "nprobes": 100, "refine_factor": 250}
            order = ids[np.argsort(((vectors - vectors[query]) ** 2).sum(1), kind="stable")]
            for text, mask in [(None, order >= 0), ("id % 2 = 0", order % 2 == 0), ("id > 1000", order > 1000)]:
                for prefilter in (True, False):
                    found = table.scanner(
                        nearest=nearest, filter=text, prefilter=prefilter, columns=["id", "_distance"]
                    ).to_table()
                    expected = order[mask][:10] if prefilter else order[:10][mask[:10]]
                    compare(f"nearest {query}, {text}, {prefilter}", found["id"].to_pylist(), expected.tolist())
    return problems
