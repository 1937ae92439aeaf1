import { InvalidArgumentError } from 'commander';

/** For commands that submit: how many jobs go ahead of the others, rung by rung. */
export const canaryOption = [
  '--canary <sizes>',
  'queue so many jobs first, as in 1,10: each rung when all before it have a valid result',
  rungs,
] as const;

function rungs(text: string): number[] {
  const sizes = text.split(',').map((size) => size.trim());
  if (!sizes.every((size) => /^[1-9]\d{0,6}$/.test(size)))
    throw new InvalidArgumentError('it must be whole numbers from 1, separated by commas, such as 1,10.');
  return sizes.map(Number);
}
