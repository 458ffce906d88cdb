"""Which parameters: tried on half of the training classes, held out; the test classes are never looked at.

    python -m benchmarks.metric_learning.choice --root DATA --what head

Prints one line per choice and writes them all to results/. The choices are in
yardsticks/metric_learning_choices.py.
"""

from metric_learning_choice import compare, parser

if __name__ == "__main__":
    compare(parser(__doc__ or "").parse_args())
