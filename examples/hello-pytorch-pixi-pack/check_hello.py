"""Exits with 0 if the result is valid: the line was found."""

import argparse
import json
import sys

argparse.ArgumentParser(description=__doc__).parse_args()

with open("hello.json") as file:
    hello = json.load(file)
slope, height = hello["line"]
if abs(slope - 3) > 0.01 or abs(height - 1) > 0.01:
    sys.exit(f"the line is {slope}x + {height}, and should be 3x + 1")
print(f"PyTorch {hello['torch']} works on {hello['device']}")
