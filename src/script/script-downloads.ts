import type { PythonLine } from './python-lines.ts';

export type ScriptFetch = 'weights' | 'dataset' | 'hub' | 'hugging face' | 'file' | 'packages';

/** Something that a script would download while it runs. */
export interface ScriptDownload {
  what: ScriptFetch;
  /** The code that does it, shortened. */
  shown: string;
  /** The model that `from_pretrained` names, which may be a folder of the job. */
  name?: string;
  line: number;
}

const patterns: [RegExp, ScriptFetch][] = [
  [
    /\b(system|popen|run|call|check_call|check_output|Popen)\(.*\bpip3?\b.*\binstall\b|\bpip\.main\(|^\s*[!%]pip3? install\b/,
    'packages',
  ],
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

/** What the lines of a script would download, if recognizable. */
export function scriptDownloads(lines: readonly PythonLine[]): ScriptDownload[] {
  return lines.flatMap(({ text, line }) => {
    const found = downloadIn(text);
    return found === undefined ? [] : [{ ...found, line }];
  });
}

function downloadIn(text: string): Omit<ScriptDownload, 'line'> | undefined {
  if (/^\s*(import|from|def|class)\b/.test(text) || /add_argument\(/.test(text)) return undefined;
  // A hint for people, such as "please pip install it", installs nothing.
  if (/^\s*(raise|print|assert|warnings\.warn|(_?logger|logging|log)\.\w+)\b/.test(text)) return undefined;
  if (/local_files_only\s*=\s*True/.test(text)) return undefined;
  for (const [pattern, what] of patterns) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { what, shown: found.replace(/\($/, '(…)').trim().slice(0, 60) };
  }
  const [shown, name] = /\bfrom_pretrained\(\s*["']([^"']+)["']/.exec(text) ?? [];
  if (shown === undefined || name === undefined || /^[./~]/.test(name)) return undefined;
  return { what: 'hugging face', shown: `${shown})`, name };
}
