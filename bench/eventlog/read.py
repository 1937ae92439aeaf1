import sys

import htcondor2

events = sum(1 for _ in htcondor2.JobEventLog(sys.argv[1]).events(0))
print('{"events": %d}' % events)
