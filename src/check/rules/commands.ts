import path from 'node:path';
import { asFound, type Found, nearest, type Rule, rule } from '@updraft/base';
import type { ScriptArg } from '../../script/script-args.ts';
import { programsOf } from '../code/read-code.ts';
import type { CodeFacts, PlanFacts } from '../facts.ts';

type CommandFacts = PlanFacts & CodeFacts;
type Said = readonly [message: string, fix: string];

/** A rule about the command as a whole. */
const ofCommand = (
  name: string,
  level: 'error' | 'warning',
  about: string,
  check: (facts: CommandFacts) => readonly Said[],
): Rule<CommandFacts> => ({
  name,
  level,
  about,
  check: (facts): Found[] =>
    check(facts).map(([message, fix]) => asFound(message, fix, facts.where('train', 'command'))),
});

/** Rules about the command of a job: what is written in it, and what its script takes. */
export const commandRules: Rule<CommandFacts>[] = [
  rule('placeholder', 'error', 'A place that `init` left open is not filled in.', ({ plan, where }) =>
    [
      [plan.spec.train.command, 'train', 'command'],
      [plan.spec.train.outputs.join(', '), 'train', 'outputs'],
      ...plan.data.map(({ name, url }) => [url, 'data', name, 'url']),
    ].flatMap(([text = '', ...key]) =>
      /CHANGE-ME|FILL IN/.test(text)
        ? asFound(`\`${text}\` is not filled in`, 'write what it stands for', where(...key))
        : [],
    ),
  ),
  ofCommand(
    'unknown-argument',
    'error',
    'The command has an argument that the script does not take, or one without its value or with a wrong one.',
    unknownArguments,
  ),
  ofCommand(
    'activate',
    'error',
    'The command activates a virtual environment, which does not travel with the job.',
    ({ code: { commands } }) =>
      commands
        .filter(
          ({ words: [word = '', file = ''] }, index) =>
            /activate$/.test(file) &&
            (/^(source|\.)$/.test(word) || (/^(conda|m\w*mamba)$/.test(word) && index === 0)),
        )
        .map(({ words }) => [
          `\`${words.join(' ')}\` needs a virtual environment, which does not travel with the job`,
          'remove it: `updraft env make requirements.txt` makes an environment that does',
        ]),
  ),
  ofCommand(
    'background',
    'error',
    'The command goes on in the background, so the job ends at once.',
    ({ plan }) =>
      /[^&|>]&\s*$/.test(plan.spec.train.command)
        ? [['`&` leaves the training in the background: the job ends at once', 'remove the `&`']]
        : [],
  ),
  ofCommand('notebook', 'error', 'The command runs a notebook as a script.', ({ code: { commands } }) =>
    commands
      .filter(({ words }) => /^python/.test(words[0] ?? ''))
      .flatMap(({ words }) => words.filter((word) => word.endsWith('.ipynb')))
      .map((file) => [
        `${file} is a notebook, which Python cannot run`,
        `convert it with \`jupyter nbconvert --to script ${file}\`, and name the script`,
      ]),
  ),
  ofCommand(
    'own-module',
    'error',
    'A file of the job has the name of a module that its script imports from a package.',
    ({ plan, code }) => {
      const beside = new Set(
        code.commands.flatMap(({ words }) => words).map((word) => path.posix.dirname(word)),
      );
      return plan.files
        .filter(
          ({ path: file }) =>
            packages.test(path.posix.basename(file)) && beside.has(path.posix.dirname(file)),
        )
        .map(({ path: file }) => [`${file} hides the package of the same name`, 'give it another name']);
    },
  ),
  ofCommand(
    'same-seed',
    'warning',
    'Several jobs have one seed, so they compute the same.',
    ({ plan: { jobs, spec } }) => {
      const [seed, flag = ''] =
        /(--?(?:manual[-_]?)?seed[= ])(?:\d+|index|job)\b/i.exec(spec.train.command) ?? [];
      return seed === undefined || jobs.length < 2 || Object.keys(spec.run.matrix).length > 0
        ? []
        : [[`${jobs.length} jobs have \`${seed}\` and compute the same`, `write \`${flag}{index}\``]];
    },
  ),
  ofCommand(
    'unset-variable',
    'warning',
    'The command uses a variable of the shell that nothing in the job file sets, or in single quotes.',
    ({ plan, code }) => {
      const { command, env, secrets } = plan.spec.train;
      const quoted = command.match(/'\$\{?[A-Za-z_]\w*\}?'/g) ?? [];
      if (quoted.length > 0)
        return quoted.map((word) => [
          `the shell leaves ${word} as it is: single quotes keep its value out`,
          `write "${word.slice(1, -1)}" in double quotes`,
        ]);
      if (code.commands.some(({ words: [word = ''] }) => /^(source|\.|eval|read)$/.test(word))) return [];
      const isSet = (name: string): boolean =>
        name in { ...env, ...secrets } || inJobs.test(name) || new RegExp(`\\b${name}(=| in )`).test(command);
      const plain = command.replaceAll(/'[^']*'|\\./g, '').replaceAll(/\$\{(\w+)\}/g, '$$$1 ');
      return [...new Set(plain.match(/(?<=\$)[A-Za-z_]\w*/g))]
        .filter((name) => !isSet(name))
        .map((name) => [
          `nothing in the job file sets \`$${name}\``,
          `write env.${name} = "…" in [train], or {${name.toLowerCase()}} for a parameter of [run.matrix]`,
        ]);
    },
  ),
  ofCommand(
    'key-file',
    'warning',
    'A file that holds a key, or usually does, is sent with the job.',
    ({ plan, code }) =>
      plan.files
        .filter(
          ({ path: file }) =>
            /(^|\/)(\.env|\.netrc|id_\w+|.*\.pem)$/.test(file) ||
            code.files.some((one) => one.file === file && keys.test(one.text)),
        )
        .map(({ path: file }) => [
          `${file} is sent with every job, and may hold keys`,
          'leave them out of `files`, and name what the job needs in [train.secrets]',
        ]),
  ),
  ofCommand(
    'chosen-gpu',
    'warning',
    'The job chooses its GPU by number, which may be that of another job.',
    (facts) =>
      facts.plan.spec.resources.gpus > 0 && facts.code.texts.some((text) => choosesGpu.test(text))
        ? [
            [
              'CUDA_VISIBLE_DEVICES is set by the job: its GPU may then be that of another',
              'remove it: it is set already',
            ],
          ]
        : [],
  ),
  ofCommand(
    'no-gpu',
    'warning',
    'The script uses a GPU in any case, and none is requested.',
    ({ plan, code: { files } }) =>
      plan.spec.resources.gpus > 0 || files.some(({ text }) => /is_available|device_count/.test(text))
        ? []
        : files.flatMap((file): Said[] =>
            file.kind === 'python' && /\.cuda\(\)/.test(file.text) && file.script.cuda !== undefined
              ? [
                  [
                    `${file.file}:${file.script.cuda.line} uses a GPU, and none is requested`,
                    'write `gpus = 1`',
                  ],
                ]
              : [],
          ),
  ),
];

