import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explanationPage } from '@updraft/account/why';
import { documentText } from '@updraft/view/document';
import { type Explanation, groupExplanations } from '@updraft/account/why';
import type { RunRules } from '@updraft/account/testing';
import { explainText } from './render-log.ts';

const event = (number: string, second: number, title: string, ...body: string[]): string =>
  [
    `${number} (007.000.000) 2026-03-04 10:00:${String(second).padStart(2, '0')} ${title}`,
    ...body.map((line) => `\t${line}`),
    '...\n',
  ].join('\n');
const submit = event('000', 0, 'Job submitted from host: <10.0.0.1:9618>');
const fetching = (second: number): string => event('040', second, 'Started transferring input files');
const running = (second: number, slot = 'slot1_1@siteA@node'): string =>
  event('001', second, 'Job executing on host: <10.0.0.2:9618>', `SlotName: ${slot}`);
const evicted = (second: number, code: number, subcode: number, reason: string): string =>
  event(
    '004',
    second,
    `Job was evicted. Code ${code} Subcode ${subcode}`,
    '(0) CPU times',
    `Reason: ${reason}`,
  );
const held = (second: number, code: number, subcode: number, reason: string): string =>
  event('012', second, 'Job was held.', reason, `Code ${code} Subcode ${subcode}`);
const released = (second: number, reason: string): string =>
  event('013', second, 'Job was released.', reason);

function only(log: string, rules?: RunRules): Explanation {
  const [explanation, ...more] = explainText(log, rules);
  assert.ok(explanation);
  assert.equal(more.length, 0);
  return explanation;
}

const rules: RunRules = {
  policy: {
    attempts: 3,
    avoid: 'site',
    memory: { asked: 1, most: 1 },
    disk: { asked: 1, most: 1 },
    backoff: { initialBackoff: 120, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 600 },
  },
  file: 'condor/job.sub',
};

test('a job without a slot is waiting, and the explanation says what the log does not', () => {
  const { standing, cause, because, advice } = only(submit);
  assert.deepEqual([standing, cause], ['waiting', 'waits-for-slot']);
  assert.match(because.join(' '), /the scheduler can/);
  assert.ok(advice.some((one) => one.includes('condor_q -better-analyze 7.0')));
});

test('an image that fails twice is a loop that HTCondor never ends; repeated evictions are not a loop', () => {
  const bad = (second: number): string =>
    running(second) + evicted(second + 1, 45, -1000, 'Singularity test failed:no');
  const loop = only(submit + bad(1) + bad(3));
  assert.deepEqual([loop.standing, loop.cause], ['looping', 'image-unusable']);
  assert.match(loop.doing.join(' '), /repeat forever/);
  const drained = (second: number): string =>
    running(second) + evicted(second + 1, 1014, 0, 'Startd was draining');
  const taken = only(submit + [1, 3, 5, 7].map(drained).join(''));
  assert.deepEqual([taken.standing, taken.cause], ['waiting', 'evicted']);
  assert.match(taken.because.join(' '), /Attempts 1 to 4/);
});

test("the code of the hold marks an input failure, although the starter's message has the opposite one", () => {
  const reason =
    'Transfer input files failure at execution point slot1_1@siteA@node using protocol http. Details: no ( URL file = http://a/x )';
  const starter = event(
    '021',
    2,
    'Error from starter on slot1_1@siteA@node:',
    'Failed to transfer files: no',
    'Code 12 Subcode 256',
  );
  const { cause, because } = only(
    submit + fetching(1) + starter + evicted(2, 13, 256, reason) + held(2, 13, 256, reason),
  );
  assert.equal(cause, 'transfer-failed');
  assert.match(because.join(' '), /The input could not be transferred.*attempt 1 at siteA@node/);
});

