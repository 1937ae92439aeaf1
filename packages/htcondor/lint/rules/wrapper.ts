import { asFound, type Found, type Rule, type RuleResult, applyRules, rule } from '@updraft/base';
import path from 'node:path';
import {
  type Download,
  isCleanUp,
  mainCommand,
  runTimeDownload,
  type ShellCommand,
  shownCommand,
  type Wrapper,
  readWrapper,
} from '../shell-commands.ts';
import { wordsOf } from '../../submit/split-arguments.ts';
import {
  type Batch,
  type SubmitFacts,
  isUrl,
  fileList,
  perBatch,
  whereSet,
  valueOf,
} from '../../submit/submit-facts.ts';

/** Rules about the shell script that a job runs. */
export const wrapperRules: Rule<Wrapper>[] = [
  rule(
    'option-as-command',
    'error',
    'A line starts with an option: the line above lacks its backslash, so the shell runs the option as a command.',
    (wrapper) =>
      wrapper.commands
        .filter(isStrayOption)
        .map(({ words, line }) =>
          asFound(
            `the shell runs \`${words[0] ?? ''}\` as a command (exit 127): ` +
              'the line above does not end in a backslash',
            `end the line above with \` \\\`: ${(wrapper.lines[line - 2] ?? '').trim()} \\`,
            { file: wrapper.file, line },
          ),
        ),
  ),
  rule(
    'broken-continuation',
    'error',
    'Blanks follow the backslash at the end of a line, so it does not continue the line.',
    (wrapper) =>
      wrapper.lines.flatMap((text, index) =>
        /[^\\]\\[ \t]+$/.test(text) && !/^\s*#/.test(text)
          ? asFound(
              'blanks after the backslash: the line ends here, and the shell runs the next one as a separate command',
              'remove the blanks at the end of the line',
              { file: wrapper.file, line: index + 1 },
            )
          : [],
      ),
  ),
  rule(
    'windows-lines',
    'error',
    'The script has Windows line ends: the worker looks for an interpreter whose name ends in a carriage return.',
    (wrapper) =>
      wrapper.windowsLines
        ? asFound(
            'Windows line ends: the worker would look for an interpreter whose name ends in a carriage return',
            `sed -i 's/\\r$//' ${wrapper.file}`,
            { file: wrapper.file, line: 1 },
          )
        : [],
  ),
  rule('no-interpreter', 'error', 'The script has no `#!` line, so the worker cannot start it.', (wrapper) =>
    (wrapper.lines[0] ?? '').startsWith('#!')
      ? []
      : asFound(
          'no `#!` line: the worker cannot start the script (hold code 6, exec format error)',
          'make `#!/bin/bash` the first line',
          { file: wrapper.file, line: 1 },
        ),
  ),
  rule(
    'status-lost',
    'warning',
    "The script ends with another command's status, so a failed training counts as a success.",
    lostStatus,
  ),
  rule(
    'pipe-status-lost',
    'warning',
    "The training's output goes through a pipe, and the exit code is that of the pipe's last command.",
    (wrapper) => {
      const main = mainCommand(wrapper);
      if (wrapper.pipeFails || main?.before !== '|') return [];
      return asFound(
        "the exit code is that of the pipe's last command: a failed training counts as a success",
        'add `set -o pipefail` at the top of the script',
        { file: wrapper.file, line: main.line },
      );
    },
  ),
  rule(
    'no-stop-on-error',
    'warning',
    'The script continues after a failed command, such as one that unpacks the data.',
    (wrapper) => {
      const top = wrapper.commands.filter(({ nested, before }) => !nested && before !== '||');
      const main = mainCommand(wrapper);
      const prepares = top.some(
        (command) => command !== main && (main === undefined || command.line < main.line) && canFail(command),
      );
      return wrapper.stopsOnError || !prepares
        ? []
        : asFound(
            'no `set -e`: the training starts even if the data could not be unpacked or a module is missing',
            'add `set -euo pipefail` after the first line',
            { file: wrapper.file, line: 1 },
          );
    },
  ),
  rule(
    'run-time-download',
    'warning',
    'The script downloads software or data at run time, ' +
      'in every job, bypassing the caches and without a fixed version.',
    downloads,
  ),
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
  return asFound(
    `the script ends with \`${shown}\`, so it hides the exit code of line ${main.line} ` +
      `(\`${main.words.slice(0, 3).join(' ')}\`): HTCondor sees no failure and no checkpoint code`,
    'add `set -e` at the top, or `status=$?` right after the training and `exit $status` at the end',
    { file: wrapper.file, line: last.line },
  );
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
    return asFound(
      `\`${shownCommand(words)}\` downloads in every job: it fails on workers without network access`,
      insteadOf[what],
      { file: wrapper.file, line },
    );
  });
}

/** Rules that need both the submit file and the script. */
export const scriptRules: Rule<SubmitFacts>[] = [
  rule(
    'flat-path',
    'error',
    'A file arrives at the top of the scratch folder, but is used from a subfolder.',
    perBatch(flatPaths),
  ),
  rule(
    'checkpoint-unreachable',
    'error',
    "The script loses the training's exit code, so the checkpoint exit code never reaches HTCondor.",
    perBatch(unreachableCheckpoint),
  ),
];

