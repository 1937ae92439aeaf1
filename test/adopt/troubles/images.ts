import type { Fateful } from './trouble.ts';

const isInImage = 'test -e /made-by-test';

/** With the name of a registry's image, without `docker://`. */
export const aboutImages = (image: string): Fateful[] => [
  ...[image, `docker:${image}`].map((name): Fateful => ({
    rule: 'no-image',
    does: isInImage,
    lines: [`container_image = ${name}`],
    before: 'is held (13)',
  })),
  {
    rule: 'singularity-image',
    does: isInImage,
    lines: [`+SingularityImage = "docker://${image}"`],
    without: /^\+Sing/,
    before: 'fails',
  },
  {
    // HTCondor takes the attribute, unless the pool is configured otherwise.
    rule: 'two-images',
    does: isInImage,
    lines: [`container_image = docker://${image}`, `+SingularityImage = "docker://${image}-old"`],
    without: /^\+Sing/,
    before: 'cannot start',
  },
  {
    rule: 'docker-universe',
    does: isInImage,
    lines: ['universe = docker', `docker_image = ${image}`],
    without: /^(universe|docker_image)/,
    before: 'finds no machine',
  },
];
