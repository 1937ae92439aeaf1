"""The slot a training runs on, as fast and as well connected as the replay's script says.

The script is in the folder that REPLAY_WORLD names; which slot it is follows from the job (HTCondor's ProcId), from
how often its training has been started, and from the site.
"""

import json
import os
import re
import time

# Of the whole training, what goes by before its first step, as in the published runs.
SET_UP = 0.066


def attribute(file, name):
    with open(file, errors="replace") as stream:
        found = re.search(rf'^{name} = "?([^"\n]*)', stream.read(), re.MULTILINE)
    return found.group(1) if found else ""


class Machine:
    def __init__(self, steps):
        world = os.environ["REPLAY_WORLD"]
        with open(os.path.join(world, "slots.json")) as stream:
            script = json.load(stream)
        job = attribute(os.environ["_CONDOR_JOB_AD"], "ProcId")
        start = self._count(os.path.join(world, "starts"), job)
        slots = script["slots"][int(job)]
        usual = script["usual"][attribute(os.environ["_CONDOR_MACHINE_AD"], "GLIDEIN_ResourceName")]
        slot = slots[start] if start < len(slots) else {"seconds": usual[(int(job) + start) % len(usual)]}
        self._set_up = slot["seconds"] * SET_UP
        self._step = slot["seconds"] * (1 - SET_UP) / steps
        self._due = time.monotonic()
        if slot.get("offline"):
            # Nothing listens there: what goes out to the internet through a proxy meets a closed door.
            os.environ["http_proxy"] = os.environ["https_proxy"] = "http://127.0.0.1:9"
            os.environ["no_proxy"] = ""

    @staticmethod
    def _count(folder, job):
        """How many trainings of this job were started before. The replay looks at these folders, too."""
        start = sum(1 for name in os.listdir(folder) if name.split(".")[0] == job)
        os.mkdir(os.path.join(folder, f"{job}.{start}.{attribute(os.environ['_CONDOR_JOB_AD'], 'NumShadowStarts')}"))
        return start

    def set_up(self):
        self._wait(self._set_up)

    def compute(self):
        self._wait(self._step)

    def _wait(self, seconds):
        """Counted from when it was last due: a machine that is late for other reasons does not add up."""
        self._due += seconds
        time.sleep(max(0.0, self._due - time.monotonic()))
