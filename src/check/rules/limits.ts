import {
  asFound,
  formatSize,
  type Found,
  isShardList,
  levelIf,
  type Rule,
  type RuleResult,
  withHeadroom,
  rule,
} from '@updraft/base';
import { deliveredName } from '@updraft/account/run-folder';
import { isSecretName } from '@updraft/base/secrets';
import { isOnDemand, heldBytes } from '../../job/on-demand.ts';
import { fetchedBy, packName, type PlannedData } from '../../job/plan.ts';
import { poolTraits, type PoolTraits } from '../../job/pool-traits.ts';
import type { PlanFacts, HereFacts, SecretFacts } from '../facts.ts';
import { estimateDisk } from '../../job/estimate-disk.ts';
import { secretFix } from '../../job/secrets.ts';

/** Rules about the limits of a pool. */
export const limitRules: Rule<PlanFacts>[] = [
  rule(
    'native-input',
    'error',
    'Every job would send more from the access point than the pool allows: hold code 32.',
    tooMuchNative,
  ),
  rule(
    'native-file',
    'warning',
    'A data set is sent from the access point that belongs in the federation.',
    largeNative,
  ),
  rule(
    'object-size',
    'warning',
    'An object is larger than the caches of the pool serve well.',
    ({ plan, limits, where }) =>
      plan.data.flatMap((source) => largeObject(source, limits, where('data', source.name, 'url'))),
  ),
  rule(
    'same-name',
    'error',
    'Two objects would arrive under one name, and the second would replace the first.',
    sameNames,
  ),
  rule(
    'web-page',
    'error',
    'The URL of a data set is that of a web page that shows a file, not of the file.',
    ({ plan, where }) =>
      plan.data
        .filter(({ url }) => webPage.test(url))
        .map(({ name, url }) =>
          asFound(
            `data.${name}: ${url} is a web page about a file`,
            'write `resolve` or `raw` for `blob`; from a drive, download it here and name the file',
            where('data', name, 'url'),
          ),
        ),
  ),
  rule(
    'folder-shared',
    'warning',
    "The job's folder seems to be on this machine's own disk, but the nodes of a Slurm cluster must see it.",
    ({ plan, where }) =>
      !traitsOf(plan).sharesFolder ||
      traitsOf(plan).runsHere ||
      !/^\/(?:tmp|var\/tmp|dev\/shm|run|local|scratch\/local)(?:\/|$)/.test(plan.folder)
        ? undefined
        : asFound(
            `the folder ${plan.folder} seems to be on this machine's own disk, ` +
              `but jobs on ${traitsOf(plan).title} write results and logs into it from their nodes`,
            'work in a folder that all nodes share, such as your home or project folder',
            where(),
          ),
  ),
  rule(
    'machine-lacks',
    'error',
    'A job requests more than this machine has, and would never start.',
    ({ limits: { title = '', lacks = [] } = {}, where }) =>
      lacks.map((words) =>
        asFound(
          `a job requests more than ${title} has: ${words}`,
          'request less, or choose another pool in [run]',
          where('resources', words.split(' ')[0] ?? ''),
        ),
      ),
  ),
  rule(
    'pool-advice',
    'note',
    "The staff of the pool wrote this in the pool's profile.",
    ({ limits: { title = '', advice = [] } = {}, where }) =>
      advice.map((words) =>
        asFound(`${title}: ${words}`, 'ask them if it does not suit your jobs', where('run')),
      ),
  ),
  rule(
    'project',
    'warning',
    'The pool accounts by project, but the job file names none.',
    ({ plan, limits, where }) =>
      limits?.wantsProject !== true || plan.spec.run.project !== undefined
        ? undefined
        : asFound(
            `${limits.title} accounts by project, but the job ` +
              'file names none: your default project is charged',
            'set project = "YOUR_PROJECT" in [run]',
            where('run'),
          ),
  ),
];

/** Pages of Google Drive, Dropbox, OneDrive, Kaggle, GitHub and Hugging Face. */
const webPage = new RegExp(
  '^https?://((drive|docs)\\.google\\.com/(?!.*[?&/](export|download)\\b)|1drv\\.ms/|onedrive\\.live\\.com/|' +
    'www\\.kaggle\\.com/datasets/|www\\.dropbox\\.com/(?!.*dl=1)|(github|huggingface)\\.com?/[^?]+/blob/(?!.*raw=))',
);

