import path from 'node:path';
import {
  asFound,
  type Found,
  type Rule,
  type RuleResult,
  shellQuote,
  withHeadroom,
  rule,
  given,
} from '@updraft/base';
import {
  type Batch,
  type SubmitFacts,
  isUrl,
  fileList,
  parseQuantity,
  perBatch,
  refusesTransfer,
  transfersNothing,
  whereSet,
  formatQuantity,
  valueOf,
} from '../../submit/submit-facts.ts';
import type { FileFact } from '../../submit/submit-files.ts';

/** Rules about file transfer to and from the job. */
export const transferRules: Rule<SubmitFacts>[] = [
  rule(
    'other-folder',
    'note',
    "Its paths fit a folder above the file's own: `condor_submit` must run there.",
    ({ folder, submission }) =>
      folder === undefined
        ? undefined
        : asFound(
            `its paths fit ${folder}, not the file's own folder: ` +
              'HTCondor reads them from the folder where condor_submit runs',
            `cd ${shellQuote(folder)} before condor_submit`,
            { file: submission.file, line: 1 },
          ),
  ),
  rule(
    'tilde',
    'error',
    'A path starts with `~`, which HTCondor does not expand.',
    perBatch((batch) => ofHome.flatMap((command) => tilde(batch, command))),
  ),
  rule(
    'input-missing',
    'error',
    'An input file does not exist: the job is held before it starts, or HTCondor refuses the file.',
    perBatch((...of) => [missingInputs(...of), missingFiles(...of)].flatMap((found) => found ?? [])),
  ),
  rule(
    'input-too-large',
    'error',
    'The input from the access point exceeds the limit of the pool: the job is held with code 32.',
    perBatch(tooLarge),
  ),
  rule(
    'input-large',
    'warning',
    'The input that the access point sends for every job exceeds what the pool recommends.',
    perBatch(large),
  ),
  rule(
    'disk-below-input',
    'warning',
    'Less disk is requested than the input alone takes.',
    perBatch(diskBelowInput),
  ),
  rule(
    'no-outputs',
    'warning',
    'Several jobs return whatever they make to one folder, where files of the same name overwrite each other.',
    perBatch(noOutputs),
  ),
  rule(
    'transfer-off',
    'error',
    'The file says what or when to transfer while transfer is switched off.',
    perBatch(transferOff),
  ),
  rule(
    'transfer-if-needed',
    'warning',
    '`should_transfer_files = IF_NEEDED` transfers nothing where HTCondor believes the file system is shared.',
    perBatch((batch) =>
      /^(if_needed|auto)$/i.test(valueOf(batch, 'should_transfer_files') ?? '')
        ? asFound(
            'IF_NEEDED: nothing is transferred to a worker with the same file system domain, shared or not',
            'should_transfer_files = YES',
            whereSet(batch, 'should_transfer_files'),
          )
        : undefined,
    ),
  ),
  rule(
    'on-success-without-code',
    'warning',
    '`when_to_transfer_output = ON_SUCCESS` without `success_exit_code` returns the files of failed jobs, too.',
    perBatch((batch) =>
      /^on_success$/i.test(valueOf(batch, 'when_to_transfer_output') ?? '') &&
      valueOf(batch, 'success_exit_code') === undefined
        ? asFound(
            'ON_SUCCESS without `success_exit_code`: HTCondor returns the files of failed jobs, too',
            'add, with the number of retries that you want:\nsuccess_exit_code = 0\nmax_retries = 0',
            whereSet(batch, 'when_to_transfer_output'),
          )
        : undefined,
    ),
  ),
  rule(
    'url-secret',
    'error',
    'A URL carries a token or a signature, which everyone can read in the queue and in logs.',
    perBatch(secretUrls),
  ),
  rule(
    'mutable-object',
    'note',
    "An object's name has no version or hash: caches keep serving the old bytes after it is replaced.",
    perBatch(mutableObjects),
  ),
];

/** The first of a long list are enough. */
const maxMissing = 5;

const inputsOf = (batch: Batch): string[] => fileList(valueOf(batch, 'transfer_input_files'));

/** Looks a path up, relative to `initialdir`. */
const factOf = ({ files }: SubmitFacts, { job }: Batch, name: string): FileFact | undefined =>
  files.get(path.posix.join(path.posix.isAbsolute(name) ? '/' : (job.commands['initialdir'] ?? '.'), name));

