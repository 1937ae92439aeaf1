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

/** What a line of Python would fetch from the network, if it can be told; `folders` are there without one. */
export function pythonDownload(
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

/** A path of the job's own folder rather than the name of a model. */
const isHere = (name: string, folders: readonly string[]): boolean =>
  /^[./~]/.test(name) || folders.some((folder) => name === folder || name.startsWith(`${folder}/`));

const shorten = (text: string): string => text.replace(/\($/, '(…)').trim().slice(0, 60);
