"""Searches against naive ones: rank everything, then take away what must not be there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from foldwalk import rerank
from foldwalk.core import BadInput, BadParameter, UnknownName
from foldwalk.index import Index, Key, Like
from foldwalk.stores.filters import allowed
from samples import clustered

QUERY = clustered(n=3, d=16, seed=5)[0]


def keys_of(results) -> list[str]:
    return [hit.key for hit in results.hits]


@pytest.mark.parametrize("method", ["plain", "cas", "alpha_qe", "manifold_ranking"])
def test_a_vector_is_ranked_as_the_method_ranks_it(index, vectors, method):
    wanted = rerank.create(method).fit(vectors).rank(QUERY[:1], top=10)
    found = index.search(QUERY[0], top=10, method=method)
    assert keys_of(found) == [f"a{i}" for i in wanted.ids[0]]
    assert np.allclose([hit.score for hit in found.hits], wanted.scores[0], atol=1e-5)
    assert [hit.rank for hit in found.hits] == list(range(1, 11))
    assert found.method == method
    assert set(found.seconds) == {"describe", "fit", "search"}


def test_a_tensor_and_a_masked_vector_are_read_as_everywhere(index):
    torch = pytest.importorskip("torch")
    short = torch.tensor(QUERY[0], requires_grad=True).bfloat16()
    found = index.search(short, top=5, method="plain")
    assert keys_of(found) == keys_of(index.search(short.detach().float().numpy(), top=5, method="plain"))
    hidden = np.ma.masked_array(QUERY[0], mask=np.arange(16) == 3)
    with pytest.raises(BadInput, match="the query, row 0, column 3 is masked"):
        index.search(hidden, top=5, method="plain")


# Those that train a network take too long here; they rank rows by the same steps.
QUICK = [name for name in rerank.names() if rerank.describe(name).family != "learned"]


@pytest.mark.parametrize("method", QUICK)
def test_a_key_is_ranked_as_part_of_the_graph_and_left_out(index, vectors, method):
    wanted = rerank.create(method).fit(vectors).rank_self(top=119).ids[7]
    assert keys_of(index.search(Key("a7"), top=1000, method=method)) == [f"a{i}" for i in wanted]
    assert keys_of(index.search("a7", top=5, method=method)) == [f"a{i}" for i in wanted[:5]]


def test_similarity_and_plain_rank_are_those_of_plain_search(index, vectors):
    similarity = vectors @ QUERY[0]
    order = np.argsort(-similarity)
    found = index.search(QUERY[0], top=120)
    assert list(found.plain) == [f"a{i}" for i in order]
    for hit in found.hits:
        item = int(hit.key[1:])
        assert hit.similarity == pytest.approx(similarity[item], abs=1e-5)
        assert order[hit.plain_rank - 1] == item
    plain = index.search(QUERY[0], top=7, method="plain")
    assert [hit.plain_rank for hit in plain.hits] == list(range(1, 8))
    assert list(plain.plain) == keys_of(plain)


METADATA = st.fixed_dictionaries(
    {},
    optional={
        "year": st.one_of(st.integers(1990, 1995), st.none(), st.just("1990")),
        "place": st.sampled_from(["Oslo", "Bergen"]),
        "tags": st.lists(st.sampled_from(["sea", "night", 1, True]), max_size=2),
    },
)
WHERE = st.dictionaries(
    st.sampled_from(["year", "place", "tags"]),
    st.one_of(
        st.sampled_from([1990, 1991.0, "1990", "Oslo", "sea", 1, True, None]),
        st.lists(st.sampled_from([1990, 1994, "Bergen", "night"]), max_size=2),
        st.fixed_dictionaries({"min": st.integers(1990, 1993)}, optional={"max": st.integers(1991, 1995)}),
    ),
    max_size=2,
)


def naive_match(metadata: dict, where: dict) -> bool:
    """The definition, written out."""
    for field, condition in where.items():
        value = metadata.get(field)
        members = value if isinstance(value, list) else [value]
        if isinstance(condition, dict):
            low, high = condition["min"], condition.get("max", 10**9)
            good = [m for m in members if type(m) is int and low <= m <= high]
        else:
            wanted = condition if isinstance(condition, list) else [condition]
            good = [
                m for m in members for w in wanted if m == w and isinstance(m, bool) == isinstance(w, bool)
            ]
        if not good:
            return False
    return True


@given(st.lists(METADATA, min_size=1, max_size=20), WHERE)
def test_conditions_mean_what_they_say(items, where):
    assert allowed(items, where).tolist() == [naive_match(item, where) for item in items]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_filtered_answers_are_complete(filtered_index, data):
    index, known = filtered_index
    where = data.draw(WHERE)
    top = data.draw(st.sampled_from([1, 5, 30, 200]))
    method = data.draw(st.sampled_from(["plain", "cas"]))
    everything = index.search(QUERY[1], top=1000, method=method)
    wanted = [hit for hit in everything.hits if naive_match(known[hit.key], where)][:top]
    found = index.search(QUERY[1], top=top, method=method, where=where)
    assert keys_of(found) == [hit.key for hit in wanted]
    assert [hit.metadata for hit in found.hits] == [known[hit.key] for hit in wanted]
    plain = [key for key in everything.plain if naive_match(known[key], where)]
    assert list(found.plain) == plain[: len(wanted)]
    assert [plain[hit.plain_rank - 1] for hit in found.hits] == keys_of(found)


@pytest.fixture(scope="module")
def filtered_index(tmp_path_factory):
    rng = np.random.default_rng(0)
    vectors = clustered(n=200, d=16)[0]
    keys = [f"a{i}" for i in range(200)]
    tags = (["sea"], ["night", 1], [True], [])
    known = {
        key: {"year": int(rng.integers(1990, 1996)), "place": str(rng.choice(["Oslo", "Bergen"]))}
        | ({"tags": tags[int(rng.integers(4))]} if rng.random() < 0.5 else {})
        for key in keys
    }
    with Index.create(tmp_path_factory.mktemp("filters") / "x.fold", backbone=None) as index:
        index.add_vectors(vectors, keys, known)
        yield index, known


def test_many_values_are_not_compared_one_by_one():
    compared = []

    class Text(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return str.__eq__(self, other)

    items = [{"place": Text(number % 300)} for number in range(500)]
    found = allowed(items, {"place": [Text(number) for number in range(100, 3_000)]})
    assert found.tolist() == [number % 300 >= 100 for number in range(500)]
    assert len(compared) < 10 * len(items)


def test_values_of_every_kind_are_told_apart_in_one_list():
    items = [{"a": value} for value in (True, 1, 1.0, "1", None, [True, "x"], {"b": 1}, [[1], {}])]
    assert allowed(items, {"a": [1]}).tolist() == [False, True, True, False, False, False, False, False]
    assert allowed(items, {"a": [True, None]}).tolist() == [
        True,
        False,
        False,
        False,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "where",
    [[1], {1: 2}, {"year": {"from": 1}}, {"year": {}}, {"year": {"min": 1, "max": "b"}}, {"year": object()}],
)
def test_conditions_that_make_no_sense_are_refused(index, where):
    with pytest.raises(BadInput, match="where"):
        index.search(QUERY[0], where=where)


def test_several_examples_make_one_query(index, vectors):
    """q = p + (p - n) / 4, with p and n the means; none of the examples is answered."""
    positives, negative = vectors[[3, 9]].mean(axis=0), QUERY[0]
    query = positives + 0.25 * (positives - negative)
    wanted = [key for key in keys_of(index.search(query, top=120)) if key not in ("a3", "a9")]
    found = index.search(Like([Key("a3"), "a9"], [QUERY[0]]), top=118)
    assert keys_of(found) == wanted
    without = index.search(Like([Key("a3")]), top=20)
    assert keys_of(without) == keys_of(index.search(Key("a3"), top=20))


def test_what_is_not_wanted_sinks(index):
    """Two clusters are asked for; naming one of them as unwanted brings the other up."""
    labels = np.arange(120) % 6
    both = Like([Key("a0"), Key("a1")])
    less = Like([Key("a0"), Key("a1")], [Key(f"a{i}") for i in (7, 13, 19)])

    def share(results) -> float:
        return float(np.mean([labels[int(hit.key[1:])] == 0 for hit in results.hits]))

    assert share(index.search(less, 15, "plain")) > share(index.search(both, 15, "plain")) + 0.2


def test_near_duplicates_are_folded_under_the_first(make_index):
    """Eight directions, each in three versions that differ by next to nothing."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(8, 16))
    versions = (np.repeat(base, 3, axis=0) + 0.01 * rng.normal(size=(24, 16))).astype(np.float32)
    index = make_index(versions)
    found = index.search(base[2], top=5, method="plain", fold=True)
    groups = [{int(hit.key[1:]) // 3} | {int(twin[1:]) // 3 for twin in hit.duplicates} for hit in found.hits]
    assert [len(group) for group in groups] == [1] * 5
    assert len(set().union(*groups)) == 5
    assert [len(hit.duplicates) for hit in found.hits] == [2] * 5
    plain = keys_of(index.search(base[2], top=24, method="plain"))
    assert [hit.key for hit in found.hits] == [
        next(key for key in plain if int(key[1:]) // 3 in group) for group in groups
    ]
    loose = index.search(base[2], top=24, method="plain")
    assert len(loose.hits) == 24
    assert all(not hit.duplicates for hit in loose.hits)
    everyone = index.search(base[2], top=24, method="plain", fold=1e-6)
    assert sum(1 + len(hit.duplicates) for hit in everyone.hits) == 24
    assert len(everyone.hits) < 24


def test_parameters_reach_the_method(index):
    wide = index.search(QUERY[0], method="cas", parameters={"cluster_k": 40})
    assert wide.hits != index.search(QUERY[0], method="cas").hits
    with pytest.raises(BadParameter, match="cluster_k"):
        index.search(QUERY[0], method="cas", parameters={"cluster_k": 0})
    with pytest.raises(BadInput, match="metric"):
        index.search(QUERY[0], parameters={"metric": "euclidean"})


def test_a_method_that_wants_more_neighbours_finds_them(index, vectors):
    wanted = rerank.create("manifold_ranking", k=80).fit(vectors).rank(QUERY[:1], top=10).ids[0]
    found = index.search(QUERY[0], method="manifold_ranking", parameters={"k": 80})
    assert keys_of(found) == [f"a{i}" for i in wanted]


@pytest.mark.parametrize(
    ("query", "options", "words"),
    [
        ("nobody", {}, "neither a file nor a key"),
        (Key("nobody"), {}, "no item 'nobody'"),
        (np.ones(15), {}, "15 dimensions, but 16"),
        (np.full(16, np.inf), {}, "inf"),
        (np.ones((2, 16)), {}, "1-D"),
        (Like([]), {}, "positive"),
        (Like("a3"), {}, "list"),
        (Like([Key("a3")], ["nobody"]), {}, "nobody"),
        (Image.new("RGB", (8, 8)), {}, "without a backbone"),
        ("a3", {"top": 0}, "top"),
        ("a3", {"top": 2.5}, "top"),
        ("a3", {"method": "ca"}, "cas"),
        ("a3", {"fold": 2}, "fold"),
    ],
)
def test_bad_queries_are_refused_in_one_sentence(index, query, options, words):
    with pytest.raises(BadInput, match=words) as caught:
        index.search(query, **options)
    assert "\n" not in str(caught.value)


def test_an_unknown_key_is_an_unknown_name(index):
    with pytest.raises(UnknownName):
        index.search(Key("nobody"))


def test_a_single_item_has_no_neighbours(make_index):
    index = make_index(np.ones((1, 4)))
    assert keys_of(index.search(np.ones(4), method="plain")) == ["a0"]
    assert index.search("a0").hits == ()