const traitsOf = ({ spec }: PlanFacts['plan']): PoolTraits => poolTraits[spec.run.pool];

const sizeOf = ({ expect }: PlannedData): number => expect.bytes ?? 0;
const isNative = ({ method }: PlannedData): boolean => method === 'native';

/** Bytes that the access point itself sends with one job. */
function nativeTotal({ plan, image }: PlanFacts): number {
  const sent = [...plan.files.map(({ bytes }) => bytes), ...fetchedBy(plan).filter(isNative).map(sizeOf)];
  return sent.reduce((sum, bytes) => sum + bytes, image?.bytes ?? 0);
}

/** As HTCondor prints it, to be comparable with a hold reason. */
const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20).toLocaleString('en-US')} MB`;

function tooMuchNative(facts: PlanFacts): RuleResult {
  const { limits, plan, where, image } = facts;
  const limit = limits?.nativeInputBytes ?? Infinity;
  const total = nativeTotal(facts);
  if (total <= limit) return [];
  const largest = fetchedBy(plan)
    .filter(isNative)
    .toSorted((a, b) => sizeOf(b) - sizeOf(a))[0];
  const isImage = largest === undefined || (image?.bytes ?? 0) > sizeOf(largest);
  const isPack = !isImage && largest.name === packName;
  const name = isImage ? 'the image' : isPack ? 'the archive' : `data.${largest.name}`;
  return asFound(
    `${megabytes(total)} would be sent from the access point with every job; ${limits?.title ?? ''} ` +
      `holds jobs above ${megabytes(limit)} (hold code 32). Splitting does not help: the total counts`,
    isImage
      ? 'put the image into the federation with `updraft put` and name it by its osdf:// URL'
      : `put ${name} into the federation with \`updraft ${isPack ? 'env stage' : 'stage'}\` ` +
          'and use its osdf:// URL: method "stream" has no such limit',
    isImage
      ? where('environment', 'image')
      : isPack
        ? where('environment', 'pack')
        : where('data', largest.name, 'url'),
  );
}

function largeNative(facts: PlanFacts): Found[] {
  const { nativeFileBytes = Infinity, nativeInputBytes = Infinity, title = '' } = facts.limits ?? {};
  if (nativeTotal(facts) > nativeInputBytes) return [];
  return facts.plan.data
    .filter((source) => isNative(source) && sizeOf(source) > nativeFileBytes)
    .map((source) =>
      asFound(
        `data.${source.name} has ${formatSize(sizeOf(source))}; on ${title}, ` +
          `files above ${formatSize(nativeFileBytes)} belong in the federation`,
        'put it into the federation with `updraft stage` and use its osdf:// URL',
        facts.where('data', source.name, 'url'),
      ),
    );
}

function largeObject(
  source: PlannedData,
  limits: PlanFacts['limits'],
  place: ReturnType<PlanFacts['where']>,
): Found | [] {
  const { recommendedObjectBytes = Infinity, maxObjectBytes = Infinity, title = '' } = limits ?? {};
  const bytes = sizeOf(source);
  if (isNative(source) || isShardList(source) || isOnDemand(source) || bytes <= recommendedObjectBytes)
    return [];
  const advice =
    bytes > maxObjectBytes
      ? `above ${formatSize(maxObjectBytes)}, ask the staff of ${title} first`
      : `the caches of ${title} serve well up to ${formatSize(recommendedObjectBytes)}`;
  return asFound(
    `data.${source.name} has ${formatSize(bytes)} in one object; ${advice}`,
    'upload its folder with `updraft stage`, which makes shards of 1 GB and prints the table for all of them',
    place,
  );
}

/** HTCondor puts everything it fetches for a job into one folder, by its base name. */
function sameNames({ plan, where }: PlanFacts): Found[] {
  const seen = new Map<string, string>();
  return plan.data
    .filter(({ method }) => traitsOf(plan).hasPlugins && (method === 'https' || method === 'osdf'))
    .flatMap(({ name, url }) => {
      const file = deliveredName(url);
      const other = seen.get(file);
      seen.set(file, name);
      if (other === undefined) return [];
      return asFound(
        `data.${other} and data.${name} would both arrive as "${file}" in the job's sandbox`,
        `set method = "stream" in [data.${name}]`,
        where('data', name, 'url'),
      );
    });
}