const ofHome =
  'executable initialdir transfer_input_files container_image input x509userproxy output error log'.split(
    ' ',
  );
const fromHome = /(?<=^|,\s*)~(?=\/)/g;

function tilde(batch: Batch, command: string): Found | [] {
  if ((valueOf(batch, command) ?? '').search(fromHome) === -1) return [];
  const written = batch.queue.inForce.get(command)?.value ?? '';
  const better = written.replaceAll(fromHome, '$ENV(HOME)');
  return {
    // HTCondor makes the folders of files that it writes, in a folder `~`.
    ...(/^(output|error|log)$/.test(command) ? { level: 'warning' as const } : {}),
    message: `\`${command}\` has a path from \`~\`: only shells expand it, HTCondor looks for a folder of that name`,
    // A macro may bring it.
    fix: better === written ? 'write `$ENV(HOME)` instead of `~`' : `${command} = ${better}`,
    place: whereSet(batch, command),
  };
}

function missingInputs(first: Batch, facts: SubmitFacts): RuleResult {
  if (transfersNothing(first)) return [];
  const { queue } = first;
  const missing = new Map<string, Batch>();
  for (const job of queue.jobs)
    for (const name of inputsOf({ queue, job }))
      if (factOf(facts, { queue, job }, name)?.kind === 'missing' && !missing.has(name))
        missing.set(name, { queue, job });
  return [...missing].slice(0, maxMissing).map(([name, batch]) => {
    const words = name.split(/\s+/);
    const blanks = words.length > 1 && words.every((word) => !/[,"']/.test(word));
    return {
      message: `the input ${name} does not exist: the job would be held with code 13`,
      fix: blanks ? `separate files by commas: ${words.join(', ')}` : 'create it, or correct its name',
      place: whereSet(batch, 'transfer_input_files'),
      about: [name, ...(blanks ? ['blanks'] : [])],
    };
  });
}

function missingFiles(batch: Batch, facts: SubmitFacts): RuleResult {
  const isThere = transfersNothing(batch) || /^false$/i.test(valueOf(batch, 'transfer_input') ?? '');
  return given(!isThere && 'input', 'x509userproxy').flatMap((command) => {
    const name = valueOf(batch, command) ?? '';
    // `$(Node)` numbers the processes of a parallel job.
    const isOpen = /\$\(node\)/i.test(batch.queue.inForce.get(command)?.value ?? '');
    if (name === '' || isOpen || factOf(facts, batch, name)?.kind !== 'missing') return [];
    return {
      message:
        `\`${command}\`: ${name} does not exist: ` +
        (command === 'input' ? 'the job would be held with code 13' : 'HTCondor refuses the file'),
      fix: 'create it, or correct its name',
      place: whereSet(batch, command),
      about: [name, command],
    };
  });
}

/** What the access point itself sends: local inputs, the executable and a local image; URLs do not count. */
function sentBytes(batch: Batch, facts: SubmitFacts): number {
  const image = valueOf(batch, 'container_image');
  const local = given(...inputsOf(batch), image).filter((name) => !isUrl(name));
  const executable = facts.files.get(path.posix.normalize(valueOf(batch, 'executable') ?? '.'));
  const bytes = local
    .map((name) => factOf(facts, batch, name)?.bytes ?? 0)
    .reduce((sum, size) => sum + size, 0);
  return bytes + (executable?.kind === 'file' ? executable.bytes : 0);
}

function tooLarge(batch: Batch, facts: SubmitFacts): RuleResult {
  const own = Number(valueOf(batch, 'max_transfer_input_mb') ?? NaN);
  const limit = own > 0 ? own : Math.floor(facts.limits.inputBytes / 2 ** 20);
  const megabytes = Math.ceil(sentBytes(batch, facts) / 2 ** 20);
  if (own === -1 || megabytes <= limit) return [];
  return asFound(
    `${megabytes} MB of input from the access point, ` +
      `over the limit of ${limit} MB: the job is held with code 32`,
    'put the large files into the federation and list them as osdf:/// URLs, which do not count',
    whereSet(batch, 'transfer_input_files'),
  );
}

function large(batch: Batch, facts: SubmitFacts): RuleResult {
  const bytes = sentBytes(batch, facts);
  const { adviseBytes, inputBytes, title } = facts.limits;
  if (bytes <= adviseBytes || bytes > inputBytes) return [];
  const jobs = batch.queue.total ?? 1;
  return asFound(
    `${formatQuantity(bytes)} of input from the access point for each job, ` +
      `${formatQuantity(bytes * jobs)} in total: ${title} recommends at most ${formatQuantity(adviseBytes)}`,
    'put the large files into the federation and list them as ' +
      'osdf:/// URLs, so that caches near the workers serve them',
    whereSet(batch, 'transfer_input_files'),
  );
}

function diskBelowInput(batch: Batch, facts: SubmitFacts): RuleResult {
  const asked = parseQuantity(valueOf(batch, 'request_disk') ?? '', 'k')?.bytes;
  const image = valueOf(batch, 'container_image') ?? '';
  const urls = new Set([...inputsOf(batch), image].filter(isUrl));
  const fetched = [...urls].reduce((sum, url) => sum + (facts.objectBytes?.get(url) ?? 0), 0);
  const needed = sentBytes(batch, facts) + fetched;
  if (asked === undefined || transfersNothing(batch) || asked >= needed) return [];
  return asFound(
    `${formatQuantity(asked)} of disk requested, but the input alone takes ` +
      `${formatQuantity(needed)}: the job would be held, or fill the disk`,
    'write, with room for unpacked files and results added:\n' +
      `request_disk = ${Math.ceil(withHeadroom(needed) / 2 ** 30)} GB`,
    whereSet(batch, 'request_disk'),
  );
}

function noOutputs(batch: Batch): RuleResult {
  const declared = ['transfer_output_files', 'output_destination', 'transfer_output_remaps'].some(
    (name) => name in batch.job.commands,
  );
  const folders = new Set(batch.queue.jobs.map(({ commands }) => commands['initialdir']));
  if (declared || transfersNothing(batch) || batch.queue.jobs.length < 2 || folders.size > 1) return [];
  return asFound(
    'no `transfer_output_files`: all jobs return their new files to ' +
      'one folder, where those of the same name overwrite each other',
    'name what to return, and where to:\ntransfer_output_files = model.pt\n' +
      'transfer_output_remaps = "model.pt=results/$(Cluster).$(Process).pt"',
    batch.queue.place,
  );
}

function transferOff(batch: Batch): RuleResult {
  const set = ['transfer_input_files', 'transfer_output_files', 'when_to_transfer_output'].filter(
    (name) => valueOf(batch, name) !== undefined,
  );
  if (!refusesTransfer(batch) || set.length === 0) return [];
  const names = `\`${set.join('`, `')}\``;
  return asFound(
    `${names} ${set.length === 1 ? 'conflicts' : 'conflict'} ` +
      'with should_transfer_files = NO: HTCondor refuses the file',
    `remove ${names}, or write:\nshould_transfer_files = YES`,
    whereSet(batch, 'should_transfer_files'),
  );
}

const secret = /[?&](authz|access_token|token|signature|x-amz-signature|sig|key|password)=/i;
const urlCommands =
  'transfer_input_files transfer_output_remaps output_destination checkpoint_destination'.split(' ');

function secretUrls(batch: Batch): RuleResult {
  return urlCommands.flatMap((command) =>
    fileList(valueOf(batch, command)).flatMap((url) => {
      const login = /\/\/[^/@\s]+:[^/@\s]+@/.test(url) ? 'password' : undefined;
      const name = url.includes('://') ? (secret.exec(url)?.[1] ?? login) : undefined;
      if (name === undefined) return [];
      return asFound(
        `a URL carries a secret (\`${name}\`): anyone who can see the queue or the log can read it`,
        'let HTCondor provide the token (use_oauth_services), or use a token file that the plugin finds',
        whereSet(batch, command),
      );
    }),
  );
}

const versioned = /\d+\.\d+|v\d+|[0-9a-f]{7,}|\d{4}/i;

function mutableObjects(batch: Batch): RuleResult {
  const urls = [...inputsOf(batch), valueOf(batch, 'container_image') ?? ''].filter((url) =>
    /^(osdf|stash|pelican):\/\//i.test(url),
  );
  return urls
    .filter((url) => !versioned.test(url.split('/').slice(-2).join('/')))
    .map((url) => ({
      message:
        `${url} has no version in its name: if the object is replaced, ` +
        'caches still serve the old bytes to some jobs',
      fix: 'publish each version under a new name, for example with a date or part of its hash',
      about: [url],
      place: whereSet(
        batch,
        url === valueOf(batch, 'container_image') ? 'container_image' : 'transfer_input_files',
      ),
    }));
}
