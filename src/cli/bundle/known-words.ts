import { readAsset } from '../../job/assets.ts';
import { withoutSecrets } from '@updraft/base/secrets';

/** Words of HTCondor's messages, and names of fields, that are on no page of ours. */
const moreWords =
  'allocated arm64 assertion assigned attempting boot checkpointed closed command completed consider couldn dataflow ' +
  'directory disconnected due elapsed estimate exception exe exec exited expression fired generic globus grid ' +
  'heartbeat image initiated instance interruption kb lease lib libexec local master megabytes mnt negotiator oom ' +
  'paused percent proven receive receiving reconnected recounted reliable remote requeued reserve resident ' +
  'resubmitting resumed rungs scaled scales setup shadow siblings skipped startd starter submitting terminated ' +
  'termination timer trigger unexpectedly unknown unspecified unsuspended usages vacated var variants violation ' +
  'void x64';

/** Names are replaced by these, with a number: the same name always by the same one. */
export type NameKind = 'host' | 'site' | 'user' | 'node' | 'log';

const separators = /([\s/=,;|&?()"'`<>[\]{}*#$%^~\\]+)/;
const number = /^[-+]?\d{1,15}(?:\.\d+)?(?:e[-+]?\d+)?(?:[kmgt]i?b?|b|s|ms|h|min|d|x)?$/i;
const version = /^v?\d+(?:\.\d+){1,2}$/;
const date = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?$/;
const time = /^\d\d?:\d\d(?::\d\d(?:\.\d+)?)?$/;
const slot = /^(slot\d[\d_]*)@(.+)$/;
const port = /^(.+):(\d{1,5})$/;
const ipAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** The servers of the OSDF are known to everybody, and support must know which one it was. */
const publicHost = /^(?:[\w-]+\.)*osg-htc\.org$/i;
const maxRemembered = 100_000;

/**
 * What may leave the machine of any text: numbers, times, and words that Updraft's own pages have. Everything else is
 * replaced by `…`, and a name that was learned by its pseudonym. So no rule has to recognize a secret.
 */
export class KnownWords {
  readonly #words: Set<string>;
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<NameKind, number>();
  readonly #remembered = new Map<string, string>();

  constructor(pages: string) {
    const text = pages.toLowerCase();
    this.#words = new Set([
      ...text.split(separators).map((piece) => piece.replaceAll(/^[-+.:@]+|[.:!-]+$/g, '')),
      ...(text.match(/[a-z]{2,}/g) ?? []),
      ...moreWords.split(' '),
    ]);
  }

  static async load(): Promise<KnownWords> {
    const index = (await readAsset('docs/README.md')) ?? '';
    const names = [...index.matchAll(/\]\(([\w/-]+)\.md\)/g)].map(([, name = '']) => name);
    const pages = await Promise.all(names.map((name) => readAsset(`docs/${name}.md`)));
    return new KnownWords([index, ...pages].join('\n'));
  }

  /** From now on, this name is shown as `host-1`, or the like. */
  learn(kind: NameKind, name: string | undefined): void {
    const key = name?.toLowerCase() ?? '';
    if (key.length < 2 || this.#names.has(key) || (kind === 'host' && publicHost.test(key))) return;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    this.#names.set(key, `${kind}-${count}`);
    this.#remembered.clear();
    if (kind === 'user') this.#words.delete(key);
  }

  text(text: string): string {
    const known = this.#names.get(text.toLowerCase()) ?? this.#remembered.get(text);
    if (known !== undefined) return known;
    const pieces = withoutSecrets(text).split(separators);
    const shown = pieces
      .map((piece, at) => {
        if (at % 2 === 1 || piece === '') return piece;
        return isName(pieces, at) ? (this.#names.get(piece.toLowerCase()) ?? '…') : this.#piece(piece);
      })
      .join('')
      .replaceAll(/…(?:[\s/=&?]*…)+/g, '…');
    if (this.#remembered.size < maxRemembered) this.#remembered.set(text, shown);
    return shown;
  }

  #piece(piece: string): string {
    const [, before = '', middle = '', after = ''] = /^([-+.:@]*)(.*?)([.:!-]*)$/s.exec(piece) ?? [];
    const name = this.#names.get(middle.toLowerCase());
    if (middle === '' || middle === '…') return piece;
    return before + (name ?? this.#place(middle) ?? (this.#isKnown(middle) ? middle : '…')) + after;
  }

  /** `slot1_2@host`, `host:8443`. */
  #place(piece: string): string | undefined {
    const [, own, at] = slot.exec(piece) ?? [];
    if (own !== undefined) return `${own}@${this.#names.get(at?.toLowerCase() ?? '') ?? '…'}`;
    const [, host = piece, number] = port.exec(piece) ?? [];
    if (ipAddress.test(host)) this.learn('host', host);
    const shown = publicHost.test(host) ? host : this.#names.get(host.toLowerCase());
    return shown === undefined ? undefined : shown + (number === undefined ? '' : `:${number}`);
  }

  #isKnown(piece: string): boolean {
    if (this.#words.has(piece.toLowerCase())) return true;
    if ([number, version, date, time].some((form) => form.test(piece))) return true;
    // Not with a dot or a digit: hosts are called `data.example` and `gpu-42`.
    return /^[A-Za-z]+(?:[-_:+][A-Za-z]+)*$/.test(piece) && this.#areWords(piece);
  }

  /** Also `MemoryUsage`. */
  #areWords(piece: string): boolean {
    const isWord = (word: string): boolean => this.#words.has(word.toLowerCase());
    return piece
      .split(/[-_:+]/)
      .every((part) => isWord(part) || part.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)?.every(isWord));
  }

  /** The same for every text in a value, and for the names of its fields. */
  shown(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((one: unknown) => this.shown(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        if (typeof one === 'string' && isHostKey.test(key)) this.learn('host', hostIn(one));
        return [this.text(key), this.shown(one)];
      }),
    );
  }
}

const isHostKey = /^(?:host|server|url|discoveryHost)$/;
/** The host of a URL, or what is alone. */
const hostIn = (text: string): string => /^(?:[\w+.-]+:\/\/)?(?:[^/?#@]*@)?([^/?#:@]*)/.exec(text)?.[1] ?? '';

/** Whether a piece can only be the name of a user: `/home/ann`, `(by user ann)`. */
function isName(pieces: readonly string[], at: number): boolean {
  const [first, before] = [pieces[at - 4]?.toLowerCase(), pieces[at - 2]?.toLowerCase()];
  if (pieces[at - 1] === '/') return before === 'home' || before === 'users';
  return first === 'by' && before === 'user';
}
