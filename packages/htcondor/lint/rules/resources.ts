import { asFound, nearest, type Rule, type RuleResult, rule } from '@updraft/base';
import path from 'node:path';
import {
  type Batch,
  type SubmitFacts,
  parseQuantity,
  perBatch,
  whereSet,
  formatQuantity,
  valueOf,
  attributeValue,
  transfersNothing,
  unquoted,
} from '../../submit/submit-facts.ts';
import { wantsGpu } from './gpus.ts';

/** Rules about the resources a job requests. */
export const resourceRules: Rule<SubmitFacts>[] = [
  rule(
    'no-units',
    'warning',
    'Memory or disk is requested without a unit: memory is then in MB and disk in KB.',
    perBatch(withoutUnits),
  ),
  rule(
    'odd-resource',
    'warning',
    'The name of a requested resource looks mistyped: the job waits forever, or gets none of it.',
    perBatch(oddResources),
  ),
];

const plainUnits = { request_memory: 'm', request_disk: 'k' } as const;
type Request = keyof typeof plainUnits;
const requests: Request[] = ['request_memory', 'request_disk'];

function withoutUnits(batch: Batch): RuleResult {
  return requests.flatMap((name) => {
    const value = valueOf(batch, name) ?? '';
    const quantity = parseQuantity(value, plainUnits[name]);
    if (quantity === undefined || quantity.hasUnit || value.includes(',')) return [];
    const unit = name === 'request_memory' ? 'MB' : 'KB';
    const meant = meantAmount(Number(value), quantity.bytes);
    return asFound(
      `\`${name} = ${value}\` means ${formatQuantity(quantity.bytes)}: ` +
        `without a unit it is in ${unit}, and some access points refuse it`,
      meant === undefined
        ? `add the unit:\n${name} = ${exactAmount(quantity.bytes) ?? `${value} ${unit}`}`
        : `write what you mean, such as:\n${name} = ${meant}`,
      whereSet(batch, name),
    );
  });
}

/** In a large unit, if nothing is rounded. */
function exactAmount(bytes: number): string | undefined {
  const amount = formatQuantity(bytes);
  return parseQuantity(amount, 'k')?.bytes === bytes ? amount : undefined;
}

/** What somebody who requests less than any training takes probably meant. */
function meantAmount(number: number, bytes: number): string | undefined {
  if (bytes >= 128 * 2 ** 20) return undefined;
  return number < 1000 ? `${Math.max(1, number)} GB` : `${number} MB`;
}

const resources = ['cpus', 'memory', 'disk', 'gpus'];

/** What `request_memry` was meant to be; undefined where the name is right, or like no other. */
function meantRequest(command: string): string | undefined {
  const name = /^request_(\w+)$/.exec(command)?.[1];
  const meant = name === undefined || resources.includes(name) ? undefined : nearest(name, resources);
  return meant && `request_${meant}`;
}

function oddResources(batch: Batch): RuleResult {
  return Object.entries(batch.job.commands).flatMap(([command, value]) => {
    const meant = meantRequest(command);
    // HTCondor knows these two mistakes, and does not read their values.
    const isIgnored = /^request_[cg]pu$/.test(command);
    if (meant === undefined) return [];
    return asFound(
      isIgnored
        ? `\`${command}\` is not a submit command: HTCondor warns about it, and ignores it`
        : `\`${command}\` requests a resource named "${command.slice('request_'.length)}": ` +
            'the job waits forever, unless a machine has one',
      `${meant} = ${value}`,
      whereSet(batch, command),
    );
  });
}

/** Rules about the lines that a pool asks of its users. */
export const poolLineRules: Rule<SubmitFacts>[] = [
  rule(
    'duration-category',
    'warning',
    'The pool limits the running time by category, and the file names none or one that does not exist.',
    perBatch(durationCategory),
  ),
  rule(
    'gpu-lines',
    'warning',
    'The pool gives its shared GPUs only to jobs with certain attributes, and the file lacks them.',
    perBatch(gpuLines),
  ),
];

const oneOf = (attribute: string, names: readonly string[]): string =>
  `choose "${names.join('" or "')}", and write:\n+${attribute} = "${names[0] ?? ''}"`;

function durationCategory(batch: Batch, { limits }: SubmitFacts): RuleResult {
  const known = limits.durationCategories;
  const given = attributeValue(batch, 'JobDurationCategory')?.replaceAll('"', '');
  if (known.length === 0 || (given !== undefined && known.includes(given))) return [];
  return asFound(
    given === undefined
      ? `no +JobDurationCategory: ${limits.title} uses "${known[0] ?? ''}" and holds jobs that run longer`
      : `${limits.title} has no duration category "${given}"`,
    oneOf('JobDurationCategory', known),
    whereSet(batch, 'MY.JobDurationCategory'),
  );
}

