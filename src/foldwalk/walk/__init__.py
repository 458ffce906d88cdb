"""The numerical heart: solvers and sparse kernels that know nothing of pictures or papers.

Only kernels that Python calls are cached on disk. What they call in turn is compiled into them; cached by
itself in several forms, it could be mixed up by processes that compile at the same time.
"""

from foldwalk.walk.conjugate import columns_per_block, solve_dense, solve_diffusion
from foldwalk.walk.numbered import NumberedSystem
from foldwalk.walk.overlap import InvertedList, multiply
from foldwalk.walk.products import multiply_capped, power_series
from foldwalk.walk.push import push_diffusion
from foldwalk.walk.rowwise import scale_rows, sum_of_largest, top_of_sparse_rows, values_at
from foldwalk.walk.select import top_of_dense_rows

__all__ = [
    "InvertedList",
    "NumberedSystem",
    "columns_per_block",
    "multiply",
    "multiply_capped",
    "power_series",
    "push_diffusion",
    "scale_rows",
    "solve_dense",
    "solve_diffusion",
    "sum_of_largest",
    "top_of_dense_rows",
    "top_of_sparse_rows",
    "values_at",
]
