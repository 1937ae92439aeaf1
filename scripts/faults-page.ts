import { found } from './fault-found.ts';
import { agentExits, type FaultKind, faultWords, kinds } from '@updraft/account/fault';
import { makePlan } from '../src/job/plan.ts';
import { checkSpec } from '../src/job/read-spec.ts';
import { condorPolicy } from '../src/pool/condor/submit/condor-policy.ts';
import { profileNamed } from '../src/pool/condor/submit/profiles.ts';
import { localPolicy } from '../src/pool/local/order.ts';
import { causeInfo, codeRows, type Remedy, remedyForKind } from '@updraft/account/codes';
import { codesOf } from './codes-table.ts';
import { describeWaits } from '@updraft/account/recovery';

/** A job file with the default policy. */
const defaultFile = 'name = "usual"\n[train]\ncommand = "true"\noutputs = ["model.pt"]\n';

function defaultPlan() {
  const read = checkSpec(defaultFile, 'updraft.toml');
  if ('problems' in read) throw new Error('the default job file has problems');
  return makePlan({ spec: read.spec, file: '/updraft.toml', folder: '/', files: [] });
}

const plan = defaultPlan();
const pool = condorPolicy(plan, await profileNamed('htcondor', {}));
const alone = localPolicy(plan);

const places: Record<Exclude<Remedy, 'never'>, string> = {
  elsewhere: 'Tried again at another site',
  later: 'Tried again anywhere',
  'more-memory': 'Tried again with twice the memory',
  'more-disk': 'Tried again with twice the disk',
};

/** What is done about a kind, from the code that does it. */
function done(kind: FaultKind): string {
  if (kind === 'pool-hold')
    return "Depends on HTCondor's code and subcode: see [recovery](recovery.md#htcondors-codes).";
  if (kinds[kind].exit < agentExits.from) return 'The command ends; jobs in the queue are not affected.';
  if (kind === 'evicted')
    return 'Tried again wherever there is a slot. It does not count against `attempts`, up to 20 times (10 on the local pool).';
  const answer = remedyForKind(kind, 1);
  if (answer === 'never')
    return 'Nothing: the job ends. The same would happen again until something changes.';
  return `${places[answer]}: ${describeWaits(pool, kind)}. On the local pool: ${describeWaits(alone, kind)}. Then it is given up.`;
}

/** HTCondor's codes of this kind. */
function fromCodes(kind: FaultKind): string {
  const rows = codeRows.filter(({ cause, fault }) => (fault ?? causeInfo(cause).fault) === kind);
  const names = new Set(rows.flatMap(codesOf).sort((a, b) => parseInt(a) - parseInt(b)));
  return names.size === 0
    ? ''
    : `; from [HTCondor's codes](recovery.md#htcondors-codes) ${[...names].join(', ')}`;
}

const section = (kind: FaultKind): string => `## \`${kind}\`

${faultWords[kind][0]} Exit code ${kinds[kind].exit}.

- **Found** ${found[kind]}${fromCodes(kind)}.
- **Done:** ${done(kind)}
- **You:** ${causeInfo(kind).advice}
`;

/** The page of all kinds of faults, generated from the tables in the code. */
export function faultsPage(): string {
  const all = (Object.keys(kinds) as FaultKind[]).sort((a, b) => kinds[a].exit - kinds[b].exit);
  return `# Faults: what they are, how they are found, what is done

Everything that Updraft finds wrong is of one of these kinds. For a job of yours, \`updraft why\` shows the kind, the evidence and what comes next.

Retries are described for the default \`attempts = ${plan.spec.run.attempts}\` and a pool's default backoff; your job file and the pool may differ
([what is done about failures](recovery.md)). HTCondor's own holds have a table there. The numbers: [exit codes](exit-codes.md).

${all.map(section).join('\n')}`;
}
