import type { Command } from 'commander';
import { printable, wrap } from '@updraft/base';
import type { Cli } from '../cli.ts';
import { examine, type DoctorFinding } from '../doctor/examine.ts';
import { nextCommands, textWidth } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  command.option('--json', 'print JSON').action(async ({ json = false }: { json?: boolean }) => {
    const findings = await examine(cli);
    if (json) {
      cli.out(`${JSON.stringify({ version: cli.version, findings })}\n`);
      return;
    }
    cli.out(doctorText(findings, textWidth(cli)));
    nextCommands(cli, [
      ['updraft check', 'find what would fail in your job'],
      findings.some(({ name, ok }) => name === 'HTCondor' && !ok) && [
        'updraft mini pool up',
        'start a real HTCondor on this machine',
      ],
      ['updraft demo', 'train CIFAR-10 here, end to end'],
    ]);
  });
}

export const doctorText = (findings: readonly DoctorFinding[], width: number): string =>
  findings.map((finding) => findingLines(finding, width)).join('');

function findingLines({ name, ok, said, fix }: DoctorFinding, width: number): string {
  const [first, rest] = [`${ok ? 'ok ' : '-  '} ${name.padEnd(10)} `, ' '.repeat(15)];
  return [
    ...wrap(printable(said), width, first, rest),
    ...(fix === undefined ? [] : wrap(printable(fix), width, rest, rest)),
  ]
    .map((line) => `${line}\n`)
    .join('');
}
