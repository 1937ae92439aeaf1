import path from 'node:path';
import { lintWrapper } from '@updraft/htcondor/lint';
import { type JobCode, mentions } from '../code/read-code.ts';
import { type CodeFacts, type PlanFacts, durationClasses } from '../facts.ts';
import { asFound, type Finding, formatDuration, type Rule, type RuleResult, rule } from '@updraft/base';

/** Losing a longer attempt is expensive. */
const longSeconds = 2 * 3600;

export const durationRule: Rule<PlanFacts> = {
  name: 'duration',
  level: 'error',
  about: 'The job may take longer than the longest class of the pool allows: it is held with code 46 or 47.',
  check: tooLong,
};

/** Rules about running time and checkpoints. */
export const timeRules: Rule<PlanFacts & CodeFacts>[] = [
  durationRule,
  rule(
    'no-time',
    'warning',
    'The pool limits the running time by class, and without `time` in the job file the shortest class applies.',
    ({ plan, limits, where }) => {
      const { gpus, timeSeconds } = plan.spec.resources;
      const [first, ...longer] = durationClasses(limits ?? { durations: [] }, gpus);
      if (first === undefined || timeSeconds !== undefined) return [];
      const others = longer.map(({ name, seconds }) => `"${name}" up to ${formatDuration(seconds)}`);
      return asFound(
        `no \`time\`: ${limits?.title ?? ''} uses the class "${first.name}", for jobs up to ` +
          `${formatDuration(first.seconds)}${others.length === 0 ? '' : ` (there is also ${others.join(', ')})`}`,
        'set time = "…" in [resources] to what an attempt needs, with a margin',
        where('resources', 'time'),
      );
    },
  ),
  rule(
    'no-checkpoint',
    'warning',
    'A long job keeps no checkpoint: after every eviction it starts from the beginning.',
    ({ plan, where }) => {
      const { timeSeconds = 0 } = plan.spec.resources;
      if (plan.spec.train.checkpoint !== undefined || timeSeconds <= longSeconds) return [];
      return asFound(
        `an attempt may take ${formatDuration(timeSeconds)} without ` +
          '`checkpoint`: each eviction or time limit loses all of it',
        'set checkpoint = "checkpoints" in [train], save into that folder and resume from it',
        where('train', 'checkpoint'),
      );
    },
  ),
  rule(
    'checkpoint-unused',
    'warning',
    'No command or file that is sent mentions the checkpoint folder, so nothing seems to be saved in it.',
    unusedCheckpoint,
  ),
];

function tooLong({ plan, limits, where }: PlanFacts): RuleResult {
  const { timeSeconds, gpus } = plan.spec.resources;
  const longest = durationClasses(limits ?? {}, gpus).at(-1);
  if (longest === undefined || timeSeconds === undefined || timeSeconds <= longest.seconds) return [];
  const kept = plan.spec.train.checkpoint === undefined ? 'set `checkpoint` in [train] and ' : 'set ';
  return asFound(
    `time = "${formatDuration(timeSeconds)}" is longer than the limit ` +
      `of ${formatDuration(longest.seconds)} on ${limits?.title ?? ''}`,
    `${kept}time = "${formatDuration(longest.seconds)}" or less: the next attempt resumes from the checkpoint`,
    where('resources', 'time'),
  );
}

function unusedCheckpoint({ plan, code, where }: PlanFacts & CodeFacts): RuleResult {
  const { checkpoint } = plan.spec.train;
  if (checkpoint === undefined || !code.isKnown) return [];
  if ([checkpoint, 'UPDRAFT_CHECKPOINT', 'updraft.training'].some((word) => mentions(code, word))) return [];
  return asFound(
    `neither the command nor the ${code.files.length === 1 ? 'file' : `${code.files.length} files`} ` +
      `it runs mention the folder "${checkpoint}": nothing would be saved`,
    'wrap the loop in `updraft.training`, or save into it (its path ' +
      'is also in UPDRAFT_CHECKPOINT) and resume from it at the start',
    where('train', 'checkpoint'),
  );
}

