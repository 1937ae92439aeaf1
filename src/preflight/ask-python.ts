import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { findProgram } from '@updraft/base';
import type { SyntaxFact } from '../check/facts.ts';
import type { Asking } from './asking.ts';
import { type Gathered, notChecked } from './gathered.ts';

/** The Python files of a job, and what is known about the Python that it will have. */
export interface PythonQuestion {
  folder: string;
  /** Relative to the folder. */
  files: readonly string[];
  /** The job runs in the interpreter that its commands name, on this machine. */
  isItsOwn: boolean;
  /** Interpreters that the commands name. */
  names: readonly string[];
}

const timeoutMs = 10_000;
/** What this version cannot parse, no other can: syntax is only added. */
const newestMinor = 12;

/** What came with Python 3.8 or later: assignment expressions, `match`, type parameters, f-strings in f-strings. */
const recentSyntax =
  /:=|^\s*(?:match|case|type)\b|except\s*\*|\b(?:def|class)\s+\w+\[|^\s*with\s*\(|[fF]["']|,\s*\/\s*[,)]/;

/** What Python 2 may have read: statements, numbers, and escapes in text that Python 3 dropped. */
const oldSyntax = new RegExp(
  [
    /\b(?:print|exec|async|await|nonlocal|None|True|False)\b|\b(?:except|raise|in)\b.*,/,
    /\b0\d|\d[lL]\b|<>|`|\b[uU][rR]["']|\\|(?:\bdef\b.*\(|\blambda\b).*\(/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Reads the files' names from its input; compiles, which runs nothing of them and writes nothing. */
const script = `
import json, os, sys, warnings
warnings.simplefilter("ignore")
print(json.dumps(sys.version_info[:3]))
for name in json.load(sys.stdin):
    try:
        with open(name, "rb") as file: source = file.read()
        first = source.split(b"\\n", 1)[0].decode("latin-1")
        if first[:2] == "#!" and "python2" in first: continue
        compile(source, os.path.basename(name), "exec", dont_inherit=True)
    except SyntaxError as error:
        print(json.dumps([name, type(error).__name__, error.msg, error.lineno or 1, error.offset or 0,
            (error.text or "").rstrip(), first[:2] == "#!" and "python3" in first]))
    except Exception: pass
`;

/** File, type, message, line, offset, the line's text, and whether its first line names Python 3. */
type Said = [string, string, string, number, number, string, boolean];

/** Has a Python of this machine parse the files. */
export async function askPython(
  asking: Asking,
  { folder, files, isItsOwn, names }: PythonQuestion,
): Promise<Gathered<SyntaxFact[]>> {
  const nothing = { facts: [], looked: [], unchecked: [] };
  if (files.length === 0 || names.some((name) => path.posix.basename(name).startsWith('python2')))
    return nothing;
  const program = await findProgram([...(isItsOwn ? names : []), 'python3', 'python'], asking.env);
  if (program === undefined) return unchecked('there is no python3 on this machine');
  const input = JSON.stringify(files.map((file) => path.join(folder, file)));
  const output = await outputOf(asking, program, ['-I', '-S', '-B', '-c', script], { timeoutMs, input });
  const [version, ...said] = output.split('\n').filter((line) => line !== '');
  if (version === undefined) return unchecked(`${program} does not answer`);
  const [major = 0, minor = 0, patch = 0] = JSON.parse(version) as number[];
  const python = `${major}.${minor}.${patch}`;
  const isNewest = isItsOwn || minor >= newestMinor;
  const isNamed = isItsOwn || names.some((name) => path.posix.basename(name).startsWith('python3'));
  const facts = said.map((line) => {
    const [name, type, message, number, offset, text, isPython3] = JSON.parse(line) as Said;
    return {
      file: path.relative(folder, name),
      line: number,
      said: `${type}: ${message}`,
      excerpt: excerptOf(text, offset),
      python,
      isCertain:
        (isNewest || type !== 'SyntaxError' || !recentSyntax.test(text)) &&
        (isNamed || isPython3 || (type !== 'TabError' && !oldSyntax.test(text))),
    };
  });
  return { ...nothing, facts: major === 3 ? facts : [] };
}

const unchecked = (why: string): Gathered<SyntaxFact[]> => notChecked([], 'Python syntax', why);

/** The line without its indent, and a caret below the place. */
function excerptOf(text: string, offset: number): string[] {
  const line = text.trimStart();
  const at = offset - 1 - (text.length - line.length);
  const shown = line.replaceAll('\t', ' ').slice(0, 200);
  if (shown === '') return [];
  return at < 0 || at > shown.length ? [shown] : [shown, `${' '.repeat(at)}^`];
}

/** What a program prints, within the timeout; empty if it fails. */
export async function outputOf(
  asking: Asking,
  program: string,
  args: readonly string[],
  { timeoutMs, input = '', anyStatus = false }: { timeoutMs: number; input?: string; anyStatus?: boolean },
): Promise<string> {
  const signal = AbortSignal.any([asking.signal, AbortSignal.timeout(timeoutMs)]);
  const child = spawn(program, args, {
    env: { PATH: asking.env['PATH'] ?? '', LC_ALL: 'C' },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
    signal,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stdin.on('error', () => undefined).end(input);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 || anyStatus ? output : '';
  } catch {
    asking.signal.throwIfAborted();
    return '';
  }
}
