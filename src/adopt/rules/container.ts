import path from 'node:path';
import {
  attributeValue,
  perBatch,
  transfersNothing,
  whereSet,
  valueOf,
  type Batch,
  type SubmitFacts,
} from '../submit-facts.ts';
import type { RuleResult, Rule } from '../../base/finding.ts';

/** Rules about images. */
export const containerRules: Rule<SubmitFacts>[] = [
  {
    name: 'no-image',
    level: 'error',
    about:
      'A container job names no image, so HTCondor refuses the file, or one that is not there, so the job is held.',
    check: perBatch(missingImage),
  },
  {
    name: 'two-images',
    level: 'warning',
    about:
      '`+SingularityImage` and `container_image` are both set: unless the pool says otherwise, HTCondor uses the first.',
    check: perBatch((batch) =>
      attributeValue(batch, 'SingularityImage') !== undefined &&
      valueOf(batch, 'container_image') !== undefined
        ? {
            message:
              '`+SingularityImage` and `container_image` are both set: unless the pool says otherwise, HTCondor uses the first',
            fix: 'keep only `container_image`',
            place: whereSet(batch, 'MY.SingularityImage'),
          }
        : undefined,
    ),
  },
  {
    name: 'singularity-image',
    level: 'warning',
    about:
      '`+SingularityImage` only sets an attribute: without a pool that acts on it the job runs outside the image.',
    check: perBatch((batch) => {
      const image = attributeValue(batch, 'SingularityImage');
      if (image === undefined || valueOf(batch, 'container_image') !== undefined) return [];
      return {
        message:
          '`+SingularityImage` adds no requirement: a machine without Apptainer accepts the job and runs it outside the image',
        fix: `container_image = ${image.replaceAll('"', '')}`,
        place: whereSet(batch, 'MY.SingularityImage'),
      };
    }),
  },
  {
    name: 'docker-universe',
    level: 'note',
    about: 'The docker universe only matches machines with Docker, which most pools lack.',
    check: perBatch((batch) => {
      const image = valueOf(batch, 'docker_image');
      if (image === undefined) return [];
      return {
        message:
          '`docker_image` only runs where Docker is installed; most multi-site pools only have Apptainer',
        fix: `remove \`docker_image\` and \`universe = docker\`, and write:\ncontainer_image = docker://${image.replace(/^docker:\/\//, '')}`,
        place: whereSet(batch, 'docker_image'),
      };
    }),
  },
  {
    name: 'mutable-image',
    level: 'warning',
    about: 'An image has no tag or the tag `latest`, so two jobs of one run may use different software.',
    check: perBatch(mutableImage),
  },
];

function missingImage(batch: Batch, facts: SubmitFacts): RuleResult {
  const universe = valueOf(batch, 'universe')?.toLowerCase() ?? '';
  const image = valueOf(batch, 'container_image');
  const isNamed = image !== undefined || valueOf(batch, 'docker_image') !== undefined;
  const needed = universe === 'docker' ? 'docker_image' : 'container_image';
  if (/^(container|docker)$/.test(universe) && !isNamed)
    return {
      message: `\`universe = ${universe}\` without \`${needed}\`: HTCondor refuses the file`,
      fix: `${needed} = ${universe === 'docker' ? '' : 'docker://'}pytorch/pytorch:2.5.1-cuda12.1-cudnn9-runtime`,
      place: whereSet(batch, 'universe'),
    };
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
  };
}

function imageFix(image: string): string {
  if (/\.(?:sif|img|simg|tar|tar\.gz)$/i.test(image))
    return 'build it, or correct its name: a relative path begins where condor_submit runs, or at initialdir';
  // With one slash or none, it is the name of a file.
  const name = image.replace(/^docker:\/*/, '');
  return `correct its name; or, if it is in a registry, write:\ncontainer_image = docker://${name}`;
}

function mutableImage(batch: Batch): RuleResult {
  const name = ['container_image', 'docker_image'].find((command) => {
    const image = valueOf(batch, command) ?? '';
    const isRegistry = command === 'docker_image' || /^(docker|oras):\/\//.test(image);
    return (
      image !== '' && isRegistry && !/@sha256:|:(?!latest$)[\w.-]+$/.test(image.replace(/^\w+:\/\//, ''))
    );
  });
  if (name === undefined) return [];
  return {
    message: `the image ${valueOf(batch, name) ?? ''} has no fixed tag: two jobs of one run may use different software`,
    fix: 'use a version tag, or better a digest: …@sha256:…',
    place: whereSet(batch, name),
  };
}
