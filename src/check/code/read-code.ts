import path from 'node:path';
import { shellCommands } from '@updraft/htcondor/lint';
import { localModules } from '../../script/python-imports.ts';
import { readScript } from '../../script/read-script.ts';
import type { JobCode, CodeFile, CommandText, RunCommand, SentText } from './code.ts';

/** Follows a job's commands through the scripts and Python files that they run and import. */
export function readCode(commands: readonly CommandText[], sent: readonly SentText[]): JobCode {
  const reader = new CodeReader(sent);
  for (const { text, place } of commands) reader.shell(text, () => place);
  return {
    commands: reader.commands,
    files: [...reader.files.values()],
    texts: [...commands.map(({ text }) => text), ...sent.map(({ text }) => text)],
    isKnown: reader.files.size > 0,
  };
}

/** Commands that read or copy the files they name, but run none of them. */
const onlyHandlesFiles =
  /^(?:cp|mv|rm|ln|ls|cat|chmod|touch|tar|zip|unzip|gzip|gunzip|head|tail|grep|wc|diff|cmp|md5sum|sha\d+sum|scp|rsync|echo|printf|test|\[{1,2})$/;

class CodeReader {
  readonly commands: RunCommand[] = [];
  readonly files = new Map<string, CodeFile>();
  readonly #sent: readonly SentText[];

  constructor(sent: readonly SentText[]) {
    this.#sent = sent;
  }

  /** Reads shell text; `whereSet` maps its lines to places. */
  shell(text: string, whereSet: (line: number) => CommandText['place']): void {
    for (const { words, before, line } of shellCommands(text)) {
      const place = whereSet(line);
      this.commands.push({ words, before, place });
      const inner = words[0] !== undefined && /^(ba|da|z|k)?sh$/.test(words[0]) ? words.indexOf('-c') : -1;
      if (inner > 0) this.shell(words[inner + 1] ?? '', () => place);
      for (const [, substituted = ''] of words.join(' ').matchAll(/\$\(([^()]+)\)/g))
        this.shell(substituted, () => place);
      if (!onlyHandlesFiles.test(words[0] ?? '')) for (const word of words) this.#named(word);
    }
  }

  #named(word: string): void {
    const clean = path.posix.normalize(word);
    if (!/^[\w.][\w./-]*$/.test(clean)) return;
    const exact = this.#sent.find(({ file }) => file === clean);
    // After a `cd`, the command names only the end of the path.
    const ending = this.#sent.filter(({ file }) => file.endsWith(`/${clean}`));
    const found = exact ?? (ending.length === 1 ? ending[0] : undefined);
    if (found !== undefined) this.#file(found);
  }

  #file(sent: SentText): void {
    const kind = kindOf(sent);
    if (kind === undefined || this.files.has(sent.file)) return;
    if (kind === 'shell') {
      this.files.set(sent.file, { ...sent, kind });
      this.shell(sent.text, (line) => ({ file: sent.file, line }));
      return;
    }
    const script = readScript(sent.text);
    this.files.set(sent.file, { ...sent, kind, script });
    for (const found of script.imports)
      for (const next of localModules(found, sent.file, this.#sent)) this.#file(next);
  }
}

function kindOf({ file, text }: SentText): CodeFile['kind'] | undefined {
  const first = text.split('\n', 1)[0] ?? '';
  if (file.endsWith('.py') || /^#!.*\bpython/.test(first)) return 'python';
  return /\.(sh|bash)$/.test(file) || /^#!.*\b(ba|da|k|z|a)?sh\b/.test(first) ? 'shell' : undefined;
}
