"""Do what pixi-unpack does, with the library it is built on (py-rattler): [-o FOLDER] ARCHIVE."""

import argparse
import asyncio
import os
import tarfile
import tempfile
from pathlib import Path

from rattler import Channel, RepoData, install
from rattler.shell import ActivationVariables, Shell, activate

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("-o", "--output-directory", default=".")
parser.add_argument("archive")
args = parser.parse_args()
output = Path(args.output_directory).absolute()
prefix = output / "env"

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
    with tarfile.open(args.archive) as archive:
        archive.extractall(folder)
    channel = Path(folder, "channel")
    records = [
        record
        for index in channel.glob("*/repodata.json")
        for record in RepoData.from_path(index).into_repo_data(Channel(channel.as_uri()))
    ]
    cache = Path(folder, "cache")
    asyncio.run(install(records, prefix, cache_dir=cache, show_progress=False))

(output / "activate.sh").write_text(activate(prefix, ActivationVariables(), Shell.bash).script)
