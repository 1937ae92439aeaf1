import type { Command } from 'commander';
import { printable } from '../../base/printable.ts';
import type { Cli } from '../cli.ts';
import { examine, type DoctorFinding } from '../doctor/examine.ts';
import { nextCommands, wrap } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  command.option('--json', 'print JSON').action(async ({ json = false }: { json?: boolean }) => {
    const findings = await examine(cli);
    if (json) {
      cli.out(`${JSON.stringify({ version: cli.version, findings })}\n`);
      return;
    }
    cli.out(findings.map((finding) => findingLines(finding, cli.columns)).join(''));
    nextCommands(cli, [
      ['updraft check', 'what would fail of your own job'],
      findings.some(({ name, ok }) => name === 'HTCondor' && !ok) && [
        'updraft mini pool up',
        'a real HTCondor on this machine',
      ],
      ['updraft demo', 'train CIFAR-10 here, end to end'],
    ]);
  });
}

/** A finding in lines of whole words. */
function findingLines({ name, ok, said, fix }: DoctorFinding, columns: number): string {
  const [first, rest] = [`${ok ? 'ok ' : '-  '} ${name.padEnd(10)} `, ' '.repeat(15)];
  return [
    ...wrap(printable(said), columns, first, rest),
    ...(fix === undefined ? [] : wrap(printable(fix), columns, rest, rest)),
  ]
    .map((line) => `${line}\n`)
    .join('');
}
