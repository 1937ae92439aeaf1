import { type Download, runTimeDownload, shownCommand } from '@updraft/htcondor/lint';
import { asFound, type Found, type Rule, rule } from '@updraft/base';
import type { ScriptFetch } from '../../script/read-script.ts';
import type { JobCode } from '../code/read-code.ts';
import type { CodeFacts } from '../facts.ts';

/** The code, and what shows that a download will not happen. */
export interface DownloadFacts extends CodeFacts {
  /** Variables that the job sets for its training. */
  env: Readonly<Record<string, string>>;
  /** Folders of the data and of the files sent with the job. */
  folders: readonly string[];
}

export const downloadRules: Rule<DownloadFacts>[] = [
  rule(
    'run-time-download',
    'warning',
    'A command or a Python file downloads software, weights or ' +
      'data while the job runs: it fails on workers without network.',
    (facts) => [...inShell(facts.code), ...inPython(facts)],
  ),
];

const asData = 'upload it once with `updraft stage` and name it in a [data] table';
const shellFix: Record<Download, string> = {
  packages: 'put the packages into the image or the packed environment of [environment]',
  environment: 'name a packed environment or an image in [environment]',
  'system packages': 'put the packages into the image of [environment]',
  files: asData,
  code: 'name the files in train.files: every job then runs the same version',
  model: asData,
};

function inShell({ commands }: JobCode): Found[] {
  return commands.flatMap(({ words, place }) => {
    const what = runTimeDownload(words);
    if (what === undefined) return [];
    return asFound(
      `\`${shownCommand(words)}\` fetches ${what === 'files' ? 'a file' : what} ` +
        'in every job: it fails on workers without network',
      shellFix[what],
      place,
    );
  });
}

const pythonFix: Record<ScriptFetch, string> = {
  weights: 'ship the weights as a [data] table, with TORCH_HOME in [train.env] naming its folder',
  dataset: `${asData}, and use download=False`,
  hub: 'ship the model as a [data] table, with TORCH_HOME in [train.env] naming its folder',
  'hugging face':
    'ship the model as a [data] table and name its folder, with HF_HUB_OFFLINE = "1" in [train.env]',
  file: asData,
  packages: shellFix.packages,
};

function inPython({ code, env, folders }: DownloadFacts): Found[] {
  const set = (name: string): boolean => env[name] !== undefined && env[name] !== '';
  const provided: Partial<Record<ScriptFetch, boolean>> = {
    weights: set('TORCH_HOME'),
    hub: set('TORCH_HOME'),
    'hugging face': set('HF_HOME') || set('HF_HUB_OFFLINE') || set('TRANSFORMERS_OFFLINE'),
  };
  return code.files.flatMap((file) => {
    if (file.kind !== 'python') return [];
    return file.script.downloads
      .filter(({ what, name }) => provided[what] !== true && !isHere(name, folders))
      .map(({ what, shown, line }) =>
        asFound(`\`${shown}\` ${said[what]}: it fails on workers without network`, pythonFix[what], {
          file: file.file,
          line,
        }),
      );
  });
}

const said: Record<ScriptFetch, string> = {
  weights: 'downloads pretrained weights when the job starts',
  dataset: 'downloads the data set when the job starts',
  hub: 'downloads a model when the job starts',
  'hugging face': 'downloads from Hugging Face when the job starts',
  file: 'downloads a file while the job runs',
  packages: 'installs packages while the job runs',
};

/** A folder of the job rather than the name of a model. */
const isHere = (name: string | undefined, folders: readonly string[]): boolean =>
  folders.some((folder) => name === folder || name?.startsWith(`${folder}/`) === true);
