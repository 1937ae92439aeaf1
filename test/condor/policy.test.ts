import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { kindOfExit } from '@updraft/account/codes';
import { decide, type EndedAttempt, type Policy } from '@updraft/account/recovery';
import { endFromHold } from '@updraft/account/testing';
import { recoveryLines } from '../../src/pool/condor/submit/render-submit.ts';
import { examples } from '../codes/examples.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const policy = (mayGrow: boolean): Policy => ({
  attempts: 5,
  avoid: 'site',
  memory: { asked: 1e9, most: mayGrow ? 4e9 : 1e9 },
  disk: { asked: 1e9, most: 1e9 },
  backoff: { initialBackoff: 300, maxBackoff: 1000, immediateRetries: 2, forgetAfter: 600 },
});

/** The rules as attributes of a job, under the names that HTCondor gives them. */
function rulesAd(one: Policy): string {
  return recoveryLines(one)
    .map((line) => line.replace(/^MY\./, ''))
    .join('\n');
}

/** Evaluates the rules for jobs with these attributes with HTCondor's own library. */
async function evaluate(
  t: TestContext,
  one: Policy,
  jobs: { ad: string; name: string }[],
): Promise<unknown[] | undefined> {
  const state = await testPool(t);
  if (state === undefined) return undefined;
  const folder = await temporaryFolder(t, {
    'asked.json': JSON.stringify({ rules: rulesAd(one), jobs }),
  });
  // The pool's tools run the program of their own name.
  const python = path.join(folder, 'python3');
  await copyFile(path.join(state.bin, 'condor_q'), python);
  await chmod(python, 0o755);
  await writeFile(
    path.join(folder, 'evaluate.py'),
    `import classad2, json
asked = json.load(open("asked.json"))
ad = classad2.parseOne(asked["rules"])
rules = {*ad}
def value(job):
    for name in {*ad} - rules:
        del ad[name]
    facts = classad2.parseOne(job["ad"])
    assert rules.isdisjoint(facts)
    ad.update(facts)
    found = ad.eval(job["name"])
    return str(found) if isinstance(found, classad2.Value) else found
print(json.dumps([value(job) for job in asked["jobs"]]))
`,
  );
  const { stdout } = await promisify(execFile)(python, ['evaluate.py'], { cwd: folder, maxBuffer: 1 << 26 });
  return JSON.parse(stdout) as unknown[];
}

/** The counters of HTCondor and the agents after `failures` such failures. */
const countsOf = (code: number, subcode: number, failures: number): string =>
  code === 3 && subcode === 86
    ? `UpdraftOutOfMemory = ${failures}`
    : code === 21 || code === 34
      ? `NumHoldsByReason = [ ${code === 21 ? 'StartdHeldJob' : 'JobOutOfResources'} = ${failures} ]`
      : '';

const history = (last: Pick<EndedAttempt, 'fault' | 'remedy'>, failures: number): EndedAttempt[] =>
  Array.from({ length: failures }, () => ({ outcome: 'failed' as const, endedAt: 0, ...last }));

/** Seconds before the next attempt by the policy; undefined if there is none. */
function waitBy(
  one: Policy,
  last: Pick<EndedAttempt, 'fault' | 'remedy'>,
  failures: number,
): number | undefined {
  const decision = decide({ attempts: history(last, failures) }, one, 0);
  if (decision.do === 'end') return undefined;
  return decision.do === 'wait' ? decision.until / 1000 : 0;
}

for (const mayGrow of [true, false])
  test(`the schedd handles every exit code as the policy says${mayGrow ? '' : ', even if memory may not grow'}`, async (t) => {
    const one = policy(mayGrow);
    const cases = [1, 2, 3, 4, 5].flatMap((failures) =>
      Array.from({ length: 130 }, (_, exit) => ({ failures, exit })),
    );
    const ads = cases.map(
      ({ failures, exit }) =>
        `NumJobCompletions = ${failures}\nExitBySignal = false\nExitCode = ${exit}\nUpdraftOutOfMemory = ${exit === 86 ? failures : 0}`,
    );
    const asked = ['on_exit_remove', 'on_exit_hold'].flatMap((name) => ads.map((ad) => ({ ad, name })));
    const answers = await evaluate(t, one, asked);
    if (answers === undefined) return;
    const [removed, held] = [answers.slice(0, ads.length), answers.slice(ads.length)];
    for (const [index, { failures, exit }] of cases.entries()) {
      const kind = kindOfExit(exit);
      const wait = kind && waitBy(one, { fault: { kind, message: '' } }, failures);
      const expected = wait === undefined ? [true, false] : wait === 0 ? [false, false] : ['any', true];
      const done: unknown[] = [held[index] === true ? 'any' : removed[index], held[index]];
      assert.deepEqual(done, expected, `exit code ${exit}, failure ${failures}`);
    }
  });

for (const mayGrow of [true, false])
  test(`the schedd releases holds as the policy says${mayGrow ? '' : ', even if memory may not grow'}`, async (t) => {
    const one = policy(mayGrow);
    const codes = [...Array.from({ length: 50 }, (_, code) => code), 777];
    const subcodes = [0, 2, 5, 12, 13, 28, 86, 87, 88, 96, 102, 104, 110, 122, 137, 256, 1008, -1000];
    const plain = codes.flatMap((code) => subcodes.map((subcode) => ({ code, subcode, reason: '' })));
    const worded = examples.flatMap(({ said: { code = 1, subcode = 0, reason } }) =>
      code < 1000 && reason !== '' ? [{ code, subcode, reason }] : [],
    );
    const all = [...plain, ...worded]
      .filter(({ code }) => code !== 1)
      .flatMap((hold) => [1, 3, 4, 5].map((failures) => ({ ...hold, failures })));
    const now = Math.floor(Date.now() / 1000);
    // An attempt that is retried elsewhere at once is not held by our own rule.
    const isReal = (each: (typeof all)[number]): boolean =>
      each.code !== 3 || kindOfExit(each.subcode) === undefined || waitOf(each) !== 0;
    const waitOf = ({ failures, ...hold }: (typeof all)[number]): number | undefined =>
      waitBy(one, endFromHold(hold), failures);
    const cases = all.filter(isReal);
    const adAt = (held: number, { code, subcode, reason, failures }: (typeof cases)[number]): string =>
      `${countsOf(code, subcode, failures)}\nNumHolds = ${failures}\nHoldReasonCode = ${code}\nHoldReasonSubCode = ${subcode}\nHoldReason = ${JSON.stringify(reason)}\nEnteredCurrentStatus = ${now - held}\nQDate = ${now - 5000}`;
    const waits = cases.map(waitOf);
    const due = cases.map((each, index) => ({
      ad: adAt((waits[index] ?? 9000) + 60, each),
      name: 'periodic_release',
    }));
    // Early by more than the evaluation takes on a busy machine.
    const early = cases.map((each, index) => ({
      ad: adAt((waits[index] ?? 0) - 3600, each),
      name: 'periodic_release',
    }));
    const released = await evaluate(t, one, [...due, ...early]);
    if (released === undefined) return;
    for (const [index, each] of cases.entries()) {
      const about = JSON.stringify(each);
      assert.equal(released[index], waits[index] !== undefined, `${about}, when due`);
      assert.equal(released[cases.length + index], false, `${about}, before that`);
    }
  });
