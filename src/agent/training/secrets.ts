import { closeSync, fstatSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { tried } from '@updraft/base';
import { createRedact, type Redact } from '@updraft/base/secrets';
import { Fault } from '@updraft/account/fault';
import type { WorkOrder } from '../../job/job.ts';
import { attemptFiles, sandboxFiles } from '@updraft/account/run-folder';

/** Shorter ones could be ordinary text. */
const minLength = 4;

/** The secrets of an attempt's training. While it runs they are not in any file. */
export interface Secrets {
  values: readonly string[];
  /** With the secrets in the training's environment: must never be written to disk. */
  order: WorkOrder;
  redact: Redact;
  /** Writes the file again: the agent will be restarted in this folder. */
  restore(): void;
}

/** Reads the secrets that were sent with an attempt, and deletes their file. */
export async function takeSecrets(order: WorkOrder): Promise<Secrets> {
  const names = Object.keys(order.job.train.secrets ?? {});
  if (names.length === 0) return { values: [], order, redact: (text) => text, restore: () => undefined };
  const file = path.join(order.scratchParent, sandboxFiles.secrets);
  const text = await readFile(file, 'utf8').catch(() => '{}');
  rmSync(file, { force: true });
  const sent = JSON.parse(text) as Partial<Record<string, string>>;
  const missing = names.filter((name) => sent[name] === undefined);
  if (missing.length > 0)
    throw new Fault('order-invalid', `no value was sent for ${missing.join(', ')} of [train.secrets]`, {
      fix: 'run `updraft retry` where the secrets can be read',
    });
  const { job } = order;
  const env = { ...job.train.env, ...(sent as Record<string, string>) };
  const values = Object.values(sent).flatMap((value) => value ?? []);
  return {
    values,
    order: { ...order, job: { ...job, train: { ...job.train, env } } },
    redact: createRedact(values.filter((value) => value.length >= minLength)),
    restore: () => writeFileSync(file, text, { mode: 0o600 }),
  };
}

/** A copy of the value with the secrets removed from all texts. */
export function redactTexts<T>(value: T, redact: Redact): T {
  if (typeof value === 'string') return redact(value) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => redactTexts(one, redact)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, redactTexts(one as unknown, redact)]),
  ) as T;
}

/** Overwrites secrets in the growing logs of an attempt; the length stays, for those who follow them. */
export class LogRedactor {
  readonly #files: string[];
  readonly #secrets: Buffer[];
  readonly #overlap: number;
  readonly #offsets = new Map<string, number>();
  readonly #settled = new Map<string, number>();

  constructor({ attemptFolder }: WorkOrder, secrets: readonly string[] = []) {
    this.#files = [attemptFiles.out, attemptFiles.err].map((name) => path.join(attemptFolder, name));
    // By line: another rank's lines have its mark between them.
    const parts = secrets.flatMap((value) => value.split('\n'));
    this.#secrets = parts.filter((value) => value.length >= minLength).map((value) => Buffer.from(value));
    this.#overlap = Math.max(0, ...this.#secrets.map(({ length }) => length - 1));
  }

  redact(): void {
    if (this.#secrets.length > 0) for (const file of this.#files) this.#redactFile(file);
  }

  /** How much of a log may be shown after `redact`: not the start of a secret that may go on, nor newer bytes. */
  settled(file: string): number {
    return this.#secrets.length === 0 ? Infinity : (this.#settled.get(file) ?? 0);
  }

  /** The same after the log is complete. */
  seen(file: string): number {
    return this.#secrets.length === 0 ? Infinity : (this.#offsets.get(file) ?? 0);
  }

  #redactFile(file: string): void {
    const fd = tried(() => openSync(file, 'r+'));
    if (fd === undefined) return; // not there yet, or removed by the training
    try {
      const { size } = fstatSync(fd);
      const before = this.#offsets.get(file) ?? 0;
      this.#offsets.set(file, size);
      // A secret may have been printed in two pieces.
      for (let at = Math.max(0, Math.min(before, size) - this.#overlap); at < size; at += chunkBytes)
        this.#redactFrom(fd, at);
      this.#settled.set(file, size - this.#begun(fd, size));
    } finally {
      closeSync(fd);
    }
  }

  /** Length of the longest prefix of a secret that the log ends with. */
  #begun(fd: number, size: number): number {
    const maxLength = Math.min(size, this.#overlap);
    const end = Buffer.alloc(maxLength);
    const read = end.subarray(0, readSync(fd, end, 0, maxLength, size - maxLength));
    for (let at = 0; at < read.length; at++) {
      const tail = read.subarray(at);
      if (this.#secrets.some((secret) => secret.subarray(0, tail.length).equals(tail))) return tail.length;
    }
    return 0;
  }

  #redactFrom(fd: number, from: number): void {
    const bytes = Buffer.alloc(chunkBytes + this.#overlap);
    const read = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
    for (const secret of this.#secrets)
      for (let at = read.indexOf(secret); at >= 0; at = read.indexOf(secret, at + secret.length))
        writeSync(fd, Buffer.alloc(secret.length, '*'), 0, secret.length, from + at);
  }
}

const chunkBytes = 1 << 18;
