import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { explainStory } from '@updraft/account/why';
import { logSources } from '@updraft/htcondor/eventlog';
import { readLogs } from '@updraft/account/report';
import { temporaryFolder } from '../temporary-folder.ts';

const event = (number: string, time: string, text: string): string =>
  `${number} (001.000.000) 2026-11-15 ${time} ${text}\n...\n`;
const evicted = 'Job was evicted.\n\tReason: Job vacated by schedd\n\tCode 1022 Subcode 0';

/** A job that is evicted, then held at its time limit; a checkpoint is saved in its first attempt, or not. */
const log = (isSaved: boolean): string =>
  [
    event('000', '10:00:00', 'Job submitted from host: <192.0.2.1:9618>'),
    event('001', '10:01:00', 'Job executing on host: <192.0.2.2:9618>'),
    ...(isSaved
      ? [
          event('040', '10:30:00', 'Started transferring output files'),
          event('040', '10:31:00', 'Finished transferring output files'),
        ]
      : []),
    event('004', '11:00:00', evicted),
    event('001', '11:01:00', 'Job executing on host: <192.0.2.2:9618>'),
    event(
      '012',
      '12:00:00',
      'Job was held.\n\tThe job exceeded allowed execute duration of 0+00:59:00\n\tCode 47 Subcode 0',
    ),
  ].join('');

/** Everything that is advised about the job of a log. */
async function adviceOn(t: TestContext, text: string): Promise<string> {
  const cwd = await temporaryFolder(t, { 'my.log': text });
  const read = await readLogs(await logSources(['my.log'], { cwd }));
  const { failures, setbacks, verdict } = read.report;
  const remedies = [...failures, ...setbacks].map(({ cause, remedy }) => `${cause}: ${remedy}`);
  const explained = read.jobs.flatMap((job) => explainStory(job).advice);
  return [...remedies, verdict?.text, ...explained].join('\n').replaceAll(/\s+/g, ' ');
}

test('a job that resumes from checkpoints is not advised to save some, by no command', async (t) => {
  const [without, resumed] = [await adviceOn(t, log(false)), await adviceOn(t, log(true))];
  assert.match(without, /evicted: Save checkpoints.*time-limit|time-limit: Save checkpoints/);
  assert.doesNotMatch(without, /resumes from its checkpoints/);
  assert.doesNotMatch(resumed, /Save checkpoints/);
  assert.match(resumed, /time-limit: It resumes from its checkpoints: let it go on/);
});
