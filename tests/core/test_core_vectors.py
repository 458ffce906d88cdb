"""Vectors: what is taken, what is refused and why, and rows of length one."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from foldwalk.core import BadInput, Vectors


def refusal(array, **options) -> str:
    with pytest.raises(BadInput) as caught:
        Vectors.check(array, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64, np.uint8, np.uint64, bool]
)
def test_every_real_type_becomes_float32(dtype):
    raw = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype)
    checked = Vectors.check(raw)
    assert checked.values.dtype == np.float32
    assert checked.values.flags.c_contiguous
    assert checked.values.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert (len(checked), checked.dim) == (2, 3)


def test_layouts_and_lists_become_contiguous():
    raw = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (np.asfortranarray(raw), raw[::-1][::-1], np.repeat(raw, 2, axis=1)[:, ::2], raw.tolist()):
        checked = Vectors.check(view)
        assert checked.values.flags.c_contiguous
        assert np.array_equal(checked.values, raw)
    assert Vectors.check(raw[:, ::-1]).values.flags.c_contiguous


def test_numbers_that_float32_cannot_tell_apart_are_rounded_not_refused():
    assert Vectors.check([[2**24 + 1, 1e-60]]).values.tolist() == [[2.0**24, 0.0]]


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ([["a", "b"]], ["real numbers", "<U1"]),
        ([[1 + 2j]], ["real numbers", "complex128"]),
        ([[None, 1.0]], ["real numbers", "object"]),
        ([[10**400, 1.0]], ["real numbers", "object"]),
        (None, ["real numbers", "object"]),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), ["real numbers", "datetime64"]),
        ([[1.0, 2.0], [3.0]], ["cannot be read as an array"]),
        ([1.0, 2.0], ["2-D", "(2,)", "x[None, :]"]),
        (3.0, ["2-D", "()"]),
        (np.zeros((2, 2, 2)), ["2-D", "(2, 2, 2)"]),
        (np.zeros((0, 5)), ["empty", "(0, 5)", "at least one vector"]),
        (np.zeros((5, 0)), ["empty", "(5, 0)"]),
        ([[]], ["empty", "(1, 0)"]),
    ],
)
def test_refuses_what_is_no_set_of_vectors(array, words):
    message = refusal(array, name="queries")
    assert message.startswith("queries")
    assert all(word in message for word in words)


def test_refuses_a_sparse_matrix_and_a_tensor_that_will_not_convert():
    assert refusal(sparse.eye_array(3), name="queries") == (
        "queries is a sparse matrix, but vectors are dense: pass queries.toarray()."
    )

    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("detach it first")

    assert "detach it first" in refusal(Tensor())


def test_tensors_of_every_kind_of_float_are_taken_without_loss():
    torch = pytest.importorskip("torch")
    numbers = [[1.0, -0.15625], [3.0, 2.0**-20]]
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.float8_e5m2):
        tensor = torch.tensor(numbers).to(dtype)
        assert Vectors.check(tensor).values.tolist() == tensor.double().tolist()
        rows = list(tensor)
        assert Vectors.check(rows).values.tolist() == tensor.double().tolist()
    learned = torch.tensor(numbers, requires_grad=True)
    assert Vectors.check(learned).values.tolist() == numbers
    assert Vectors.check(learned.bfloat16() * 2).values.tolist() == [[2.0, -0.3125], [6.0, 2.0**-19]]
    kept = Vectors.check(learned, owned=True).values
    with torch.no_grad():
        learned.zero_()
    assert kept.tolist() == numbers
    bad = torch.tensor([[1.0, torch.nan]], dtype=torch.bfloat16)
    assert refusal(bad, name="queries") == "queries, row 0, column 1 is nan; remove or repair that row."
    for wrong in (torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()):
        assert refusal(wrong, name="queries") == (
            "queries is a sparse tensor, but vectors are dense: pass queries.to_dense()."
        )


def test_sixteen_bits_that_numpy_knows_by_name_only():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    raw = np.array([[1.0, -0.15625]], ml_dtypes.bfloat16)
    assert Vectors.check(raw).values.tolist() == [[1.0, -0.15625]]


def test_reading_vectors_does_not_load_torch():
    code = "import sys, foldwalk.core as c; c.Vectors.check([[1, 2]]); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_takes_tables_whose_columns_may_lack_a_value():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.5, 2.0], "b": [3.0, 4.0]})
    for kind in ("float64", "Float64", "Float32"):
        assert Vectors.check(table.astype(kind)).values.tolist() == [[1.5, 3.0], [2.0, 4.0]]
    whole = table.assign(c=pandas.array([7, 8], dtype="Int64"))
    assert Vectors.check(whole).values.tolist() == [[1.5, 3.0, 7.0], [2.0, 4.0, 8.0]]
    lacking = table.astype("Float64")
    lacking.iloc[1, 0] = pandas.NA
    assert "gallery, row 1, column 0 is nan" in refusal(lacking, name="gallery")
    assert "real numbers" in refusal(table.astype("Float64").assign(c=["1", "2"]))


def test_a_mask_is_not_ignored():
    masked = np.ma.masked_array(np.ones((4, 3)), mask=np.zeros((4, 3), bool))
    assert Vectors.check(masked).values.sum() == 12
    masked[2, 1] = masked[3, 0] = np.ma.masked
    assert refusal(masked, name="gallery") == "gallery, row 2, column 1 is masked; remove or fill that row."
    assert Vectors.check(np.ma.masked_array([[1.0]])).values.tolist() == [[1.0]]


def test_a_mask_is_not_ignored_in_whole_numbers_nor_in_a_list_of_rows():
    whole = np.ma.masked_array([[1, 2], [3, 4]])
    assert whole.mask is np.ma.nomask
    assert Vectors.check(whole).values.tolist() == [[1, 2], [3, 4]]
    assert Vectors.check(list(whole)).values.tolist() == [[1, 2], [3, 4]]
    hidden = np.ma.masked_equal(whole, 3)
    for array in (hidden, list(hidden), [np.array([1, 2]), hidden[1]]):
        message = refusal(array, name="gallery")
        assert message == "gallery, row 1, column 0 is masked; remove or fill that row."


def test_owned_values_are_copied_once_and_only_where_they_would_be_the_callers():
    raw = np.ones((3, 2), np.float32)
    assert np.shares_memory(Vectors.check(raw).values, raw)
    for array in (raw, memoryview(raw)):
        assert not np.shares_memory(Vectors.check(array, owned=True).values, raw)
    read_only = np.broadcast_to(raw[0], (3, 2))
    assert Vectors.check(read_only, owned=True).values.flags.writeable


def test_refuses_another_dimension():
    assert refusal([[1, 2, 3]], name="queries", dim=4) == "queries has 3 dimensions, but 4 were expected."
    assert Vectors.check([[1, 2, 3]], dim=3).dim == 3


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (np.nan, "is nan"),
        (np.inf, "is inf"),
        (-np.inf, "is -inf"),
        (1e39, "is 1e+39, too large for float32"),
        (-1e300, "is -1e+300, too large for float32"),
    ],
)
@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 1), (4, 2)])
def test_names_the_place_and_the_reason_of_a_number_that_is_not_finite(bad, reason, row, column):
    raw = np.ones((5, 3))
    raw[row, column] = bad
    message = refusal(raw, name="gallery")
    assert message == f"gallery, row {row}, column {column} {reason}; remove or repair that row."


def test_names_the_first_bad_row_beyond_the_first_block():
    raw = np.ones((70_000, 2), np.float32)
    raw[66_001, 1] = np.nan
    raw[69_999, 0] = np.inf
    assert "row 66001, column 1 is nan" in refusal(raw)


def test_float32_infinity_is_called_infinite_and_not_too_large():
    assert "column 0 is inf;" in refusal(np.array([[np.inf]], np.float16))


def test_unit_against_the_norm():
    raw = np.random.default_rng(0).normal(size=(50, 7))
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    assert np.allclose(Vectors.check(raw).unit().values, expected, atol=1e-7)


@pytest.mark.parametrize("size", [1e-45, 1e-38, 1e-20, 1.0, 1e20, 3e38])
def test_unit_of_huge_and_of_tiny_rows(size):
    rows = Vectors.check(np.array([[size, 0, 0], [-size, -size, 0], [size, size, size]]))
    expected = [[1, 0, 0], [-np.sqrt(0.5), -np.sqrt(0.5), 0], [np.sqrt(1 / 3)] * 3]
    assert np.allclose(rows.unit().values, expected, atol=1e-6)


def test_unit_leaves_zero_rows_and_the_original():
    raw = np.array([[0, 0], [3, 4], [-0.0, 0]], np.float32)
    checked = Vectors.check(raw)
    assert checked.zero_rows.tolist() == [True, False, True]
    assert np.allclose(checked.unit().values, [[0, 0], [0.6, 0.8], [0, 0]])
    assert checked.values.tolist() == [[0, 0], [3, 4], [0, 0]]
    assert not Vectors.check([[0, 1e-45], [1e-60, 1]]).zero_rows.any()


def test_unit_beyond_the_first_block():
    raw = np.zeros((70_000, 2), np.float32)
    raw[65_535:65_538] = [[0, 2], [3, 4], [5, 0]]
    assert np.allclose(Vectors.check(raw).unit().values[65_535:65_538], [[0, 1], [0.6, 0.8], [1, 0]])


@settings(max_examples=50, deadline=None)
@given(
    arrays.arrays(
        np.float32,
        arrays.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_unit_rows_have_length_one_or_zero(raw):
    checked = Vectors.check(raw)
    lengths = np.linalg.norm(checked.unit().values.astype(np.float64), axis=1)
    assert np.allclose(lengths, np.where(checked.zero_rows, 0, 1), atol=1e-6)
    assert (np.sign(checked.unit().values) * np.sign(raw) >= 0).all()
