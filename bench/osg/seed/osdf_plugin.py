#!/usr/bin/python3
"""A transfer plugin as simple as clients were: one cache, one try, one stall timeout.

A transfer that stalls ends without a report, so that HTCondor matches the job again; one that is refused or breaks off
is reported, and holds the job. OSDF_CACHE names the cache, OSDF_SILENCE the timeout in seconds.
"""

import os
import re
import sys
import urllib.request

KIND = 'PluginType = "FileTransfer"\nSupportedMethods = "osdf"\nMultipleFileSupport = true\nPluginVersion = "1.0"\n'


def text(ad, name):
    return re.search(rf'{name} = "([^"]*)"', ad).group(1)


def job_id():
    with open(os.environ.get("_CONDOR_JOB_AD", ".job.ad"), errors="replace") as stream:
        return re.search(r'^GlobalJobId = "([^"]*)"', stream.read(), re.MULTILINE).group(1)


def fetch(url, file):
    address = os.environ["OSDF_CACHE"] + url.removeprefix("osdf://")
    request = urllib.request.Request(address, headers={"X-Pelican-JobId": job_id()})
    with urllib.request.urlopen(request, timeout=float(os.environ["OSDF_SILENCE"])) as answer, open(file, "wb") as out:
        while piece := answer.read1(1 << 16):
            out.write(piece)
        if out.tell() != int(answer.headers["Content-Length"]):
            raise ConnectionError("the connection was closed early")


def main(words):
    if "-classad" in words:
        print(KIND, end="")
        return 0
    with open(words[words.index("-infile") + 1]) as stream:
        ads = stream.read()
    url, file = text(ads, "Url"), text(ads, "LocalFileName")
    try:
        fetch(url, file)
        said = {"TransferSuccess": "true"}
    except OSError as error:
        # urllib wraps a timeout if it connects, and does not if it reads.
        if isinstance(getattr(error, "reason", error), TimeoutError):
            os._exit(1)
        said = {"TransferSuccess": "false", "TransferError": f'"{str(error)[:200]}"'}
    lines = {"TransferUrl": f'"{url}"', "TransferFileName": f'"{os.path.basename(file)}"', **said}
    with open(words[words.index("-outfile") + 1], "w") as out:
        out.write("[ " + "; ".join(f"{name} = {value}" for name, value in lines.items()) + " ]\n")
    return 0 if said["TransferSuccess"] == "true" else 1


sys.exit(main(sys.argv[1:]))