/** Tokens of Hugging Face, OpenAI, GitHub, AWS and Weights & Biases. */
const keys = /\b(?:hf_|sk-|ghp_|github_pat_)[\w-]{20}|\bAKIA[0-9A-Z]{16}\b|key=["'][0-9a-f]{40}["']/;
const choosesGpu = /^[^#\n]*\bCUDA_VISIBLE_DEVICES["']?\]?\s*=\s*["']?\d/m;

/** Variables that machines, schedulers and Updraft set. */
const inJobs =
  /^(HOME|USER|TMPDIR|HOSTNAME|SHELL|RANK|[A-Z_]*P(ATH|WD)|(UPDRAFT|SLURM|OSG|OMP|CUDA|MASTER|WORLD|_CONDOR)_\w+)$/;

/** What every training imports; many have a `datasets.py` of their own, and mean it. */
const packages = /^(torch|torchvision|numpy|random|typing|logging)\.py$/;

/** Parsers that take arguments that no `add_argument` names. */
const otherParser = new RegExp(
  'parse_known_args|HfArgumentParser|ArgumentParser\\([^)]*parents|set_defaults|argparse_args|configargparse|' +
    'jsonargparse|LightningCLI|absl|fire\\b|hydra|typer|tyro|sys\\.argv|DEFINE_|optparse|fromfile_prefix|' +
    'deepspeed|click',
);

function unknownArguments({ code: { commands, files } }: CommandFacts): Said[] {
  const scripts = files.flatMap((file) => (file.kind === 'python' ? [file] : []));
  const args = scripts.flatMap(({ script }) => script.args);
  const isOpen = args.some(
    ({ by, flag, command }) => by !== 'argparse' || flag === '?' || command !== undefined,
  );
  if (args.length === 0 || isOpen || scripts.some(({ text }) => otherParser.test(text))) return [];
  const known = ['-h', '--help', ...args.flatMap(({ flags }) => flags)];
  return commands.flatMap(({ words }): Said[] => {
    const program = programsOf(words).at(-1) ?? '';
    const rest = words.slice(words.indexOf(program) + 1);
    const at = rest.findIndex((word) => scripts.some(({ file }) => path.posix.normalize(word) === file));
    if (!/^(python[\d.]*|torchrun)$/.test(program) || at < 0) return [];
    const end = rest.findIndex((word) => /^\d*[<>]/.test(word));
    const given = rest.slice(at + 1, end < 0 ? undefined : end);
    return given.flatMap((word, index): Said[] => {
      const [flag = '', value = given[index + 1]] = word.split(/=(.*)/s);
      if (!/^[-–—]+[A-Za-z]/.test(flag)) return [];
      const own = args.filter(({ flags }) => flags.includes(flag));
      const refused = own.map((arg) => refusal(arg, value));
      if (own.length > 0)
        return refused.includes(undefined)
          ? []
          : [
              [
                `${rest[at] ?? ''}: \`${flag}\` ${refused[0] ?? ''}`,
                `write \`${flag} VALUE\` in the command`,
              ],
            ];
      if (known.some((one) => one.startsWith(flag) || (/^-\w$/.test(one) && flag.startsWith(one)))) return [];
      const close = nearest(flag, known);
      return [
        [
          `${rest[at] ?? ''} takes no \`${flag}\`${close === undefined ? '' : `; did you mean \`${close}\`?`}`,
          `write one of its arguments: ${known.slice(2, 12).join(', ')}`,
        ],
      ];
    });
  });
}

/** Why argparse refuses what follows an option; undefined if it does not, or nobody knows. */
function refusal({ takesOne, type = '', choices = [] }: ScriptArg, value = '--end'): string | undefined {
  if (takesOne === undefined) return undefined;
  if (/^--?[A-Za-z]\S*$/.test(value)) return 'needs a value';
  if (/[$`{*?]/.test(value)) return undefined;
  if (type === 'int' && !/^[-+]?\d[\d_]*$/.test(value)) return `takes a whole number, not ${value}`;
  if (type === 'float' && !/^[-+]?(?:[\d_]*\.?[\d_]*(?:e[-+]?\d+)?|inf(?:inity)?|nan)$/i.test(value))
    return `takes a number, not ${value}`;
  return /^(str)?$/.test(type) && choices.length > 0 && !choices.includes(value)
    ? `takes ${choices.join(', ')}, not ${value}`
    : undefined;
}
