import { type JobCode, readCode, usesOf } from '../../src/check/code/read-code.ts';
import type { Facts, Where } from '../../src/check/facts.ts';
import { makePlan, type Plan } from '../../src/job/plan.ts';
import { checkSpec } from '../../src/job/read-spec.ts';
import { problemAt, SpecFault } from '../../src/job/source-file.ts';

/** What every job file has; tests append the rest. */
const head = 'name = "x"\n[train]\ncommand = "python3 train.py"\noutputs = ["model.pt"]\n';

function reading(text: string) {
  const read = checkSpec(/^name = /.test(text) ? text : head + text, 'updraft.toml');
  if ('problems' in read) throw new SpecFault(read.problems);
  return read;
}

/** The plan of a job file; keys of [train] come first, then tables. */
export function makePlanFrom(text = '', sent: Record<string, string> = {}): Plan {
  const files = Object.entries(sent).map(([path, content]) => ({ path, bytes: content.length, sha256: '' }));
  return makePlan({ spec: reading(text).spec, file: '/project/updraft.toml', folder: '/project', files });
}

export const whereIn = (text = ''): Where => {
  const { source } = reading(text);
  return (...key) => {
    const { file, line } = problemAt(source, key, '');
    return { file, line };
  };
};

/** The code of a job with these files, started by this command. */
export const makeCode = (sent: Record<string, string>, command = 'python3 train.py'): JobCode =>
  readCode(
    [{ text: command, place: { file: 'updraft.toml', line: 3 } }],
    Object.entries(sent).map(([file, text]) => ({ file, text })),
  );

/** The facts of a job without answers from servers or pools. */
export function someFacts(text = '', sent: Record<string, string> = { 'train.py': 'model.pt' }): Facts {
  const plan = makePlanFrom(text, sent);
  const code = makeCode(sent, plan.spec.train.command);
  return {
    plan,
    where: whereIn(text),
    limits: undefined,
    code,
    uses: usesOf(code, Object.keys(sent)),
    objects: [],
    tokens: [],
    secrets: [],
    here: { existing: new Set(), notExecutable: new Set(), syntax: [] },
    slots: undefined,
    software: undefined,
    now: Date.parse('2026-11-15T00:00:00Z'),
  };
}
