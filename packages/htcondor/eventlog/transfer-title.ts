import { defined } from '@updraft/base';
import { remembering } from './log-text.ts';
import { codesOf, hasAt, type TextBody } from './text-body.ts';

const steps = { 'Entered queue': 'queued', Started: 'started', Finished: 'finished' } as const;

interface TransferMoment {
  direction?: 'input' | 'output';
  step?: (typeof steps)[keyof typeof steps];
}

const pattern = /^(Entered queue|Started|Finished)\b.* (input|output) files/;

const momentIn = remembering((title): TransferMoment => {
  const [, step, direction] = pattern.exec(title) ?? [];
  return defined({
    direction: direction as TransferMoment['direction'],
    step: steps[step as keyof typeof steps],
  });
});

/** The titles that HTCondor writes: most logs have more of them than of anything else but memory updates. */
const usual = ['Started transferring', 'Finished transferring', 'Entered queue to transfer'].flatMap(
  (words) =>
    ['input', 'output'].map((direction) => {
      const title = `${words} ${direction} files`;
      return { codes: codesOf(` ${title}\n`), moment: momentIn(title) };
    }),
);

/** The step of a transfer that the title of its event names. */
export function transferMoment(body: TextBody): TransferMoment {
  for (const { codes, moment } of usual) if (hasAt(body.codes, body.at, codes)) return moment;
  return momentIn(body.title);
}
