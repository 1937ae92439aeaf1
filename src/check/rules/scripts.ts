import path from 'node:path';
import {
  asFound,
  anyOf,
  counted,
  type Found,
  levelIf,
  nearest,
  type Rule,
  rule,
  type SourceLine,
} from '@updraft/base';
import {
  programsOf,
  machinePaths,
  type MachinePath,
  mentions,
  type NamedFile,
  type RunCommand,
} from '../code/read-code.ts';
import type { CodeFacts, HereFacts, PlanFacts } from '../facts.ts';
import { parameterVariable } from '../../job/expand.ts';
import { processesOf } from '../../job/job.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { parametersOf } from '../../job/matrix.ts';

/** Rules about the scripts that a job sends and runs. */
export const scriptFileRules: Rule<PlanFacts & CodeFacts & HereFacts>[] = [
  rule(
    'python-syntax',
    'error',
    "Python cannot parse a file that the job runs or imports; a warning where the job's may be newer, or Python 2.",
    syntaxErrors,
  ),
  rule(
    'not-executable',
    'error',
    'A script is run by its name, but the shell cannot start it.',
    notExecutable,
  ),
  rule(
    'file-not-sent',
    'error',
    'The job runs or imports, a warning if its command names, a file beside the job file that is not in train.files.',
    notSent,
  ),
  rule(
    'script-missing',
    'error',
    'A command runs a script that is neither sent nor beside the job file.',
    missingScripts,
  ),
  rule(
    'processes',
    'warning',
    'The processes of a training do not fit its GPUs or cores, or its command starts processes of its own.',
    misfitOfProcesses,
  ),
];

const launcher =
  /\b(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate launch|deepspeed|(?:mp|multiprocessing)\.spawn\b)/;