/** Rules about what a job must leave behind. */
export const resultRules: Rule<PlanFacts & CodeFacts>[] = [
  rule(
    'output-sent',
    'warning',
    'An output is sent with the job, so a training that writes nothing has it, too.',
    ({ plan, where }) =>
      plan.spec.train.outputs
        .filter((output) => plan.files.some(({ path: file }) => `${file}/`.startsWith(`${output}/`)))
        .map((output) =>
          asFound(
            `the output "${output}" is also sent by \`files\`: its old content may come back as a result`,
            `let the training write to a name of its own, or leave ${output} out of \`files\``,
            where('train', 'outputs'),
          ),
        ),
  ),
  rule(
    'search-metric',
    'warning',
    'Nothing that is sent mentions the metric of the search, so nothing seems to print it.',
    ({ plan, code, where }) => {
      const { metric } = plan.spec.search ?? {};
      const words = ['updraft', ...(metric ?? '').split(/[_/]/)];
      const isSaid = code.texts.some((text) => words.some((word) => text.toLowerCase().includes(word)));
      return metric === undefined || !code.isKnown || isSaid
        ? []
        : asFound(
            `nothing that is sent mentions ${metric}; what libraries print is not known here`,
            `print(f'epoch {epoch} ${metric} {value}') at the end of each epoch, or use \`run.log(${metric}=…)\``,
            where('search', 'metric'),
          );
    },
  ),
  rule(
    'output-unwritten',
    'warning',
    'Nothing that is sent mentions the whole name of a declared output, so nothing seems to write it.',
    ({ plan, code, where }) => {
      if (!code.isKnown || plan.spec.train.outputs.includes('CHANGE-ME')) return [];
      return plan.spec.train.outputs.flatMap((output) => {
        const similar = similarSaves(output, code);
        if (mayWrite(output, code, similar.length > 0)) return [];
        const saves = similar.length > 0 ? similar : savesIn(code);
        return asFound(
          `nothing seems to write the output "${output}", ` +
            `and every job would fail without it${describeSaves(saves)}`,
          'declare what the training ' +
            `writes${saves[0] === undefined ? ', by its path in the work folder' : `, such as "${saves[0].name}"`}, ` +
            `or let it write "${output}"`,
          where('train', 'outputs'),
        );
      });
    },
  ),
];

interface Saved {
  name: string;
  file: string;
  line: number;
}

/** What the Python files write, where the whole name is known. */
const savesIn = ({ files }: JobCode): Saved[] =>
  files.flatMap((file) =>
    file.kind !== 'python'
      ? []
      : file.script.saves
          .filter(({ name }) => !name.includes('*') && !name.startsWith('/'))
          .map(({ name, line }) => ({ name, line, file: file.file })),
  );

/** Files with the same stem but another extension. */
function similarSaves(output: string, code: JobCode): Saved[] {
  const { stem, extension } = partsOf(output);
  return savesIn(code).filter((save) => {
    const other = partsOf(save.name);
    return extension !== '' && other.stem === stem && other.extension !== extension;
  });
}

const describeSaves = (saves: readonly Saved[]): string =>
  saves.length === 0
    ? ''
    : `; ${saves
        .slice(0, 3)
        .map(({ file, line, name }) => `${file}:${line} writes "${name}"`)
        .join(', ')}`;

function partsOf(name: string): { base: string; stem: string; extension: string } {
  const base = path.posix.basename(name.replace(/\/+$/, ''));
  const extension = path.posix.extname(base);
  return { base, extension, stem: base.slice(0, base.length - extension.length) };
}

/** Whether the code mentions the output, or puts its name together. */
function mayWrite(output: string, code: JobCode, isSimilar: boolean): boolean {
  const { base, stem, extension } = partsOf(output);
  const says = (pattern: string): boolean => code.texts.some((text) => new RegExp(pattern).test(text));
  if (says(`${escape(base)}(?!\\w)`) || isSaved(output, code)) return true;
  const pieces = base.split(/\{[^{}]*\}/);
  if (pieces.length > 1) return pieces.some((piece) => piece.length > 2 && mentions(code, piece));
  // `f"{name}.json"`, `stem + ".json"`, `"%s.json" % name`
  if (extension !== '' && says(`["'}]${escape(extension)}\\b|%\\w+${escape(extension)}\\b`)) return true;
  if (isSimilar) return false;
  const above = output.split('/').slice(0, -1);
  const isWord = code.commands.some(({ words }) => words.some((word) => word.split(/[=/]/).includes(stem)));
  return (
    isWord ||
    says(`["'/]${escape(stem)}["'/]`) ||
    above.some((folder) => folder.length > 1 && says(`(?<![\\w.])${escape(folder)}(?![\\w.(])`))
  );
}

/** Whether a file writes it by a name of which a part is not known, or writes the folder around it. */
function isSaved(output: string, { files }: JobCode): boolean {
  return files.some(
    (file) =>
      file.kind === 'python' &&
      file.script.saves.some(({ name, isFolder }) => {
        const pattern = name.replace(/^\.\//, '').replace(/\/$/, '');
        const whole = pattern.split('*').map(escape).join('.*');
        return new RegExp(`^(?:.*/)?${whole}${isFolder ? '(?:/|$)' : '$'}`).test(output);
      }),
  );
}

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** `no-interpreter` does not matter here, since the shell starts the scripts; downloads have their own rule. */
const reportedElsewhere = new Set(['no-interpreter', 'run-time-download']);

/** Findings of `adopt`'s lint in the shell scripts that the job runs. */
export function scriptFindings({ code }: CodeFacts): Finding[] {
  return code.files
    .filter(({ kind }) => kind === 'shell')
    .flatMap(({ file, text }) => lintWrapper(file, text))
    .filter(({ rule }) => !reportedElsewhere.has(rule));
}
