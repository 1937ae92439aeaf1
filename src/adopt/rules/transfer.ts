import path from 'node:path';
import {
  type Batch,
  type SubmitFacts,
  type FileFact,
  isUrl,
  fileList,
  parseQuantity,
  perBatch,
  whereSet,
  formatQuantity,
  valueOf,
} from '../submit-facts.ts';
import type { RuleResult, Rule } from '../../base/finding.ts';

/** Rules about what travels to the job and back. */
export const transferRules: Rule<SubmitFacts>[] = [
  {
    name: 'executable-missing',
    level: 'error',
    about: 'The executable is not there or not named, so that HTCondor refuses the file.',
    check: perBatch(missingExecutable),
  },
  {
    name: 'initialdir-missing',
    level: 'error',
    about: '`initialdir` names a folder that is not there, so that HTCondor refuses the file.',
    check: perBatch(missingInitialdir),
  },
  {
    name: 'input-missing',
    level: 'error',
    about: 'An input file is not there: the job is held before it starts.',
    check: perBatch(missingInputs),
  },
  {
    name: 'input-too-large',
    level: 'error',
    about: 'The input from the access point is more than the pool sends: the job is held with code 32.',
    check: perBatch(tooLarge),
  },
  {
    name: 'input-large',
    level: 'warning',
    about: 'The input from the access point is above what the pool advises, for every job anew.',
    check: perBatch(large),
  },
  {
    name: 'disk-below-input',
    level: 'error',
    about: 'Less disk is asked for than the input alone takes.',
    check: perBatch(diskBelowInput),
  },
  {
    name: 'no-outputs',
    level: 'warning',
    about:
      'No outputs are declared: a job without a result still counts as done, and files in folders stay behind.',
    check: perBatch(noOutputs),
  },
  {
    name: 'transfer-off',
    level: 'error',
    about: 'Files are listed for transfer while transfer is switched off.',
    check: perBatch(transferOff),
  },
  {
    name: 'transfer-if-needed',
    level: 'warning',
    about:
      '`should_transfer_files = IF_NEEDED` transfers nothing where HTCondor believes that the file system is shared.',
    check: perBatch((batch) =>
      /^if_needed$/i.test(valueOf(batch, 'should_transfer_files') ?? '')
        ? {
            message:
              'IF_NEEDED: on a worker that names the same file system domain nothing is transferred, shared or not',
            fix: 'should_transfer_files = YES',
            place: whereSet(batch, 'should_transfer_files'),
          }
        : undefined,
    ),
  },
  {
    name: 'on-success-without-code',
    level: 'warning',
    about:
      '`when_to_transfer_output = ON_SUCCESS` without `success_exit_code`, which says what a success is.',
    check: perBatch((batch) =>
      /^on_success$/i.test(valueOf(batch, 'when_to_transfer_output') ?? '') &&
      valueOf(batch, 'success_exit_code') === undefined
        ? {
            message: 'ON_SUCCESS without `success_exit_code`: nothing says which exit code is a success',
            fix: 'add success_exit_code = 0 and max_retries = 0 (or as many as you want)',
            place: whereSet(batch, 'when_to_transfer_output'),
          }
        : undefined,
    ),
  },
  {
    name: 'url-secret',
    level: 'error',
    about: 'A URL carries a token or a signature, which everyone can read in the queue and in logs.',
    check: perBatch(secretUrls),
  },
  {
    name: 'url-query',
    level: 'warning',
    about: 'A URL has a query: HTCondor drops it from the name of the file that arrives.',
    check: perBatch(queryUrls),
  },
  {
    name: 'mutable-object',
    level: 'note',
    about: "An object's name has no version or hash: caches keep serving the old bytes after it is replaced.",
    check: perBatch(mutableObjects),
  },
];

/** Of a long list the first ones tell enough. */
const maxMissing = 5;

const isOff = (batch: Batch): boolean => /^(no|false)$/i.test(valueOf(batch, 'should_transfer_files') ?? '');

const inputsOf = (batch: Batch): string[] => fileList(valueOf(batch, 'transfer_input_files'));

/** Each path as evidence knows it. */
const factOf = ({ files }: SubmitFacts, { job }: Batch, name: string): FileFact | undefined =>
  files.get(path.posix.join(path.posix.isAbsolute(name) ? '/' : (job.commands['initialdir'] ?? '.'), name));