const wrappers = new WeakMap<object, Wrapper | undefined>();

function wrapperOf({ wrapper }: SubmitFacts): Wrapper | undefined {
  if (wrapper === undefined) return undefined;
  if (!wrappers.has(wrapper)) wrappers.set(wrapper, readWrapper(wrapper.file, wrapper.text));
  return wrappers.get(wrapper);
}

function flatPaths(batch: Batch, facts: SubmitFacts): Found[] {
  const inputs = fileList(valueOf(batch, 'transfer_input_files'));
  if (/^true$/i.test(valueOf(batch, 'preserve_relative_paths') ?? '')) return [];
  const isFolder = (name: string): boolean =>
    facts.files.get(path.posix.join(batch.job.commands['initialdir'] ?? '.', name))?.kind === 'folder';
  const folders = new Set(
    inputs.filter((name) => !isUrl(name) && isFolder(name)).map((name) => path.posix.basename(name)),
  );
  const flat = new Set(
    inputs
      .filter((name) => isUrl(name) || !isFolder(name))
      .map((name) => path.posix.basename(name.replace(/\?.*$/, ''))),
  );
  const isSure =
    facts.limits.sharesNoFolder === true ||
    /^(yes|true|always)$/i.test(valueOf(batch, 'should_transfer_files') ?? '');
  return usesOf(batch, facts).flatMap(({ word, place }) => {
    const clean = path.posix.normalize(word);
    const [folder = '', ...rest] = clean.split('/');
    const base = rest.at(-1);
    if (base === undefined || folder === '..' || folder === '' || !flat.has(base) || folders.has(folder))
      return [];
    if (madeInScript(facts, folder)) return [];
    return {
      ...(isSure ? {} : { level: 'warning' as const }),
      message:
        `${word} is used from the folder ${folder}, but ${base} arrives at ` +
        'the top of the scratch folder: HTCondor does not keep ' +
        `paths${isSure ? '' : ', unless the worker shares the files of the access point'}`,
      fix: `name it ./${base}, or transfer the folder ${folder} itself, or write:\npreserve_relative_paths = true`,
      place,
    };
  });
}

/** Words of the script and of the arguments that look like a relative path with a folder. */
function usesOf(batch: Batch, facts: SubmitFacts): { word: string; place: { file: string; line: number } }[] {
  const isPath = (word: string): boolean => /^(\.\/)?[\w.-]+(\/[\w.-]+)+$/.test(word);
  const script = wrapperOf(facts);
  const inScript = script?.commands
    .filter(opensFiles)
    .flatMap(({ words, line }) =>
      words.filter(isPath).map((word) => ({ word, place: { file: script.file, line } })),
    );
  return [
    ...(inScript ?? []),
    ...wordsOf('arguments', valueOf(batch, 'arguments'))
      .filter((word, index) => isPath(word) && isPassedOn(script, index + 1))
      .map((word) => ({ word, place: whereSet(batch, 'arguments') })),
  ];
}

const opensFiles = ({ words }: ShellCommand): boolean =>
  !/^(echo|printf|test|\[\[?|mkdir|basename|dirname)$/.test(words[0] ?? '');

/** Whether an argument is surely used as it is: a script may also take its base name, or put a folder before it. */
function isPassedOn(script: Wrapper | undefined, position: number): boolean {
  if (script === undefined) return true;
  if (script.commands.some(({ words }) => words[0] === 'shift')) return false;
  const whole = new RegExp(String.raw`^"?\$(?:${position}|\{${position}\}|[@*])"?$`);
  return script.commands.some(
    (command) => !command.nested && opensFiles(command) && command.words.some((word) => whole.test(word)),
  );
}

/** The script makes the folder, or unpacks something that may. */
function madeInScript(facts: SubmitFacts, folder: string): boolean {
  return (wrapperOf(facts)?.commands ?? []).some(
    ({ words }) =>
      (/^(mkdir|mv|cp|git|ln)$/.test(words[0] ?? '') &&
        words.some((word) => path.posix.normalize(word).split('/')[0] === folder)) ||
      (/^(tar|unzip)$/.test(words[0] ?? '') && words.some((word) => word.includes(folder))),
  );
}

function unreachableCheckpoint(batch: Batch, facts: SubmitFacts): RuleResult {
  const code = valueOf(batch, 'checkpoint_exit_code');
  const script = wrapperOf(facts);
  if (code === undefined || script === undefined) return [];
  const losing = applyRules(wrapperRules, script).find(({ rule }) =>
    /^(status-lost|pipe-status-lost|option-as-command)$/.test(rule),
  );
  if (losing === undefined) return [];
  return asFound(
    `exit code ${code} never reaches HTCondor: ${losing.file} line ` +
      `${losing.line} exits with another, so no checkpoint is ever saved`,
    `make the script exit with the training's status: ${losing.fix}`,
    whereSet(batch, 'checkpoint_exit_code'),
  );
}
