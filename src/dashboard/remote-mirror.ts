import { appendFile, mkdir, truncate } from 'node:fs/promises';
import path from 'node:path';
import { shellQuote } from '../base/shell-quote.ts';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, runFiles } from '../job/layout.ts';
import type { LogPart } from './page-data.ts';
import { logPart } from './read-end.ts';
import type { RemoteShell } from './remote-shell.ts';

/** Bytes of one file that are asked for at once. */
const pieceBytes = 4 << 20;

/** A copy of the journals of a run on another machine, kept up by asking for what they gained. */
export class RemoteMirror {
  readonly #shell: RemoteShell;
  readonly #remote: string;
  readonly #local: string;
  readonly #patterns: string[];
  readonly #sizes = new Map<string, number>();

  /** `patterns` say which files the run's pool reads beside the journals, as `find -path` takes them. */
  constructor(shell: RemoteShell, remote: string, local: string, patterns: readonly string[]) {
    this.#shell = shell;
    // Paths of ssh begin at the home folder; `~/` says the same.
    this.#remote = remote.replace(/^~\//, '') || '.';
    this.#local = local;
    const journals = [runFiles.journal, runFiles.plan, `${runFiles.jobs}/*/*/${attemptFiles.journal}`];
    this.#patterns = [...journals, ...patterns];
  }

  /** Brings the copy up to date; throws when the folder is not that of a run. */
  async update(): Promise<void> {
    const sizes = await this.#list();
    if (!sizes.has(runFiles.journal))
      throw new Fault('usage', `${this.#remote} over there is not the folder of a run`, {
        about: this.#remote,
        fix: 'name a folder that `updraft submit` or `updraft run` made, for example HOST:project/runs/NAME-ID',
      });
    // Agents' journals first: what the run's journal says of an attempt is then never ahead of them.
    const names = [...sizes.keys()].sort(
      (a, b) => Number(a === runFiles.journal) - Number(b === runFiles.journal),
    );
    for (const name of names) await this.#grow(name, sizes.get(name) ?? 0);
  }

  /** The end of any file of the run, or of the other machine where the path is a whole one. */
  async readEnd(file: string, mostBytes: number): Promise<LogPart> {
    const quoted = shellQuote(path.isAbsolute(file) ? file : `./${file}`);
    const lines = await this.#inFolder(
      `if [ -f ${quoted} ]; then wc -c < ${quoted}; tail -c ${mostBytes} ${quoted} | base64; fi`,
    );
    const bytes = Buffer.from(lines.slice(1).join(''), 'base64');
    return logPart(bytes, Math.max(bytes.length, Number(lines[0] ?? 0)));
  }

  async #list(): Promise<Map<string, number>> {
    const paths = this.#patterns.map((pattern) => `-path ${shellQuote(`./${pattern}`)}`).join(' -o ');
    const lines = await this.#inFolder(`find . -type f \\( ${paths} \\) -exec wc -c {} +`);
    const found = new Map<string, number>();
    for (const line of lines) {
      const [, size, name] = /^\s*(\d+) \.\/(.+)$/.exec(line) ?? [];
      if (name !== undefined && isBelow(name)) found.set(name, Number(size));
    }
    return found;
  }

  async #grow(name: string, size: number): Promise<void> {
    const copy = path.join(this.#local, name);
    let have = this.#sizes.get(name) ?? 0;
    if (size < have) {
      await truncate(copy, 0);
      have = 0;
    }
    if (!this.#sizes.has(name)) await mkdir(path.dirname(copy), { recursive: true });
    while (have < size || !this.#sizes.has(name)) {
      const want = Math.min(pieceBytes, size - have);
      const lines = await this.#inFolder(
        `tail -c +${have + 1} ${shellQuote(`./${name}`)} | head -c ${want} | base64`,
      );
      const bytes = Buffer.from(lines.join(''), 'base64');
      await appendFile(copy, bytes);
      have += bytes.length;
      this.#sizes.set(name, have);
      // It became shorter meanwhile: the next look sees that.
      if (bytes.length < want) return;
    }
  }

  #inFolder(command: string): Promise<string[]> {
    return this.#shell.run(`(cd -- ${shellQuote(this.#remote)} && { ${command}; })`);
  }
}

/** The other machine names the files: none may lead out of the copy. */
const isBelow = (name: string): boolean => !name.split('/').includes('..') && !path.isAbsolute(name);
