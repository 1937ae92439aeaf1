import path from 'node:path';
import {
  attributeValue,
  perBatch,
  transfersNothing,
  whereSet,
  unquoted,
  valueOf,
  type Batch,
  type SubmitFacts,
} from '../../submit/submit-facts.ts';
import type { Rule, RuleResult } from '@updraft/base';

/** Rules about images. */
export const containerRules: Rule<SubmitFacts>[] = [
  {
    name: 'no-image',
    level: 'error',
    about: 'The image is not there, so the job is held, or HTCondor refuses its kind of URL.',
    check: perBatch(missingImage),
  },
  {
    name: 'two-images',
    level: 'warning',
    about:
      '`+SingularityImage` and `container_image` are both set: unless the pool says otherwise, HTCondor uses the first. With `docker_image` or `universe = docker`, HTCondor refuses the file.',
    check: perBatch(twoImages),
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
        fix: `container_image = ${unquoted(image)}`,
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
        fix: `remove \`docker_image\` and \`universe = docker\`, and write:\ncontainer_image = docker://${unquoted(image).replace(/^docker:\/\//, '')}`,
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

function twoImages(batch: Batch): RuleResult {
  if (valueOf(batch, 'container_image') === undefined) return [];
  const isDocker = /^docker$/i.test(valueOf(batch, 'universe') ?? '');
  const other = valueOf(batch, 'docker_image') !== undefined ? 'docker_image' : 'universe';
  if (isDocker || other === 'docker_image')
    return {
      level: 'error',
      message: `\`container_image\` with \`${other === 'universe' ? 'universe = docker' : other}\`: HTCondor refuses the file`,
      fix: 'keep only `container_image`, without `docker_image` and `universe = docker`',
      place: whereSet(batch, other),
    };
  if (attributeValue(batch, 'SingularityImage') === undefined) return [];
  return {
    message:
      '`+SingularityImage` and `container_image` are both set: unless the pool says otherwise, HTCondor uses the first',
    fix: 'keep only `container_image`',
    place: whereSet(batch, 'MY.SingularityImage'),
  };
}

function missingImage(batch: Batch, facts: SubmitFacts): RuleResult {
  const image = valueOf(batch, 'container_image');
  if (image !== undefined && /^(library|shub):\/\//i.test(image))
    return {
      message: `\`container_image = ${image}\`: HTCondor does not know such URLs, and refuses the file`,
      fix: `run \`apptainer pull image.sif ${image}\`, and write:\ncontainer_image = image.sif`,
      place: whereSet(batch, 'container_image'),
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
  return {
    message: `the image ${valueOf(batch, name) ?? ''} has no fixed tag: two jobs of one run may use different software`,
    fix: 'use a version tag, or better a digest: …@sha256:…',
    place: whereSet(batch, name),
  };
}
