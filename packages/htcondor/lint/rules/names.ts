import path from 'node:path';
import {
  batches,
  isUrl,
  fileList,
  perBatch,
  whereSet,
  valueOf,
  type Batch,
  type SubmitFacts,
} from '../../submit/submit-facts.ts';
import { asFound, type Found, type Rule, type RuleResult, rule } from '@updraft/base';

/** Rules about the names of files that jobs write on the access point. */
export const nameRules: Rule<SubmitFacts>[] = [
  rule('no-log', 'warning', 'There is no `log`, so nothing records what happened to the jobs.', (facts) =>
    batches(facts)
      .filter((batch) => valueOf(batch, 'log') === undefined)
      .map((batch) =>
        asFound(
          'no `log`: holds, evictions and memory used are recorded nowhere, and nothing can watch the jobs',
          'log = logs/$(Cluster).log',
          batch.queue.place,
        ),
      ),
  ),
  rule(
    'log-in-tmp',
    'warning',
    'The log is in a folder for temporary files, or on a file ' +
      'system for scratch or staged data: it may be deleted or stall.',
    perBatch(misplacedLog),
  ),
  rule(
    'jobs-overwrite',
    'error',
    'Jobs of one submission write standard output or error to the same file.',
    perBatch((batch) => ['output', 'error'].flatMap((command) => sharedName(batch, command))),
  ),
  rule(
    'results-overwrite',
    'error',
    'Jobs of one submission return files of the same name to the same folder, so only the last result is kept.',
    perBatch(sharedResults),
  ),
  rule(
    'fixed-names',
    'note',
    'Standard output or error has a fixed name, so the next submission overwrites it.',
    perBatch(fixedNames),
  ),
  rule(
    'folder-missing',
    'warning',
    'The folder of output, error or log does not exist; older HTCondor versions hold the jobs.',
    perBatch(missingFolders),
  ),
];

/** The file a job writes, relative to the folder where condor_submit runs. */
const whereTo = ({ job }: Batch, name: string): string =>
  path.posix.isAbsolute(name) ? name : path.posix.join(job.commands['initialdir'] ?? '.', name);

/** Of large pools, by their usual names; a folder in someone's home is none. */
const scratch = /^\/(?!home\/|Users\/)(?:[\w.-]+\/)?(?:p?scratch\d*|lustre\w*|staging)\//;

function misplacedLog(batch: Batch): RuleResult {
  const log = valueOf(batch, 'log');
  if (log === undefined) return [];
  const name = whereTo(batch, log);
  const why = /^\/(tmp|var\/tmp|dev\/shm)\//.test(name)
    ? 'is in a folder for temporary files: it may be deleted before you need it'
    : scratch.test(name)
      ? 'is on a file system for scratch or staged data: HTCondor writes ' +
        'into it as long as jobs run, and there it may stall or be deleted'
      : undefined;
  if (why === undefined) return [];
  const fix = `log = ${name === log ? '' : '$ENV(HOME)/'}logs/$(Cluster).log`;
  return asFound(`the log ${name} ${why}`, fix, whereSet(batch, 'log'));
}

/** Whether each job gets another name by chance, or by the machine it runs on. */
const variesLater = ({ queue }: Batch, command: string): boolean =>
  /\$RANDOM_|\$\$/i.test(queue.inForce.get(command)?.value ?? '');

function repeated(
  batch: Batch,
  namesOf: (batch: Batch) => string[],
): { name: string; jobs: number } | undefined {
  const { queue } = batch;
  const counts = new Map<string, number>();
  for (const job of queue.jobs)
    for (const name of new Set(namesOf({ queue, job }))) counts.set(name, (counts.get(name) ?? 0) + 1);
  const [worst] = [...counts].sort(([, a], [, b]) => b - a);
  if (worst === undefined || worst[1] < 2) return undefined;
  // Only the first jobs are compared: if they all share a name, so do the others.
  return { name: worst[0], jobs: worst[1] === queue.jobs.length ? (queue.total ?? worst[1]) : worst[1] };
}