function gpuLines(batch: Batch, { limits }: SubmitFacts): RuleResult {
  if (!wantsGpu(batch)) return [];
  const missing = Object.entries(limits.gpuAttributes).filter(
    ([name]) => attributeValue(batch, name) === undefined,
  );
  const { attribute, names } = limits.gpuLengths ?? { attribute: '', names: [] };
  const length = attributeValue(batch, attribute)?.replaceAll('"', '');
  return [
    ...missing.map(([name, value]) =>
      asFound(
        `no +${name}: ${limits.title} keeps its shared GPUs ` +
          'for jobs that have it, so this one waits for other GPUs',
        `+${name} = ${value}`,
        whereSet(batch, 'request_gpus'),
      ),
    ),
    ...(length === undefined || names.includes(length)
      ? []
      : [
          asFound(
            `${limits.title} has no ${attribute} "${length}"`,
            oneOf(attribute, names),
            whereSet(batch, `MY.${attribute}`),
          ),
        ]),
  ];
}

/** Rules about images. */
export const containerRules: Rule<SubmitFacts>[] = [
  rule('no-image', 'error', 'The image is not there, so the job is held.', perBatch(missingImage)),
  rule(
    'two-images',
    'warning',
    '`+SingularityImage` and `container_image` are both set: unless the pool says otherwise, HTCondor uses the first.',
    perBatch(twoImages),
  ),
  rule(
    'singularity-image',
    'warning',
    '`+SingularityImage` only sets an attribute: without a pool that acts on it the job runs outside the image.',
    perBatch((batch) => {
      const image = attributeValue(batch, 'SingularityImage');
      if (image === undefined || valueOf(batch, 'container_image') !== undefined) return [];
      return asFound(
        '`+SingularityImage` adds no requirement: a machine without ' +
          'Apptainer accepts the job and runs it outside the image',
        `container_image = ${unquoted(image)}`,
        whereSet(batch, 'MY.SingularityImage'),
      );
    }),
  ),
  rule(
    'docker-universe',
    'note',
    'The docker universe only matches machines with Docker, which most pools lack.',
    perBatch((batch) => {
      const image = valueOf(batch, 'docker_image');
      if (image === undefined) return [];
      return asFound(
        '`docker_image` only runs where Docker is installed; most multi-site pools only have Apptainer',
        'remove `docker_image` and `universe = docker`, and write:\n' +
          `container_image = docker://${unquoted(image).replace(/^docker:\/\//, '')}`,
        whereSet(batch, 'docker_image'),
      );
    }),
  ),
  rule(
    'mutable-image',
    'warning',
    'An image has no tag or the tag `latest`, so two jobs of one run may use different software.',
    perBatch(mutableImage),
  ),
];

function twoImages(batch: Batch): RuleResult {
  if (
    valueOf(batch, 'container_image') === undefined ||
    attributeValue(batch, 'SingularityImage') === undefined
  )
    return [];
  return asFound(
    '`+SingularityImage` and `container_image` are both set: unless the pool says otherwise, HTCondor uses the first',
    'keep only `container_image`',
    whereSet(batch, 'MY.SingularityImage'),
  );
}

function missingImage(batch: Batch, facts: SubmitFacts): RuleResult {
  const image = valueOf(batch, 'container_image');
  // An absolute path may be on a file system that workers share.
  const isSent =
    image !== undefined &&
    !path.posix.isAbsolute(image) &&
    !transfersNothing(batch) &&
    !/^false$/i.test(valueOf(batch, 'transfer_container') ?? '');
  const folder = batch.job.commands['initialdir'] ?? '.';
  if (!isSent || facts.files.get(path.posix.join(folder, image))?.kind !== 'missing') return [];
  return {
    message: `the image ${image} does not exist: the job would be held with code 13`,
    fix: imageFix(image),
    place: whereSet(batch, 'container_image'),
    about: [image],
  };
}

function imageFix(image: string): string {
  const plain = unquoted(image);
  if (plain !== image)
    return `HTCondor takes the quotes as part of the name; write:\ncontainer_image = ${plain}`;
  if (/\.(?:sif|img|simg|tar|tar\.gz)$/i.test(image))
    return 'build it, or correct its name: a relative path begins where condor_submit runs, or at initialdir';
  // With one slash or none, it is the name of a file.
  const name = image.replace(/^docker:\/*/, '');
  return `correct its name; or, if it is in a registry, write:\ncontainer_image = docker://${name}`;
}

function mutableImage(batch: Batch): RuleResult {
  const name = ['container_image', 'docker_image'].find((command) => {
    const image = unquoted(valueOf(batch, command) ?? '');
    const isRegistry = command === 'docker_image' || /^(docker|oras):\/\//.test(image);
    return (
      image !== '' && isRegistry && !/@sha256:|:(?!latest$)[\w.-]+$/.test(image.replace(/^\w+:\/\//, ''))
    );
  });
  if (name === undefined) return [];
  return asFound(
    `the image ${valueOf(batch, name) ?? ''} has no fixed tag: two jobs of one run may use different software`,
    'use a version tag, or better a digest: …@sha256:…',
    whereSet(batch, name),
  );
}
