import { printable } from '../base/printable.ts';
import { Fault } from '../fault/fault.ts';

/** What an archive of pixi-pack says of itself in its `pixi-pack.json`. */
export interface PackMetadata {
  platform: string;
  /** Of the program that made it; early ones did not say. */
  madeBy?: string;
}

export const metadataName = 'pixi-pack.json';

/** The one version of the format there is. */
const format = '1';

const again = 'make it again with: updraft env pack';

const unusable = (name: string, what: string): string =>
  `the software archive ${name} cannot be used: ${what}`;

/** An archive that cannot be used here, and what to do; it may be this copy, or this machine. */
export const brokenPack = (name: string, what: string, fix = again): Fault =>
  new Fault('environment-broken', unusable(name, what), { about: name, fix });

/** An archive that can be used nowhere: it was made so. */
export const wrongPack = (name: string, what: string, fix = again): Fault =>
  new Fault('archive-kind', unusable(name, what), { about: name, fix });

/** Reads `pixi-pack.json`; an archive of another format is refused. */
export function readPackMetadata(text: string, name: string): PackMetadata {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrongPack(name, `its ${metadataName} is not JSON`);
  }
  const { version, platform, 'pixi-pack-version': madeBy } = (value ?? {}) as Record<string, unknown>;
  if (version !== format)
    throw wrongPack(
      name,
      `it is of version ${String(version)} of the format, and only version ${format} is understood`,
      'make it with pixi-pack 0.7, or use a newer updraft',
    );
  if (typeof platform !== 'string') throw wrongPack(name, `its ${metadataName} names no platform`);
  return { platform, ...(typeof madeBy === 'string' && { madeBy }) };
}

/** What conda calls the platform of a machine, by the words of Node's `os.arch()`. */
export const condaPlatform = (arch: string): string =>
  ({ x64: 'linux-64', arm64: 'linux-aarch64', ppc64: 'linux-ppc64le' })[arch] ?? `linux-${arch}`;

/** Refuses an archive that was made for other machines. */
export function checkPlatform({ platform }: PackMetadata, here: string, name: string): void {
  if (platform === here) return;
  // Pools mix machines of Linux, and have no others.
  const refused = platform.startsWith('linux-') ? brokenPack : wrongPack;
  throw refused(
    name,
    `it is for ${platform}, and this machine is ${here}`,
    `pack the environment for the machines it runs on: updraft env pack --platform ${here}`,
  );
}

type MaybePromise = void | Promise<void>;

/** Where the parts of an archive of pixi-pack go. */
export interface PackParts {
  tar: (piece: Buffer) => MaybePromise;
  /** The unpacking program that a self-extracting archive brings. */
  program: (piece: Buffer) => MaybePromise;
}

const headerEnd = Buffer.from('\n@@END_HEADER@@\n');
const archiveEnd = '@@END_ARCHIVE@@';
const maxHeaderBytes = 1 << 16;
const [newline, at] = [0x0a, 0x40];

/**
 * Takes an archive of pixi-pack apart as it arrives: a plain tar passes, a self-extracting one becomes its tar and
 * its program. Its own script would hold the whole archive in memory, twice, because it is one line of text.
 */
export class PackSplitter {
  readonly #name: string;
  readonly #parts: PackParts;
  #state: 'start' | 'tar' | 'header' | 'archive' | 'mark' | 'program' = 'start';
  /** Bytes that wait for more before they can be read. */
  #rest = Buffer.alloc(0);
  #header = '';
  #programBytes = 0;

  constructor(name: string, parts: PackParts) {
    this.#name = name;
    this.#parts = parts;
  }

