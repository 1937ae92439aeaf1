"""Print which models are right for their data and seeds: judge.py DATA WEIGHTS, with a line `SEED FILE` for each."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "workload"))

import check
import train


def main():
    data, weights = sys.argv[1:]
    examples = train.read_data(data)
    for line in sys.stdin:
        seed, file = line.rstrip("\n").split(" ", 1)
        if os.path.exists(file) and check.is_model(file, examples, weights, int(seed)):
            print(seed, flush=True)


main()