test('two starts in a row are two attempts, and the missing end between them is reported', () => {
  const { standing, because, evidence } = only(submit + running(1) + running(5));
  assert.equal(standing, 'running');
  assert.match(because.join(' '), /Attempt 2 .*Attempt 1 .* no event for its end/);
  assert.equal(evidence.length >= 2, true);
});

test('each shadow that fails before anything else is an attempt', () => {
  const exception = (second: number): string =>
    event(
      '007',
      second,
      'Shadow exception!',
      'Error from slot1_4@node9: Failed to create a user nobody',
      '0  -  Run Bytes Sent By Job',
    );
  const { standing, cause, because } = only(submit + [1, 2, 3].map(exception).join(''));
  assert.deepEqual([standing, cause], ['looping', 'machine-broken']);
  assert.match(
    because.join(' '),
    /The machine is broken.*Failed to create a user nobody.*3 times in a row.*node9/,
  );
});

test('the evidence names the byte where the event begins', () => {
  const before = submit + running(1);
  const { evidence } = only(before + held(3, 47, 0, 'The job exceeded allowed execute duration of 00:02'));
  assert.deepEqual(evidence.at(-1), {
    file: 'job.log',
    offset: Buffer.byteLength(before),
    at: '2026-03-04 10:00:03',
    lines: ['012 Job was held.', 'The job exceeded allowed execute duration of 00:02', 'Code 47 Subcode 0'],
  });
});

test('control characters and very long reasons do not reach the terminal', () => {
  const nasty = `\u001b[2J\u001b]0;owned\u0007${'x'.repeat(10_000)}\u202e end`;
  const text = documentText(explanationPage(only(submit + held(1, 99, 0, nasty))), 100);
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  assert.ok(text.length < 3000, `${text.length} characters`);
  assert.match(text, /code 99, subcode 0/);
});

