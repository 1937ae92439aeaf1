import { readdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { cacheFolder } from '@updraft/base/user-folders';

/** V8 keeps up to 134 MB for new objects, unless a flag says less: whoever reads a large log starts again. */
const largeBytes = 64e6;
const heapFlags = ['--max-semi-space-size=16', '--expose-gc'];
/** The size of a file, or of the files in a folder. A pipe may have any. */
function bytesAt(name: string): number {
  try {
    const facts = statSync(name);
    if (!facts.isDirectory()) return facts.isFIFO() ? Infinity : facts.size;
    const files = readdirSync(name).map((file) => statSync(path.join(name, file), { throwIfNoEntry: false }));
    return files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
  } catch {
    // Nothing that can be read: the command says so.
    return name === '-' ? Infinity : 0;
  }
}
const { argv, execArgv, execPath } = process;
const isReading =
  /^(?:report|why)$/.test(argv[2] ?? '') && !execArgv.some((flag) => heapFlags.includes(flag));
if (isReading && argv.slice(3).reduce((sum, word) => sum + bytesAt(word), 0) > largeBytes)
  process.execve?.(execPath, [execPath, ...heapFlags, ...execArgv, ...argv.slice(1)]);

// First of all: with cached compilation the program starts in half the time. Never in a shared folder, where others
// could place code.
enableCompileCache(path.join(cacheFolder(process.env), 'node'));
const { runCommandLine } = await import('./command-line.ts');
process.exitCode = await runCommandLine({ process, self: [process.execPath, import.meta.filename] });
