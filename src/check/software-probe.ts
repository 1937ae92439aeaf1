import { shellQuote } from '@updraft/base';
import type { Uses } from './code/read-code.ts';

/** What a probe found, interpreter by interpreter. */
export interface ProbeAnswer {
  tools: Set<string>;
  pythons: { path: string; has: Set<string>; versions: Map<string, string>; cuda?: string }[];
}

/** Marks our lines among what the image's startup may print. */
const mark = 'updraft-probe';

const askPython = [
  'import importlib.util, os, sys',
  `print("${mark} package python-%d.%d.%d.dist-info" % sys.version_info[:3])`,
  'for folder in filter(os.path.isdir, sys.path):',
  '    for name in os.listdir(folder):',
  `        if name.endswith("-info"): print("${mark} package", name)`,
  'for name in sys.argv[2:]:',
  '    try: found = importlib.util.find_spec(name) is not None',
  '    except Exception: found = False',
  `    if found: print("${mark} has", name)`,
  'if sys.argv[1] == "cuda":',
  '    try:',
  '        import torch',
  `        print("${mark} cuda", torch.version.cuda or "none")`,
  '    except Exception: pass',
].join('\n');

/** Interpreters to try besides those that the commands name, as the agent does. */
const defaultPythons = ['python3', 'python', '/usr/bin/python3', '/usr/local/bin/python3'];

/** A script for `/bin/sh` that prints which tools and modules exist. It changes nothing and needs no network. */
export function probeScript({ tools, modules, pythons }: Uses, wantCuda: boolean): string {
  const quoted = (names: readonly string[]): string => names.map(shellQuote).join(' ');
  const isNeeded = modules.length > 0 || pythons.length > 0;
  const asked = isNeeded ? [...new Set([...pythons, ...defaultPythons])] : [];
  return [
    'cd /',
    `for tool in ${quoted(tools.map(({ name }) => name))}; do`,
    `  command -v -- "$tool" >/dev/null 2>&1 && echo "${mark} tool $tool"`,
    'done',
    'seen=',
    `for python in ${quoted(asked)}; do`,
    '  where=$(command -v -- "$python" 2>/dev/null) || continue',
    '  case " $seen " in *" $where "*) continue ;; esac',
    '  seen="$seen $where"',
    `  echo "${mark} python $where"`,
    modules.length === 0
      ? '  continue'
      : `  "$python" -c ${shellQuote(askPython)} ${wantCuda ? 'cuda' : 'no'} ` +
        `${quoted(modules.map(({ name }) => name))} 2>/dev/null`,
    'done',
    `echo "${mark} end"`,
    '',
  ].join('\n');
}

/** `torch-2.1.0.dist-info`; of several, Python takes the first. */
function addVersion(versions: Map<string, string> | undefined, folder: string): void {
  const [, name = '', version = ''] =
    /^(.+?)-(\d[^-]*?)(?:-py[\d.]+)?\.(?:dist|egg)-info$/.exec(folder) ?? [];
  const plain = name.toLowerCase().replaceAll(/[-_.]+/g, '-');
  if (version !== '' && versions?.has(plain) === false) versions.set(plain, version);
}

/** Reads the script's output; undefined if it did not finish. */
export function readProbe(output: string): ProbeAnswer | undefined {
  const answer: ProbeAnswer = { tools: new Set(), pythons: [] };
  for (const line of output.split('\n')) {
    const [, word, value = ''] = new RegExp(`^${mark} (\\w+) ?(.*)$`).exec(line) ?? [];
    const python = answer.pythons.at(-1);
    if (word === 'end') return answer;
    if (word === 'tool') answer.tools.add(value);
    if (word === 'python') answer.pythons.push({ path: value, has: new Set(), versions: new Map() });
    if (word === 'has') python?.has.add(value);
    if (word === 'package') addVersion(python?.versions, value);
    if (word === 'cuda' && python !== undefined) python.cuda = value;
  }
  return undefined;
}

/** The interpreter that the job will run with: the first that has its declared modules, else the first. */
export function choosePython(
  { pythons }: ProbeAnswer,
  declared: readonly string[],
): ProbeAnswer['pythons'][number] | undefined {
  const roots = declared.map((name) => name.split('.')[0] ?? name);
  return pythons.find(({ has }) => roots.length > 0 && roots.every((name) => has.has(name))) ?? pythons[0];
}