  /** Whether the archive brings a program, and if its subcommand has to be named, as before pixi-pack 0.7. */
  get program(): { subcommand: string[] } | undefined {
    if (this.#programBytes === 0) return undefined;
    return { subcommand: /pixi-pack" unpack /.test(this.#header) ? ['unpack'] : [] };
  }

  async write(piece: Buffer): Promise<void> {
    if (this.#state === 'tar') {
      await this.#parts.tar(piece);
      return;
    }
    let left: Buffer | null = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (left !== null) left = await this.#step(left);
  }

  /** No more bytes come: throws unless all parts were there. */
  end(): void {
    if (
      this.#state === 'tar' ||
      (this.#state === 'program' && this.#rest.length === 0 && this.#programBytes > 0)
    )
      return;
    if (this.#state === 'start') throw brokenPack(this.#name, 'it is empty or no archive of pixi-pack');
    throw brokenPack(this.#name, `it is cut off in its ${this.#state === 'program' ? 'program' : 'payload'}`);
  }

  /** Takes what it can of the bytes, keeps the rest; answers what is to be looked at again in another state. */
  async #step(bytes: Buffer): Promise<Buffer | null> {
    switch (this.#state) {
      case 'start':
        return await this.#start(bytes);
      case 'header':
        return this.#endHeader(bytes);
      case 'mark':
        return this.#endArchive(bytes);
      case 'archive':
      case 'program':
        return await this.#decode(bytes);
      case 'tar':
        await this.#parts.tar(bytes);
        return this.#keep(Buffer.alloc(0));
    }
  }

  #keep(bytes: Buffer): null {
    // A copy: the piece it is part of is its owner's again.
    this.#rest = Buffer.from(bytes);
    return null;
  }

  async #start(bytes: Buffer): Promise<Buffer | null> {
    if (bytes.length < 512) return this.#keep(bytes);
    if (bytes.toString('latin1', 0, 2) === '#!') this.#state = 'header';
    else if (bytes.toString('latin1', 257, 262) === 'ustar') this.#state = 'tar';
    else
      throw wrongPack(
        this.#name,
        `it is no archive of pixi-pack: it begins with ${printable(JSON.stringify(bytes.toString('latin1', 0, 24)))}`,
      );
    return await Promise.resolve(bytes);
  }

  #endHeader(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(headerEnd);
    if (end === -1) {
      if (bytes.length > maxHeaderBytes)
        throw wrongPack(
          this.#name,
          'it is a script, but none of pixi-pack: the mark of its payload is missing',
        );
      return this.#keep(bytes);
    }
    this.#header = bytes.toString('latin1', 0, end);
    this.#state = 'archive';
    this.#rest = Buffer.alloc(0);
    return bytes.subarray(end + headerEnd.length);
  }

  #endArchive(bytes: Buffer): Buffer | null {
    if (bytes.length <= archiveEnd.length) return this.#keep(bytes);
    if (bytes.toString('latin1', 0, archiveEnd.length) !== archiveEnd)
      throw brokenPack(this.#name, 'its payload is damaged');
    this.#state = 'program';
    this.#rest = Buffer.alloc(0);
    return bytes.subarray(archiveEnd.length);
  }

  /** Four characters are three bytes; line ends are passed over, the sign of a mark ends it. */
  async #decode(bytes: Buffer): Promise<Buffer | null> {
    const mark = bytes.indexOf(at);
    const part = mark === -1 ? bytes : bytes.subarray(0, mark);
    const text = part.includes(newline) ? Buffer.from(part.filter((byte) => byte !== newline)) : part;
    const whole = text.length - (text.length % 4);
    if (whole > 0) await this.#emit(text.subarray(0, whole));
    if (mark === -1) return this.#keep(text.subarray(whole));
    if (whole !== text.length || this.#state === 'program')
      throw brokenPack(this.#name, 'its payload is damaged');
    this.#state = 'mark';
    this.#rest = Buffer.alloc(0);
    return bytes.subarray(mark);
  }

  async #emit(text: Buffer): Promise<void> {
    const characters = text.toString('latin1');
    const decoded = Buffer.from(characters, 'base64');
    const padding = characters.endsWith('==') ? 2 : characters.endsWith('=') ? 1 : 0;
    // The decoder passes over what is no base64, so that fewer bytes come out.
    if (decoded.length !== (characters.length / 4) * 3 - padding)
      throw brokenPack(this.#name, 'its payload is damaged');
    if (this.#state === 'program') this.#programBytes += decoded.length;
    await (this.#state === 'program' ? this.#parts.program(decoded) : this.#parts.tar(decoded));
  }
}
