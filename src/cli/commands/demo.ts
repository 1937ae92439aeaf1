import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { demo } from '../demo/demo.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .addHelpText(
      'after',
      `
Makes a folder updraft-demo here with a job file, scripts and data, publishes the data behind a token in a
federation on this machine, and runs the job. On Debian as root it installs PyTorch when it is missing.

Exit codes: 0 trained, 1 no valid result, 5 interrupted, 115 PyTorch is missing and cannot be installed.`,
    )
    .action(() => demo(cli));
}
