import { InvalidArgumentError } from 'commander';
import { parseDuration, parseSize } from '../../job/units.ts';

export function sizeOption(text: string): number {
  const bytes = parseSize(text);
  if (bytes === undefined || bytes <= 0)
    throw new InvalidArgumentError('it must be a size, such as "16 GB".');
  return bytes;
}

export function durationOption(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds <= 0)
    throw new InvalidArgumentError('it must be a time, such as 90m or 10h.');
  return seconds;
}
