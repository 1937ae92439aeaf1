import path from 'node:path';
import type { SourceLine } from '@updraft/base';
import type { JobCode } from './code.ts';
import { programsOf } from './uses.ts';

/** A file that a job would need if it is in the folder of the job file. */
export interface NamedFile {
  /** Relative to the job file. */
  file: string;
  place: SourceLine;
  /** `names`: a command mentions it, or code imports it that may never run. */
  use: 'runs' | 'imports' | 'names';
}

const interpreters = /^(?:python[\d.]*|torchrun|deepspeed|accelerate|(?:ba|da|k|z)?sh|source|\.)$/;
const isRelativeFile = (word: string): boolean => /^[\w.][\w./-]*$/.test(word) && /\w\.\w|\//.test(word);

/** The files that commands name and Python files import, whether or not they are there. */
export function namedFiles({ commands, files }: JobCode): NamedFile[] {
  const inCommands = commands.flatMap(({ words, place }) => {
    const program = programsOf(words).at(-1) ?? '';
    const rest = words.slice(words.indexOf(program) + 1);
    // `python3 -u train.py --data x.csv`: the first file is run, the others are read.
    const script = interpreters.test(program) ? rest.find(isRelativeFile) : program;
    return [program, ...rest]
      .filter(isRelativeFile)
      .map(
        (word) =>
          ({ file: path.posix.normalize(word), place, use: word === script ? 'runs' : 'names' }) as const,
      );
  });
  const imported = files.flatMap((code) => {
    if (code.kind !== 'python') return [];
    const folder = path.posix.dirname(code.file);
    return code.script.imports
      .filter(({ when }) => when !== 'guarded')
      .flatMap(({ module, line, when }) => {
        const parts = module.replace(/^\.+/, '').replaceAll('.', '/');
        return [`${parts}.py`, `${parts}/__init__.py`].map(
          (name) =>
            ({
              file: path.posix.join(folder, name),
              place: { file: code.file, line },
              use: when === 'always' ? 'imports' : 'names',
            }) as const,
        );
      });
  });
  return [...inCommands, ...imported];
}