/** What uses several GPUs from one process, or starts the others itself. */
const usesSeveral = /\bDataParallel\(|\bdevice_map\b|\bpipeline\.? ?parallel\b|\bdevices\s*=|\bcuda:1\b/;

function misfitOfProcesses({ plan, code, where }: PlanFacts & CodeFacts): Found[] {
  const { train, resources } = plan.spec;
  const { cpus, gpus } = resources;
  const asked = processesOf(train, resources);
  const launched = code.commands.flatMap(({ words }) =>
    Number(
      /--(?:nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus)[= ](\d+)/.exec(words.join(' '))?.[1] ?? 1,
    ),
  );
  const count = Math.max(asked, ...launched);
  const found = code.texts.map((text) => launcher.exec(text)?.[0]).find((name) => name !== undefined);
  const say = (message: string, fix: string): Found[] => [
    asFound(message, fix, where('train', train.processes === undefined ? 'command' : 'processes')),
  ];
  if (asked > 1 && found !== undefined)
    return say(
      `\`${found}\` starts processes of its own, in each of the ${asked} that the agent starts`,
      'let the command start the script itself (python3 train.py), or remove `processes`',
    );
  if (train.processes === 'gpus' && gpus === 0)
    return say(
      'no GPU is requested: there will be one process',
      'write gpus = 2 in [resources], or a number',
    );
  if (gpus > 0 && count > gpus)
    return say(
      `${count} processes share ${counted(gpus, 'GPU')}`,
      asked > 1 ? 'write processes = "gpus"' : `write gpus = ${count} in [resources], or start ${gpus}`,
    );
  if (count > cpus)
    return say(
      `${count} processes share ${counted(cpus, 'core')}`,
      `write cpus = ${count} in [resources], or more`,
    );
  if (gpus < 2 || count > 1 || found !== undefined || code.texts.some((text) => usesSeveral.test(text)))
    return [];
  return say(
    `the training has ${gpus} GPUs and one process, and most scripts use one GPU`,
    'if the script uses torch.distributed, write processes = "gpus" in [train]; if not, gpus = 1',
  );
}

/** Commands before a script that neither make files nor change the folder. */
const makesNoFiles = new RegExp(
  `^(?:${anyOf(String.raw`
    python[\d.]* torchrun (?:ba|da|k|z)?sh export set echo printf date hostname pwd ls mkdir nvidia-smi
    module ulimit sleep true test
  `)})$`,
);

function missingScripts({
  plan,
  code,
  here: { unsent = [], existing },
}: PlanFacts & CodeFacts & HereFacts): Found[] {
  const sent = plan.files.map((file) => file.path);
  const known = [...sent, ...unsent.map(({ file }) => file)];
  const made = [...plan.data.map(({ into }) => into), ...plan.spec.train.outputs];
  const own = code.commands.filter(({ place }) => code.files.every(({ file }) => file !== place.file));
  return scriptsRun(own).flatMap(({ script, place }) => {
    if (known.includes(script)) return [];
    // A path of an image or of a shared disk is not known here.
    const isSent = sent.includes(path.posix.basename(script));
    if (script.startsWith('/') && (mayHave(plan) || !isSent || existing.has(script))) return [];
    if (made.some((one) => one === '.' || `${script}/`.startsWith(`${one}/`))) return [];
    const close = isSent ? path.posix.basename(script) : nearest(script, sent);
    return [
      asFound(
        `the command runs ${script}, which is neither in train.files nor here`,
        close === undefined ? 'put it here, and name it in train.files' : `write ${close} in the command`,
        place,
      ),
    ];
  });
}

/** The scripts that commands run before one of them may make files; also for submit files. */
export function scriptsRun(commands: readonly RunCommand[]): { script: string; place: SourceLine }[] {
  const end = commands.findIndex(({ words }) => !programsOf(words).every((name) => makesNoFiles.test(name)));
  return commands.slice(0, end < 0 ? undefined : end).flatMap(({ words, before, place }) => {
    const script = before === '||' ? undefined : scriptOf(words);
    return script === undefined || script.startsWith('..') ? [] : { script, place };
  });
}

/** The file that `python3 -u train.py …` or `bash run.sh` runs. */
function scriptOf(words: readonly string[]): string | undefined {
  const program = programsOf(words).at(-1) ?? '';
  const rest = words.slice(words.indexOf(program) + 1);
  const at = rest.findIndex((word) => !word.startsWith('-'));
  const script = rest[at] ?? '';
  const isRun = rest.slice(0, Math.max(0, at)).every((option) => !/^-\w*[mc]$/.test(option));
  return isRun && /^[\w./][\w./-]*\.(?:py|sh)$/.test(script) ? path.posix.normalize(script) : undefined;
}

/** An image may contain the user's own scripts and modules. */
const mayHave = ({ spec: { environment }, environment: packed }: PlanFacts['plan']): boolean =>
  environment.image !== undefined || environment.pixi !== undefined || packed?.pack !== undefined;

function notSent({ plan, here: { unsent = [] } }: PlanFacts & HereFacts): Found[] {
  const isCertain = ({ use }: NamedFile): boolean => use === 'runs' || (use === 'imports' && !mayHave(plan));
  return unsent.map((one) => {
    const others = unsent.filter((other) => isCertain(other) === isCertain(one)).map(({ file }) => file);
    const files = [...new Set([...plan.spec.train.files, ...others])];
    return {
      level: levelIf(isCertain(one)),
      message: `${one.file} is here, but not in train.files: the job will not find it`,
      fix:
        `${isCertain(one) ? '' : 'if the job reads it, '}send it: ` +
        `files = [${files.map((file) => JSON.stringify(file)).join(', ')}] in [train]`,
      place: one.place,
    };
  });
}

/** Also for submit files. */
export function syntaxErrors({ here: { syntax } }: HereFacts): Found[] {
  return syntax.map(({ file, line, said, excerpt, python, isCertain }) => ({
    level: levelIf(isCertain),
    message: `${said}, says Python ${python}`,
    fix: isCertain ? 'correct that line' : 'correct that line, unless the job has another Python',
    place: { file, line },
    excerpt,
  }));
}

function notExecutable({ plan, code, here }: PlanFacts & CodeFacts & HereFacts): Found[] {
  const sent = new Set(plan.files.map((file) => file.path));
  const seen = new Set<string>();
  return code.commands.flatMap(({ words, place }) =>
    programsOf(words).flatMap((word) => {
      const file = path.posix.normalize(word);
      if (!sent.has(file) || seen.has(file)) return [];
      seen.add(file);
      const own = code.files.find((one) => one.file === file);
      const isPython = own?.kind === 'python' || file.endsWith('.py');
      const how = `write \`${isPython ? 'python3' : 'bash'} ${file}\``;
      if (!word.includes('/'))
        return [
          asFound(
            `\`${word}\` is sent, but the shell looks for commands without a "/" on the PATH only`,
            `${how}, or \`./${word}\` if it is executable`,
            place,
          ),
        ];
      if (here.notExecutable.has(file))
        return [
          asFound(
            `${file} is not executable and has no \`#!\` line: ` +
              'the shell answers "Permission denied" (exit code 126)',
            `add a \`#!\` line, run \`chmod +x ${file}\`, or ${how} in the command`,
            place,
          ),
        ];
      if (isPython && own?.text.startsWith('#!') !== true)
        return [
          asFound(
            `${file} has no \`#!\` line, so the shell would read this Python as its own commands`,
            `make \`#!/usr/bin/env python3\` its first line, or ${how} in the command`,
            { file, line: 1 },
          ),
        ];
      return [];
    }),
  );
}

type PathFacts = PlanFacts & CodeFacts & HereFacts;

/** Rules about paths of this machine, which workers do not have. */
export const localPathRules: Rule<PathFacts>[] = [
  rule(
    'local-path',
    'error',
    'The job names a path that its worker does not have, or hardly has: a warning, also in a line that may never run.',
    localPaths,
  ),
];

function localPaths({ plan, code, where, here }: PathFacts): Found[] {
  const traits = poolTraits[plan.spec.run.pool];
  const env = Object.entries(plan.spec.train.env).map(([name, value]) => ({
    value,
    place: where('train', 'env', name),
  }));
  const hasImage = plan.spec.environment.image !== undefined;
  const isHere = traits.runsHere || traits.sharesFolder;
  return isHere ? [] : findLocalPaths(machinePaths(code, { env, folder: plan.folder }), here, hasImage);
}

const readFix =
  'send it with train.files, or make it a [data] table, and name it by its path in the work folder';
const writtenFix = 'write to a path in the work folder, and declare it in train.outputs';

/** Also for submit files. */
export function findLocalPaths(
  paths: readonly MachinePath[],
  { existing }: HereFacts['here'],
  hasImage: boolean,
): Found[] {
  return paths.flatMap((one) => {
    const { text, place, by, isWritten = false } = one;
    const isThere = existing.has(text);
    const isHome = /^(?:~|\$\{?HOME\}?|\/home|\/Users|\/root)\//.test(text) && !hasImage;
    if (!isThere && !isHome && (by !== 'default' || hasImage)) return [];
    // A folder like /data may exist on workers, too; code may be in a branch that never runs.
    const isTop = /^\/[^/]+\/?$/.test(text);
    const whose = isThere
      ? 'is a path of this machine'
      : isHome
        ? 'is in a home folder'
        : 'is a path of another machine';
    const how = by === 'default' ? ', the default of an argument that the command does not pass,' : '';
    return [
      {
        level: levelIf(isThere ? !isTop : isHome && by !== 'code'),
        message: `\`${text}\`${how} ${whose}: workers do not have it`,
        fix: isWritten ? writtenFix : readFix,
        place,
      },
    ];
  });
}

/** Rules about the parameters of a sweep. */
export const parameterRules: Rule<PlanFacts & CodeFacts>[] = [
  rule(
    'matrix-unused',
    'warning',
    'Nothing uses a parameter of the matrix, so its jobs are identical.',
    unusedParameters,
  ),
];

function unusedParameters({ plan, code, where }: PlanFacts & CodeFacts): Found[] {
  const { command, check = '', outputs, env } = plan.spec.train;
  const templates = [command, check, ...outputs, ...Object.values(env)];
  // A program may put the variable's name together itself.
  if (code.texts.some((text) => /UPDRAFT_PARAM_(?![A-Z0-9])/.test(text))) return [];
  const isUsed = (name: string): boolean =>
    plan.variedBy?.includes(name) === true ||
    templates.some((text) => text.includes(`{${name}}`)) ||
    mentions(code, parameterVariable(name));
  const { search, run } = plan.spec;
  const all =
    search === undefined
      ? Object.entries(run.matrix)
          .filter(([, values]) => values.length > 1)
          .map(([group, values]) => [parametersOf(group, values), where('run', 'matrix', group)] as const)
      : Object.keys(search.ranges).map((name) => [[name], where('search', 'ranges', name)] as const);
  return all
    .filter(([names]) => !names.some(isUsed))
    .map(([[name = '', ...others], place]) =>
      asFound(
        'neither the command nor the files sent use the parameter ' +
          `${[name, ...others].map((one) => `"${one}"`).join(' or ')}: jobs that differ in nothing else are identical`,
        `pass it in the command, as in \`${name.includes('.') ? `${name}=` : `--${name} `}{${name}}\`, ` +
          `or read $${parameterVariable(name)}`,
        place,
      ),
    );
}
