import type { Command } from 'commander';
import { printable } from '@updraft/base';
import type { Fact } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { examine, type DoctorFinding } from '../doctor/examine.ts';
import { type NextCommand, printPage } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, {
    examples: [
      ['updraft doctor', 'agent, PyTorch, HTCondor, OSDF, token …'],
      ['updraft doctor --json', 'the same for a program'],
    ],
  });
  command.option('--json', 'print JSON').action(async ({ json = false }: { json?: boolean }) => {
    const findings = await examine(cli);
    const page = [{ facts: doctorFacts(findings), indent: '' }] as const;
    const next: NextCommand[] = [
      ['updraft check', 'find what would fail in your job'],
      findings.some(({ name, ok }) => name === 'HTCondor' && !ok) && [
        'updraft mini pool up',
        'start a real HTCondor on this machine',
      ],
      ['updraft demo', 'train CIFAR-10 here, end to end'],
    ];
    printPage(cli, page, next, json && { version: cli.version, findings });
  });
}

/** What each probe found, and how to fix it. */
const doctorFacts = (findings: readonly DoctorFinding[]): Fact[] =>
  findings.map(({ name, ok, said, fix }) => [
    `${ok ? 'ok ' : '-  '} ${name}`,
    printable(said),
    ...(fix === undefined ? [] : [printable(fix)]),
  ]);
