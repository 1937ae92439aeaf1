import { type Download, runTimeDownload, shownCommand } from '../../adopt/shell-commands.ts';
import type { Found, Rule } from '../../base/finding.ts';
import type { JobCode } from '../code/code.ts';
import type { CodeFacts } from '../facts.ts';

/** The code, and what shows that a download will not happen. */
export interface DownloadFacts extends CodeFacts {
  /** Variables that the job sets for its training. */
  env: Readonly<Record<string, string>>;
  /** Folders of the data and of the files sent with the job. */
  folders: readonly string[];
}

export const downloadRules: Rule<DownloadFacts>[] = [
  {
    name: 'run-time-download',
    level: 'warning',
    about:
      'A command or a Python file downloads software, weights or data while the job runs: it fails on workers without network.',
    check: (facts) => [...inShell(facts.code), ...inPython(facts)],
  },
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
    return {
      message: `\`${shownCommand(words)}\` fetches ${what === 'files' ? 'a file' : what} in every job: it fails on workers without network`,
      fix: shellFix[what],
      place,
    };
  });
}

const pythonFix: Record<PythonFetch, string> = {
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
  const provided: Partial<Record<PythonFetch, boolean>> = {
    weights: set('TORCH_HOME'),
    hub: set('TORCH_HOME'),
    'hugging face': set('HF_HOME') || set('HF_HUB_OFFLINE') || set('TRANSFORMERS_OFFLINE'),
  };
  return code.files.flatMap((file) => {
    if (file.kind !== 'python') return [];
    return file.lines.flatMap(({ text, line }) => {
      const found = pythonDownload(text, folders);
      if (found === undefined || provided[found.what] === true) return [];
      return {
        message: `\`${found.shown}\` ${said[found.what]}: it fails on workers without network`,
        fix: pythonFix[found.what],
        place: { file: file.file, line },
      };
    });
  });
}

const said: Record<PythonFetch, string> = {
  weights: 'downloads pretrained weights when the job starts',
  dataset: 'downloads the data set when the job starts',
  hub: 'downloads a model when the job starts',
  'hugging face': 'downloads from Hugging Face when the job starts',
  file: 'downloads a file while the job runs',
  packages: 'installs packages while the job runs',
};

export type PythonFetch = 'weights' | 'dataset' | 'hub' | 'hugging face' | 'file' | 'packages';

const patterns: [RegExp, PythonFetch][] = [
  [/\bpip3?["']?,?\s*["']?\s?install\b|\bpip\.main\(/, 'packages'],
  [/\bpretrained\s*=\s*True\b/, 'weights'],
  [/\bweights\s*=\s*["'](DEFAULT|IMAGENET\w*|COCO\w*|KINETICS\w*)["']/, 'weights'],
  [/\b(weights(_backbone)?\s*=\s*)?(\w+\.)*\w+_Weights\.\w+\b(?!\.transforms)/, 'weights'],
  [/\bdownload\s*=\s*True\b/, 'dataset'],
  [/\bload_dataset\(\s*["'][\w.-]+(\/[\w.-]+)?["']/, 'dataset'],
  [/\bnltk\.download\(/, 'dataset'],
  [/\btorch\.hub\.load\((?!.*source\s*=\s*["']local["'])/, 'hub'],
  [/\b(load_state_dict_from_url|download_url_to_file|model_zoo\.load_url)\(/, 'hub'],
  [/\b(snapshot_download|hf_hub_download)\(/, 'hugging face'],
  [/\b(urlretrieve|urlopen|download_url|download_and_extract_archive)\(/, 'file'],
  [/\b(requests|httpx)\.get\(|\b(gdown|wget)\.download\(/, 'file'],
  [/\b(os\.system|subprocess\.\w+)\(.*\b(wget|curl|git["',\s]+clone)\b/, 'file'],
];

/** What a line of Python would download, if recognizable; `folders` exist without a download. */
function pythonDownload(
  text: string,
  folders: readonly string[],
): { what: PythonFetch; shown: string } | undefined {
  if (/^\s*(import|from|def|class)\b/.test(text) || /add_argument\(/.test(text)) return undefined;
  for (const [pattern, what] of patterns) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined && !/local_files_only\s*=\s*True/.test(text))
      return { what, shown: shorten(found) };
  }
  const [shown, name] = /\bfrom_pretrained\(\s*["']([^"']+)["']/.exec(text) ?? [];
  if (shown === undefined || name === undefined || isHere(name, folders)) return undefined;
  return /local_files_only\s*=\s*True/.test(text) ? undefined : { what: 'hugging face', shown: `${shown})` };
}

/** A path in the job's folder rather than the name of a model. */
const isHere = (name: string, folders: readonly string[]): boolean =>
  /^[./~]/.test(name) || folders.some((folder) => name === folder || name.startsWith(`${folder}/`));

const shorten = (text: string): string => text.replace(/\($/, '(…)').trim().slice(0, 60);
