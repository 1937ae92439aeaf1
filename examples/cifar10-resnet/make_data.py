"""Write the small synthetic CIFAR-10 of the example `cifar10`: the same format, the same eight files."""

import pathlib
import runpy
import sys

maker = pathlib.Path(__file__).resolve().parent.parent / "cifar10" / "make_data.py"
pathlib.Path("published").mkdir(exist_ok=True)
sys.argv = [str(maker), "published/cifar-10-python.tar.gz", "--images-per-batch", "100", *sys.argv[1:]]
runpy.run_path(str(maker), run_name="__main__")