test('tokens in URLs and headers of a reason are removed, and a URL is quoted for the shell', () => {
  const reason =
    "Transfer input files failure at execution point slot1@n using protocol osdf. Details: 404 for Bearer abc.def-123 ( URL file = https://a/x?authz=Bearer%20sec.ret&n='1 )";
  const text = documentText(explanationPage(only(submit + fetching(1) + held(2, 13, 256, reason))), 100);
  assert.doesNotMatch(text, /sec\.ret|abc\.def/);
  assert.match(text, /updraft stat '/);
});

test('a job that a user removed is explained by what held it before', () => {
  const reason =
    'Transfer input files failure at execution point slot1@n using protocol http. Details: The requested URL returned error: 404 ( URL file = http://a/x )';
  const { standing, cause, because, advice } = only(
    submit +
      fetching(1) +
      held(2, 13, 256, reason) +
      event('009', 9, 'Job was aborted.', 'via condor_rm (by user alice)'),
  );
  assert.deepEqual([standing, cause], ['removed', 'object-missing']);
  assert.match(because.join(' '), /alice removed it.*Before that it was held.*http:\/\/a\/x does not exist/);
  assert.ok(advice.some((one) => one.includes('updraft stat http://a/x')));
});

test('a job that was removed while its results were returned has succeeded', () => {
  const ended = event('005', 8, 'Job terminated.', '(1) Normal termination (return value 0)');
  const gone = event('009', 9, 'Job was aborted.', 'updraft stop (by user alice)');
  assert.equal(only(submit + running(1) + ended + gone, rules).title, 'nothing is wrong');
  const failed = event('005', 8, 'Job terminated.', '(1) Normal termination (return value 3)');
  assert.equal(only(submit + running(1) + failed + gone, rules).standing, 'removed');
});

test('the eviction event that old releases write before a removal is not an end', () => {
  const eviction = event('004', 8, 'Job was evicted.', '(0) CPU times', '0  -  Run Bytes Sent By Job');
  const gone = event('009', 9, 'Job was aborted by the user.', 'via condor_rm (by user alice)');
  const { because } = only(submit + running(1) + eviction + gone);
  assert.match(because.join(' '), /It was running its program at the time \(attempt 1\)/);
  assert.doesNotMatch(because.join(' '), /taken back/);
});

test('the rules of a run say whether and when the schedd releases the job', () => {
  const once = submit + fetching(1) + held(2, 13, 256, 'x');
  assert.match(
    only(once, rules).doing.join(' '),
    /releases it at 10:02:02 UTC, 2m after it was held: this is failure 1 of at most 3 .*condor\/job\.sub.*again after 4m, then given up/,
  );
  const again =
    released(3, 'The job attribute PeriodicRelease expression was TRUE') +
    fetching(4) +
    held(5, 13, 256, 'x');
  assert.match(
    only(once + again, rules).doing.join(' '),
    /4m after it was held: this is failure 2.*If the next attempt fails too, it is given up/,
  );
  assert.match(
    only(once + again + again, rules).doing.join(' '),
    /Nothing more: 3 attempts failed, and the rules of the run allow 3/,
  );
  assert.match(only(once + again).doing.join(' '), /A rule of the job has released it once before/);
  assert.match(only(submit + held(1, 32, 0, 'x'), rules).doing.join(' '), /this is not one/);
  assert.match(
    only(submit + held(1, 1, 0, 'wait (by user alice)'), rules).doing.join(' '),
    /until a user releases it/,
  );
});

test("a job held after its attempt says what the agent's exit code means, and when it is tried again", () => {
  const log = submit + running(1) + held(2, 3, 96, 'the attempt ended with exit code 96');
  const { because, doing } = only(log, rules);
  assert.match(because.join(' '), /exit code 96 \(object-missing\): The object does not exist/);
  assert.match(doing.join(' '), /2m after it was held: this is failure 1/);
});

test('a job that waits after a failure says which sites it avoids, and for how long', () => {
  const failure = `${running(1)}${event('004', 2, 'Job was evicted.', '(0) Job terminated and was requeued', '(1) Normal termination (return value 115)')}`;
  const { standing, doing } = only(submit + failure, rules);
  assert.equal(standing, 'waiting');
  assert.match(doing.join(' '), /at a site other than \S+; after 10m without one, these may be used again/);
  const taken = only(submit + running(1) + evicted(2, 1014, 0, 'Startd was draining'), rules);
  assert.match(taken.doing.join(' '), /looking for another slot/);
});

test('a hold after too many starts says how they ended', () => {
  const reason =
    'started 3 times; the last attempt ended: Error from slot1@n: Singularity test failed:FATAL: no such tag';
  const { standing, cause, because } = only(submit + held(9, 3, 45, reason), rules);
  assert.deepEqual([standing, cause], ['held', 'image-unusable']);
  assert.match(because.join(' '), /no such tag.*started 3 times and never succeeded/);
});

test('a log that begins in the middle of a job is explained by what it has', () => {
  const { standing, because } = only(
    event('022', 1, 'Job disconnected, attempting to reconnect').replace(
      '\n...',
      '\n    Socket closed\n    Trying to reconnect to slot1@n <1.2.3.4:1>\n...',
    ),
  );
  assert.equal(standing, 'running');
  assert.match(because[0] ?? '', /is disconnected from its machine/);
});

test('a reused job id means the later job', () => {
  const done = event('005', 5, 'Job terminated.', '(1) Normal termination (return value 0)');
  const { standing } = only(submit + running(1) + done + submit + held(7, 1, 0, 'by hand'));
  assert.equal(standing, 'held');
});

test('jobs with the same cause are one group, and what needs attention comes first', () => {
  const log =
    submit + running(1) + event('005', 5, 'Job terminated.', '(1) Normal termination (return value 0)');
  const other = (id: string): string => (submit + held(1, 47, 0, 'x')).replaceAll('(007.000', `(008.00${id}`);
  const groups = groupExplanations(explainText(log + other('1') + other('2')));
  assert.deepEqual(
    groups.map(({ standing, jobs }) => [standing, jobs]),
    [
      ['held', ['8.1', '8.2']],
      ['success', ['7.0']],
    ],
  );
});

test('a hold in an attempt that the log lacks is not attributed to the attempt before it', () => {
  const words = 'Error from slot1_9@siteB@other: Failed to create directory';
  const { because } = only(submit + running(1) + evicted(30, 1022, 0, 'drained') + held(50, 6, 0, words));
  assert.ok(because.includes('This happened in attempt 2 at siteB@other, after 0 s.'), because.join('\n'));
  assert.match(because.join(' '), /Attempt 1 at siteA@node: /);
  const byHand = held(50, 1, 0, 'via condor_hold (by user alice)');
  const idle = only(submit + running(1) + evicted(30, 1022, 0, 'drained') + byHand);
  assert.ok(
    idle.because.includes('It was not running; 1 attempt had ended before.'),
    idle.because.join('\n'),
  );
});

test('a release without a reason was by a rule too long to quote', () => {
  const twice = (reason: string): string =>
    submit + fetching(1) + held(2, 13, 256, 'x') + released(3, reason) + fetching(4) + held(5, 13, 256, 'x');
  assert.match(only(twice('')).because.join(' '), /held 2 times and released once, by a rule of the job/);
  const byHand = only(twice('via condor_release (by user alice)')).because.join(' ');
  assert.match(byHand, /held 2 times and released once\./);
});

test('a job held again for the same cause says it once, and where it happened before', () => {
  const reason =
    'Transfer input files failure at access point ap while sending files to execution point. Details: reading from file /a/gone.dat: (errno 2) No such file or directory';
  const log =
    submit +
    running(1) +
    held(2, 13, 2, reason) +
    released(3, 'via condor_release') +
    running(4, 'slot1_1@siteB@node') +
    held(5, 13, 2, reason);
  const { because } = only(log);
  assert.equal(because.filter((one) => one.includes('/a/gone.dat')).length, 1, because.join('\n'));
  assert.ok(because.includes('Attempt 1 at siteA@node ended like the last one.'));
});

test('a job that a rule on its running time removed is not to be submitted again as it is', () => {
  const reason = 'Job removed by SYSTEM_PERIODIC_REMOVE due to wall time exceeded allowed max.';
  const [byRule] = explainText([submit, running(1), event('009', 50, 'Job was aborted.', reason)].join(''));
  assert.equal(byRule?.cause, 'time-limit');
  assert.deepEqual(byRule.advice, [
    'Save checkpoints and resume from them, or request more time if the pool allows it.',
  ]);
  const [byUser] = explainText(
    [submit, running(1), event('009', 50, 'Job was aborted.', 'via condor_rm (by user ann)')].join(''),
  );
  assert.deepEqual(byUser?.advice, ['Submit it again if you still want it.']);
});

test('an agent that was killed is the agent, not the program of the training', () => {
  const [ofRule] = explainText(
    [submit, running(1), held(9, 3, 137, 'the agent was ended by signal 9')].join(''),
  );
  assert.deepEqual([ofRule?.cause, ofRule?.title], ['agent-killed', 'the agent was killed by a signal']);
  assert.doesNotMatch(ofRule?.advice.join(' ') ?? '', /printed/);
  const ours = event('000', 0, 'Job submitted from host: <10.0.0.1:9618>', 'Updraft run sweep-k3v9q1');
  const killed = event('005', 9, 'Job terminated.', '(0) Abnormal termination (signal 9)');
  const [ofLog] = explainText([ours, running(1), killed].join(''));
  assert.deepEqual([ofLog?.cause, ofLog?.because[0]], ['agent-killed', 'The agent was killed by signal 9.']);
});

test('an eviction says how much work it cost', () => {
  const [job] = explainText([submit, running(1), evicted(41, 1014, 0, 'Startd was draining')].join(''));
  assert.match(job?.because.join(' ') ?? '', /It lost 40s of work\./);
});
