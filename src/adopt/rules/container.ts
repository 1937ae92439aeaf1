import {
  attributeValue,
  perBatch,
  whereSet,
  valueOf,
  type Batch,
  type SubmitFacts,
} from '../submit-facts.ts';
import type { RuleResult, Rule } from '../../base/finding.ts';

/** Rules about images. */
export const containerRules: Rule<SubmitFacts>[] = [
  {
    name: 'two-images',
    level: 'warning',
    about:
      '`+SingularityImage` and `container_image` are both set, and which one is used depends on the pool.',
    check: perBatch((batch) =>
      attributeValue(batch, 'SingularityImage') !== undefined &&
      valueOf(batch, 'container_image') !== undefined
        ? {
            message:
              '`+SingularityImage` and `container_image` are both set: which one is used depends on the pool',
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
        fix: `container_image = docker://${image.replace(/^docker:\/\//, '')} (and remove \`universe = docker\`)`,
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
