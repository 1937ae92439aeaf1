import type { Found, Rule, RuleResult } from '@updraft/base';
import {
  type Download,
  isCleanUp,
  mainCommand,
  runTimeDownload,
  type ShellCommand,
  shownCommand,
  type Wrapper,
} from '../shell-commands.ts';

/** Rules about the shell script that a job runs. */
export const wrapperRules: Rule<Wrapper>[] = [
  {
    name: 'option-as-command',
    level: 'error',
    about:
      'A line starts with an option: the line above lacks its backslash, so the shell runs the option as a command.',
    check: (wrapper) =>
      wrapper.commands.filter(isStrayOption).map(({ words, line }) => ({
        message: `the shell runs \`${words[0] ?? ''}\` as a command (exit 127): the line above does not end in a backslash`,
        fix: `end the line above with \` \\\`: ${(wrapper.lines[line - 2] ?? '').trim()} \\`,
        place: { file: wrapper.file, line },
      })),
  },
  {
    name: 'broken-continuation',
    level: 'error',
    about: 'Blanks follow the backslash at the end of a line, so it does not continue the line.',
    check: (wrapper) =>
      wrapper.lines.flatMap((text, index) =>
        /[^\\]\\[ \t]+$/.test(text) && !/^\s*#/.test(text)
          ? {
              message:
                'blanks after the backslash: the line ends here, and the shell runs the next one as a separate command',
              fix: 'remove the blanks at the end of the line',
              place: { file: wrapper.file, line: index + 1 },
            }
          : [],
      ),
  },
  {
    name: 'windows-lines',
    level: 'error',
    about:
      'The script has Windows line ends: the worker looks for an interpreter whose name ends in a carriage return.',
    check: (wrapper) =>
      wrapper.windowsLines
        ? {
            message:
              'Windows line ends: the worker would look for an interpreter whose name ends in a carriage return',
            fix: `sed -i 's/\\r$//' ${wrapper.file}`,
            place: { file: wrapper.file, line: 1 },
          }
        : [],
  },
  {
    name: 'no-interpreter',
    level: 'error',
    about: 'The script has no `#!` line, so the worker cannot start it.',
    check: (wrapper) =>
      (wrapper.lines[0] ?? '').startsWith('#!')
        ? []
        : {
            message: 'no `#!` line: the worker cannot start the script (hold code 6, exec format error)',
            fix: 'make `#!/bin/bash` the first line',
            place: { file: wrapper.file, line: 1 },
          },
  },
  {
    name: 'status-lost',
    level: 'warning',
    about: "The script ends with another command's status, so a failed training counts as a success.",
    check: lostStatus,
  },
  {
    name: 'pipe-status-lost',
    level: 'warning',
    about: "The training's output goes through a pipe, and the exit code is that of the pipe's last command.",
    check: (wrapper) => {
      const main = mainCommand(wrapper);
      if (wrapper.pipeFails || main?.before !== '|') return [];
      return {
        message: "the exit code is that of the pipe's last command: a failed training counts as a success",
        fix: 'add `set -o pipefail` at the top of the script',
        place: { file: wrapper.file, line: main.line },
      };
    },
  },
  {
    name: 'no-stop-on-error',
    level: 'warning',
    about: 'The script continues after a failed command, such as one that unpacks the data.',
    check: (wrapper) => {
      const top = wrapper.commands.filter(({ nested, before }) => !nested && before !== '||');
      const main = mainCommand(wrapper);
      const prepares = top.some(
        (command) => command !== main && (main === undefined || command.line < main.line) && canFail(command),
      );
      return wrapper.stopsOnError || !prepares
        ? []
        : {
            message:
              'no `set -e`: the training starts even if the data could not be unpacked or a module is missing',
            fix: 'add `set -euo pipefail` after the first line',
            place: { file: wrapper.file, line: 1 },
          };
    },
  },
  {
    name: 'run-time-download',
    level: 'warning',
    about:
      'The script downloads software or data at run time, in every job, bypassing the caches and without a fixed version.',
    check: downloads,
  },
];

const isStrayOption = ({ words }: ShellCommand): boolean => /^--?[A-Za-z][\w-]*(=.*)?$/s.test(words[0] ?? '');

const canFail = ({ words }: ShellCommand): boolean =>
  /^(tar|unzip|gunzip|xz|wget|curl|pip3?|conda|cp|mv|source|\.|python[\d.]*|module|apptainer|git|cd)$/.test(
    words[0] ?? '',
  );

function lostStatus(wrapper: Wrapper): RuleResult {
  const top = wrapper.commands.filter(({ nested }) => !nested);
  const main = mainCommand(wrapper);
  const last = top.at(-1);
  if (main === undefined || last === undefined || last === main || wrapper.stopsOnError) return [];
  const words = last.words.join(' ');
  const after = top.slice(top.indexOf(main) + 1);
  // `cmd; status=$?; clean; exit $status` and `cmd || exit 1` keep it; `exit $?` keeps only that of the line before.
  if (main.before === '||' || /^exit ("?\$\{?[A-Za-z_]\w*\}?"?)$/.test(words)) return [];
  if (words === 'exit $?' && (after.length === 1 || after.some(isStrayOption))) return [];
  const isLost = words === 'exit 0' || words === 'exit' || isCleanUp(last) || words === 'exit $?';
  if (!isLost) return [];
  const shown = words.length > 40 ? `${words.slice(0, 40)}…` : words;
  return {
    message: `the script ends with \`${shown}\`, so it hides the exit code of line ${main.line} (\`${main.words.slice(0, 3).join(' ')}\`): HTCondor sees no failure and no checkpoint code`,
    fix: 'add `set -e` at the top, or `status=$?` right after the training and `exit $status` at the end',
    place: { file: wrapper.file, line: last.line },
  };
}

const inImage = 'put the packages into the image or a packed environment';
const insteadOf: Record<Download, string> = {
  packages: inImage,
  environment: 'send a packed environment (pixi-pack), or use an image',
  'system packages': 'put the packages into the image',
  files:
    'list it in transfer_input_files; if it is large, put it into the federation and use an osdf:/// URL',
  code: 'send the files with transfer_input_files',
  model: 'put the model into the federation and list it in transfer_input_files',
};

function downloads(wrapper: Wrapper): Found[] {
  return wrapper.commands.flatMap(({ words, line }) => {
    const what = runTimeDownload(words);
    if (what === undefined) return [];
    return {
      message: `\`${shownCommand(words)}\` downloads in every job: it fails on workers without network access`,
      fix: insteadOf[what],
      place: { file: wrapper.file, line },
    };
  });
}
