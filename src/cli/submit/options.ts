import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration, parseSize } from '@updraft/base';
import { jobFileOptions } from '../job-file-argument.ts';

/** The argument and the options of commands that submit. */
export const submitOptions = (command: Command): Command =>
  jobFileOptions(command)
    .option('--new', 'start a new run even if nothing changed')
    .option(
      '--canary <sizes>',
      'queue in steps, as in 1,10: the next step follows when all jobs before it have valid results',
      canarySizes,
    )
    .option('--no-check', 'queue without the quick check');

function canarySizes(text: string): number[] {
  const sizes = text.split(',').map((size) => size.trim());
  if (!sizes.every((size) => /^[1-9]\d{0,6}$/.test(size)))
    throw new InvalidArgumentError('it must be whole numbers from 1, separated by commas, such as 1,10.');
  return sizes.map(Number);
}

/** A whole number from 1, or `from`, to `to`. */
export const integerOption =
  (to: number, from = 1) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= from && number <= to) return number;
    throw new InvalidArgumentError(
      `it must be a whole number from ${from}${to < maxInteger ? ` to ${to}` : ''}.`,
    );
  };

/** For options without another limit. */
export const maxInteger = 999_999_999;

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