function missingExecutable(batch: Batch, { files }: SubmitFacts): RuleResult {
  const name = valueOf(batch, 'executable');
  if (name === undefined && needsExecutable(batch))
    return {
      message: 'no `executable`: HTCondor does not know what to run and refuses the file',
      fix: 'executable = train.sh',
      place: batch.queue.place,
    };
  const isSent = !/^false$/i.test(valueOf(batch, 'transfer_executable') ?? 'true');
  if (name === undefined || !isSent || files.get(path.posix.normalize(name))?.kind !== 'missing') return [];
  return {
    message: `the executable ${name} does not exist in the folder of submission`,
    fix: 'correct the path; it is relative to where condor_submit runs, not to `initialdir`',
    place: whereSet(batch, 'executable'),
  };
}

/** An image has a command of its own, and grid jobs may start a machine. */
const needsExecutable = (batch: Batch): boolean =>
  !['shell', 'container_image', 'docker_image'].some((name) => valueOf(batch, name) !== undefined) &&
  !/^(container|docker|grid)$/i.test(valueOf(batch, 'universe') ?? '');

function missingInitialdir({ queue }: Batch, { files }: SubmitFacts): RuleResult {
  const missing = queue.jobs.filter(
    ({ commands: { initialdir } }) =>
      initialdir !== undefined && files.get(path.posix.normalize(initialdir))?.kind === 'missing',
  );
  const [first] = missing;
  if (first === undefined) return [];
  const folder = first.commands['initialdir'] ?? '';
  return {
    message: `the folder ${folder} of \`initialdir\` does not exist${missing.length > 1 ? `, nor do those of ${missing.length - 1} other jobs` : ''}: HTCondor refuses the file`,
    fix: `mkdir -p ${folder}`,
    place: whereSet({ queue, job: first }, 'initialdir'),
  };
}