function sharedName(batch: Batch, command: string): Found | [] {
  // There, `$(Node)` numbers the processes of one job.
  if (/^parallel$/i.test(valueOf(batch, 'universe') ?? '') || variesLater(batch, command)) return [];
  const shared = repeated(batch, (one) => {
    const name = valueOf(one, command);
    return name === undefined || name === '/dev/null' || isUrl(name) ? [] : [whereTo(one, name)];
  });
  if (shared === undefined) return [];
  return asFound(
    `${shared.jobs} jobs write \`${command}\` to ${shared.name}: only the last one's output is kept`,
    'put the job number into the name, ' +
      `such as ${withNumber(batch.queue.inForce.get(command)?.value ?? shared.name)}`,
    whereSet(batch, command),
  );
}

function withNumber(name: string): string {
  const { dir, name: stem, ext } = path.posix.parse(name);
  const number = /\$\(cluster(id)?\)/i.test(name) ? '$(Process)' : '$(Cluster).$(Process)';
  return path.posix.join(dir, `${stem}.${number}${ext}`);
}

function sharedResults(batch: Batch): RuleResult {
  // Where it is not switched on, nothing is returned on a shared file system.
  const isReturned = /^(yes|true|always)$/i.test(valueOf(batch, 'should_transfer_files') ?? '');
  const varies = ['transfer_output_files', 'transfer_output_remaps'].some((name) => variesLater(batch, name));
  if (!isReturned || varies || valueOf(batch, 'output_destination') !== undefined) return [];
  const shared = repeated(batch, (one) => returnedFiles(one));
  if (shared === undefined) return [];
  const name = path.posix.basename(shared.name);
  return asFound(
    `${shared.jobs} jobs return ${shared.name}: only the last result is kept`,
    `transfer_output_remaps = "${name}=results/$(Cluster).$(Process)-${name}"`,
    whereSet(batch, 'transfer_output_files'),
  );
}

/** Without what may be a folder: HTCondor merges those of several jobs. */
function returnedFiles(batch: Batch): string[] {
  const remaps = new Map(
    (valueOf(batch, 'transfer_output_remaps') ?? '')
      .replaceAll('"', '')
      .split(';')
      .map((pair) => pair.split('=').map((part) => part.trim()) as [string, string]),
  );
  return fileList(valueOf(batch, 'transfer_output_files'))
    .filter((name) => path.posix.extname(name) !== '' && !name.endsWith('/'))
    .map((name) => remaps.get(name) ?? remaps.get(path.posix.basename(name)) ?? path.posix.basename(name))
    .filter((name) => !isUrl(name))
    .map((name) => whereTo(batch, name));
}

function fixedNames(batch: Batch): RuleResult {
  if (batch.queue.total !== 1) return [];
  const fixed = ['output', 'error'].filter((command) => {
    const raw = batch.queue.inForce.get(command)?.value ?? '';
    return raw !== '' && raw !== '/dev/null' && !/\$/.test(raw);
  });
  const [first] = fixed;
  if (first === undefined) return [];
  const name = batch.queue.inForce.get(first)?.value ?? '';
  return {
    message:
      `\`${fixed.join('` and `')}\` ${fixed.length === 1 ? 'has a fixed name' : 'have fixed names'}: ` +
      `the next submission overwrites ${fixed.length === 1 ? 'it' : 'them'}`,
    fix: `${first} = ${withNumber(name)}`,
    place: whereSet(batch, first),
    about: [fixed.join(' ')],
  };
}

function missingFolders(batch: Batch, facts: SubmitFacts): RuleResult {
  const seen = new Set<string>();
  return ['output', 'error', 'log'].flatMap((command) => {
    const name = valueOf(batch, command);
    const folder = name === undefined || isUrl(name) ? undefined : path.posix.dirname(whereTo(batch, name));
    if (folder === undefined || seen.has(folder) || facts.files.get(folder)?.kind !== 'missing') return [];
    seen.add(folder);
    return {
      message:
        `the folder ${folder} of \`${command}\` does not exist: ` +
        'HTCondor before 24.12 refuses the file or holds the jobs',
      fix: `mkdir -p ${folder}`,
      place: whereSet(batch, command),
      about: [folder, command],
    };
  });
}
