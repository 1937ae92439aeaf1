import { readEventLog, scanEventLog } from '@updraft/htcondor/eventlog';

/** Reads a log one way, and prints its number of events and the peak memory. */
const [how, log = ''] = process.argv.slice(2);
let events = 0;
let details = 0;
if (how === 'scan') await scanEventLog(log, () => (events += 1));
else if (how === 'details') {
  await scanEventLog(log, (event) => {
    events += 1;
    details += Object.keys(event.details).length;
  });
} else for await (const { number } of readEventLog(log)) events += Number(number >= 0);
console.log(
  JSON.stringify({ events, details, megabytes: Math.round(process.resourceUsage().maxRSS / 1024) }),
);