/** Rules about the disk of a job. */
export const diskRules: Rule<PlanFacts>[] = [
  rule(
    'disk-too-small',
    'error',
    'Data, image and environment do not fit the requested disk; a warning if what is unpacked and written does not.',
    (facts) => {
      const { least, likely, asked } = needs(facts);
      if (asked >= likely.bytes && asked >= least.bytes) return undefined;
      const isSure = asked < least.bytes;
      const found = isSure ? tooSmall(facts, 'cannot hold', least) : tooSmall(facts, 'is tight', likely);
      return { ...found, level: levelIf(isSure) };
    },
  ),
];

interface Need {
  bytes: number;
  why: string;
}

/** What the job needs at least, and what it is likely to need. */
function needs(facts: PlanFacts): { least: Need; likely: Need; asked: number } {
  const { plan, image: sent, fetchedImageBytes = 0 } = facts;
  const imageBytes = (sent?.bytes ?? 0) + fetchedImageBytes;
  const isKnown = (source: PlannedData): boolean => heldBytes(source) !== undefined;
  const fetched = fetchedBy(plan).filter(isKnown);
  const files = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const estimate = estimateDisk('auto', plan.data.filter(isKnown), files, plan.environment?.size);
  const image = imageBytes > 0 ? [`${formatSize(imageBytes)} of image`] : [];
  return {
    least: {
      bytes: fetched.reduce((sum, source) => sum + heldOf(source), imageBytes),
      why: [...fetched.map((source) => `${formatSize(heldOf(source))} of ${labelOf(source)}`), ...image].join(
        ' + ',
      ),
    },
    // The estimate already includes an image described by a lock.
    likely:
      plan.environment?.size === undefined
        ? { bytes: estimate.bytes + imageBytes, why: [estimate.why, ...image].join(' + ') }
        : estimate,
    asked: plan.disk.bytes,
  };
}

const heldOf = (source: PlannedData): number => heldBytes(source) ?? 0;
const labelOf = ({ name }: PlannedData): string => (name === packName ? packName : `data.${name}`);

/** Shards on demand need not all be there. */
function toKeep(data: readonly PlannedData[]): string {
  const whole = data.find((source) => isOnDemand(source) && source.keepBytes === undefined);
  return whole === undefined ? '' : `, or keep fewer shards: keep = "20 GB" in [data.${whole.name}]`;
}

function tooSmall({ plan, where }: PlanFacts, what: string, need: Need): Found {
  const { diskBytes } = plan.spec.resources;
  const rounded = formatSize(Math.ceil(withHeadroom(need.bytes) / 1e9) * 1e9);
  const asked = formatSize(plan.disk.bytes);
  const disk = diskBytes === 'auto' ? `disk = "auto" is ${asked} and` : `disk = ${asked}`;
  return asFound(
    `${disk} ${what}: ${formatSize(need.bytes)} needed (${need.why})`,
    `set disk = "${rounded}" in [resources]${toKeep(plan.data)}`,
    where('resources', 'disk'),
  );
}

/** Rules about the folder that keeps the run and its results. */
export const folderRules: Rule<PlanFacts & HereFacts>[] = [
  rule(
    'folder-unwritable',
    'error',
    'The folder of the run cannot be written, so no run can be created in it.',
    ({ here: { folder }, where }) =>
      folder?.unwritable === undefined
        ? undefined
        : asFound(
            `${folder.path} cannot be written (${folder.unwritable}): the run and its results are kept there`,
            'copy the job file and its files to a folder of your own, or make this one writable',
            where(),
          ),
  ),
];

export const secretRules: Rule<PlanFacts & SecretFacts>[] = [
  rule(
    'secret-missing',
    'error',
    'A secret of [train.secrets] is missing: the run cannot be submitted.',
    ({ secrets, where }) =>
      secrets
        .filter(({ value }) => value === undefined)
        .map(({ name, from }) =>
          asFound(`the secret ${name} is not in ${from}`, secretFix(from), where('train', 'secrets', name)),
        ),
  ),
  rule(
    'secret-in-env',
    'warning',
    'A variable of [train.env] looks like a secret: its value is written into the files of the run.',
    ({ plan, where }) =>
      Object.entries(plan.spec.train.env)
        .filter(([name, value]) => isSecretName(name) && value !== '')
        .map(([name]) =>
          asFound(
            `${name} in [train.env] looks like a secret, but its value ` +
              'is written into the plan and the work orders of the run',
            `write ${name} = { from = "env" } in [train.secrets] instead`,
            where('train', 'env', name),
          ),
        ),
  ),
];
