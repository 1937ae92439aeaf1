import { defined } from '@updraft/base';
import { enclosingConditions } from './enclosing-conditions.ts';
import { type PythonImport, pythonImports } from './python-imports.ts';
import { pythonLines } from './python-lines.ts';
import { readSyntax, type Syntax } from './python-syntax.ts';
import { pythonTokens, type Token } from './python-tokens.ts';
import { type ScriptArg, scriptArgs } from './script-args.ts';
import { type ScriptDownload, scriptDownloads } from './script-downloads.ts';
import { type ScriptRead, type ScriptSave, scriptReads, scriptSaves } from './script-files.ts';
import { type ScriptPath, scriptPaths } from './script-paths.ts';
import { StaticValues } from './static-value.ts';

/** What the text of a Python script shows about running it. */
export interface ScriptFacts {
  imports: PythonImport[];
  args: ScriptArg[];
  saves: ScriptSave[];
  reads: ScriptRead[];
  /** Absolute paths and those below `~`, in string literals. */
  paths: ScriptPath[];
  downloads: ScriptDownload[];
  /** How it continues an interrupted training, if it does. */
  checkpoint?: ScriptCheckpoint;
  /** Where it first uses a GPU. */
  cuda?: { line: number };
  /** Whether it makes folders to write to. */
  makesFolders: boolean;
  /** Whether it does something when it is started, rather than only define things. */
  isProgram: boolean;
}

export interface ScriptCheckpoint {
  /**
   * `updraft`: imports `updraft` or reads UPDRAFT_CHECKPOINT; `trainer`: Hugging Face's resumes from its output folder; `argument`: has one
   * like `--resume`, or a condition that somebody must ask for; `reads back`: loads what it saved.
   */
  how: 'updraft' | 'trainer' | 'argument' | 'reads back';
  /** The flag, or the file. */
  name: string;
  line: number;
}

/** Larger than any script written by hand. */
const longestScript = 1 << 20;

/** Reads a Python script without running it. Any text is accepted, in linear time. */
export function readScript(source: string): ScriptFacts {
  const text = source.slice(0, longestScript);
  const tokens = pythonTokens(text);
  const lines = pythonLines(text, tokens);
  const syntax = readSyntax(tokens);
  const args = scriptArgs(syntax);
  const values = new StaticValues(syntax, args);
  const conditions = enclosingConditions(text, tokens);
  const saves = scriptSaves(syntax, values, conditions);
  const reads = scriptReads(syntax, values);
  const imports = pythonImports(lines);
  return {
    imports,
    args,
    saves,
    reads,
    paths: scriptPaths(syntax),
    downloads: scriptDownloads(lines),
    ...defined({
      checkpoint: checkpointOf(syntax.tokens, { args, saves, reads, conditions }),
      cuda: cudaOf(syntax),
    }),
    makesFolders: syntax.calls.some(({ name }) => /(^|\.)(makedirs|mkdir)$/.test(name)),
    isProgram:
      args.length > 0 || lines.some((line) => /^if\s+__name__\s*==/.test(line.text)) || saves.length > 0,
  };
}

const resumes =
  /^--?(resume|resume[-_]from\w*|resume[-_]from[-_]checkpoint|load[-_]checkpoint|ckpt[-_]path|checkpoint[-_]path)$/;

/** Conditions that need nobody's wish: the file is there, or this is the process that loads it. */
const resumesByItself = /exist|is_?file|listdir|glob|find|latest|last|rank|main|master/i;

function checkpointOf(
  tokens: readonly Token[],
  {
    args,
    saves,
    reads,
    conditions,
  }: Pick<ScriptFacts, 'args' | 'saves' | 'reads'> & { conditions: ReadonlyMap<number, string> },
): ScriptCheckpoint | undefined {
  const ours = tokens.find(({ kind, text }) =>
    kind === 'string' ? text.includes('UPDRAFT_CHECKPOINT') : kind === 'name' && text === 'updraft',
  );
  if (ours !== undefined) return { how: 'updraft', name: 'UPDRAFT_CHECKPOINT', line: ours.line };
  const trainer = tokens.find(({ kind, text }) => kind === 'name' && text === 'get_last_checkpoint');
  if (trainer !== undefined) return { how: 'trainer', name: 'get_last_checkpoint', line: trainer.line };
  const arg = args.find(({ flag }) => resumes.test(flag));
  if (arg !== undefined) return { how: 'argument', name: arg.flag, line: arg.line };
  const loaded = reads.find(({ call, path }) => /load/.test(call) && saves.some(({ name }) => name === path));
  if (loaded === undefined) return undefined;
  const { path, line } = loaded;
  const wish = /^(?:el)?if (.+)/.exec(conditions.get(line) ?? '')?.[1];
  return wish === undefined || resumesByItself.test(wish)
    ? { how: 'reads back', name: path, line }
    : { how: 'argument', name: wish, line };
}

/** `.cuda()`, `torch.device("cuda")`, `.to("cuda")`, `device = "cuda" if …`. */
function cudaOf({ tokens, calls }: Syntax): { line: number } | undefined {
  const called = calls.find(({ name }) =>
    /(^|\.)cuda$|^torch\.cuda\.\w+$|(^|\.)(Accelerator|Fabric)$|(^|\.)init_process_group$/.test(name),
  );
  const named = tokens.find(({ kind, text }) => kind === 'string' && /^(cuda|gpu)(:\d+)?$/.test(text));
  const lines = [called?.line, named?.line].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : { line: Math.min(...lines) };
}