function missingInputs({ queue }: Batch, evidence: SubmitFacts): RuleResult {
  const missing = new Map<string, Batch>();
  for (const job of queue.jobs)
    for (const name of inputsOf({ queue, job }))
      if (factOf(evidence, { queue, job }, name)?.kind === 'missing' && !missing.has(name))
        missing.set(name, { queue, job });
  return [...missing].slice(0, maxMissing).map(([name, batch]) => {
    const words = name.split(/\s+/);
    const blanks = words.length > 1 && words.every((word) => !/[,"']/.test(word));
    return {
      message: `the input ${name} does not exist: the job would be held with code 13`,
      fix: blanks ? `separate files by commas: ${words.join(', ')}` : 'create it, or correct its name',
      place: whereSet(batch, 'transfer_input_files'),
    };
  });
}

/** What the access point itself sends: local inputs, the executable and a local image; URLs do not count. */
function sentBytes(batch: Batch, evidence: SubmitFacts): number {
  const image = valueOf(batch, 'container_image');
  const local = [...inputsOf(batch), ...(image === undefined ? [] : [image])].filter((name) => !isUrl(name));
  const executable = evidence.files.get(path.posix.normalize(valueOf(batch, 'executable') ?? '.'));
  const bytes = local
    .map((name) => factOf(evidence, batch, name)?.bytes ?? 0)
    .reduce((sum, size) => sum + size, 0);
  return bytes + (executable?.kind === 'file' ? executable.bytes : 0);
}

function tooLarge(batch: Batch, evidence: SubmitFacts): RuleResult {
  const own = Number(valueOf(batch, 'max_transfer_input_mb') ?? NaN);
  const limit = own > 0 ? own : Math.floor(evidence.limits.inputBytes / 2 ** 20);
  const megabytes = Math.ceil(sentBytes(batch, evidence) / 2 ** 20);
  if (own === -1 || megabytes <= limit) return [];
  return {
    message: `${megabytes} MB of input from the access point, over the limit of ${limit} MB: held with code 32 at once`,
    fix: 'put the large files on the federation and name them as osdf:/// URLs, which do not count',
    place: whereSet(batch, 'transfer_input_files'),
  };
}

function large(batch: Batch, evidence: SubmitFacts): RuleResult {
  const bytes = sentBytes(batch, evidence);
  const { adviseBytes, inputBytes, title } = evidence.limits;
  if (bytes <= adviseBytes || bytes > inputBytes) return [];
  const jobs = batch.queue.total ?? 1;
  return {
    message: `${formatQuantity(bytes)} of input from the access point for each job, ${formatQuantity(bytes * jobs)} in all: ${title} advises at most ${formatQuantity(adviseBytes)}`,
    fix: 'put the large files on the federation and name them as osdf:/// URLs: caches near the workers then serve them',
    place: whereSet(batch, 'transfer_input_files'),
  };
}

function diskBelowInput(batch: Batch, evidence: SubmitFacts): RuleResult {
  const asked = parseQuantity(valueOf(batch, 'request_disk') ?? '', 'k')?.bytes;
  const image = valueOf(batch, 'container_image') ?? '';
  const urls = new Set([...inputsOf(batch), image].filter(isUrl));
  const fetched = [...urls].reduce((sum, url) => sum + (evidence.objectBytes?.get(url) ?? 0), 0);
  const needed = sentBytes(batch, evidence) + fetched;
  if (asked === undefined || isOff(batch) || asked >= needed) return [];
  return {
    message: `${formatQuantity(asked)} of disk asked for, and the input alone takes ${formatQuantity(needed)}: such jobs are held, or fill the disk of others`,
    fix: `request_disk = ${Math.ceil((needed * 1.2) / 2 ** 30)} GB, and as much again for what is unpacked and written`,
    place: whereSet(batch, 'request_disk'),
  };
}

function noOutputs(batch: Batch): RuleResult {
  const declared = ['transfer_output_files', 'output_destination', 'transfer_output_remaps'].some(
    (name) => name in batch.job.commands,
  );
  if (declared || isOff(batch)) return [];
  const folders = new Set(batch.queue.jobs.map(({ commands }) => commands['initialdir']));
  const overwrite = batch.queue.jobs.length > 1 && folders.size === 1;
  return {
    message: `no \`transfer_output_files\`: only new files at the top of the scratch folder come back, and a job without its result still counts as done${overwrite ? `; all ${batch.queue.total ?? ''} jobs bring them to one folder, where those of one name overwrite each other` : ''}`,
    fix: 'transfer_output_files = model.pt (a listed file that is missing holds the job)',
    place: batch.queue.place,
  };
}

function transferOff(batch: Batch): RuleResult {
  const lists = ['transfer_input_files', 'transfer_output_files'].filter(
    (name) => valueOf(batch, name) !== undefined,
  );
  if (!isOff(batch) || lists.length === 0) return [];
  return {
    message: `\`${lists.join('` and `')}\` with should_transfer_files = NO: HTCondor refuses the file`,
    fix: 'should_transfer_files = YES, or remove the list',
    place: whereSet(batch, 'should_transfer_files'),
  };
}

const secret = /[?&](authz|access_token|token|signature|x-amz-signature|sig|key|password)=/i;

function secretUrls(batch: Batch): RuleResult {
  return [...inputsOf(batch), ...fileList(valueOf(batch, 'transfer_output_remaps'))].flatMap((url) => {
    const name =
      isUrl(url) || url.includes('://')
        ? (secret.exec(url)?.[1] ?? (/\/\/[^/@\s]+:[^/@\s]+@/.test(url) ? 'password' : undefined))
        : undefined;
    if (name === undefined) return [];
    return {
      message: `a URL carries a secret (\`${name}\`): anyone who may look at the queue or the log can read it`,
      fix: 'let HTCondor bring the token: use_oauth_services, or a token file that the plugin finds',
      place: whereSet(batch, 'transfer_input_files'),
    };
  });
}

/** Queries that the Pelican plugin itself acts on. */
const understood =
  /^\?(recursive|pack|directread|skipstat)(=\w+)?(&(recursive|pack|directread|skipstat)(=\w+)?)*$/i;

function queryUrls(batch: Batch): RuleResult {
  return inputsOf(batch)
    .filter(
      (url) =>
        isUrl(url) && url.includes('?') && !secret.test(url) && !understood.test(url.slice(url.indexOf('?'))),
    )
    .map((url) => {
      const name = path.posix.basename(url.slice(0, url.indexOf('?')));
      return {
        message: `the query of ${url.slice(0, url.indexOf('?'))}?… is dropped from the name: the file arrives as ${name}`,
        fix: `read it as ${name} in the job, or use a URL without a query`,
        place: whereSet(batch, 'transfer_input_files'),
      };
    });
}

const versioned = /\d+\.\d+|v\d+|[0-9a-f]{7,}|\d{4}/i;

function mutableObjects(batch: Batch): RuleResult {
  const urls = [...inputsOf(batch), valueOf(batch, 'container_image') ?? ''].filter((url) =>
    /^(osdf|stash|pelican):\/\//i.test(url),
  );
  return urls
    .filter((url) => !versioned.test(url.split('/').slice(-2).join('/')))
    .map((url) => ({
      message: `${url} has no version in its name: when the object is replaced, caches go on serving the old bytes to some jobs`,
      fix: 'publish every version under a new name, such as one with a date or the first digits of its hash',
      place: whereSet(
        batch,
        url === valueOf(batch, 'container_image') ? 'container_image' : 'transfer_input_files',
      ),
    }));
}
