"""The slot a training runs on, with the speed and network of the replay's script.

The script is in the folder that REPLAY_SCENARIO names; which slot it is follows from the job (HTCondor's ProcId), from
how often its training has been started, and from the site.
"""

import json
import os
import re
import time

# The part of the training before its first step, as in the published runs.
SET_UP = 0.066


def attribute(file, name):
    with open(file, errors="replace") as stream:
        found = re.search(rf'^{name} = "?([^"\n]*)', stream.read(), re.MULTILINE)
    return found.group(1) if found else ""


class Machine:
    def __init__(self, steps):
        scenario = os.environ["REPLAY_SCENARIO"]
        with open(os.path.join(scenario, "slots.json")) as stream:
            script = json.load(stream)
        job = attribute(os.environ["_CONDOR_JOB_AD"], "ProcId")
        start = self._count(os.path.join(scenario, "starts"), job)
        slots = script["slots"][int(job)]
        typical = script["typical"][attribute(os.environ["_CONDOR_MACHINE_AD"], "GLIDEIN_ResourceName")]
        slot = slots[start] if start < len(slots) else {"seconds": typical[(int(job) + start) % len(typical)]}
        self._set_up = slot["seconds"] * SET_UP
        self._step = slot["seconds"] * (1 - SET_UP) / steps
        self._due = time.monotonic()
        if slot.get("offline"):
            # Nothing listens there, so requests to the internet through a proxy fail.
            os.environ["http_proxy"] = os.environ["https_proxy"] = "http://127.0.0.1:9"
            os.environ["no_proxy"] = ""

    @staticmethod
    def _count(folder, job):
        """How many trainings of this job were started before. The replay reads these folders too."""
        start = sum(1 for name in os.listdir(folder) if name.split(".")[0] == job)
        os.mkdir(os.path.join(folder, f"{job}.{start}.{attribute(os.environ['_CONDOR_JOB_AD'], 'NumShadowStarts')}"))
        return start

    def set_up(self):
        self._wait(self._set_up)

    def compute(self):
        self._wait(self._step)

    def _wait(self, seconds):
        """Counted from when the last step was due, so that other delays do not add up."""
        self._due += seconds
        time.sleep(max(0.0, self._due - time.monotonic()))
