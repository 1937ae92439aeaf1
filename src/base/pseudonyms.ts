/** Names that belong to nobody in particular. */
const everybody = new Set(
  'root condor nobody user users slurm daemon localhost localhost.localdomain none undefined unknown'.split(
    ' ',
  ),
);

const address = /(?<![\d.-])(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)/g;
/** In brackets, with colons, or with dashes as HTCondor has it in lists of addresses. */
const longAddress = /\[(?=[^\]]*[:-][^\]]*[:-])[0-9a-f:.-]{4,}\]/gi;
const unspecific = /^(?:127\.|0\.0\.0\.0$|255\.)/;

/** `mysql -ualice`: a letter before the name. */
const joinedName = /(?<![\w-])(-[uUl])([A-Za-z][\w.-]*)/g;

/** Where HTCondor, URLs and paths name a host or a user. */
const hostPlaces = [
  /\balias=([\w.-]+)/g,
  /\bslot\w*@([\w.-]+)/g,
  /@([\w-]+(?:\.[\w-]+)+)/g,
  /\w:\/\/([\w-]+(?:\.[\w-]+)+)(?=[:/?#\s]|$)/g,
  /\b([\w-]+(?:\.[\w-]+){2,})(?=:\d{2,5}\b)/g,
  /\b((?:[\w-]+\.){2,}(?:edu|gov|org|net|com|internal|local))\b/g,
  /\b(?:Machine|RemoteHost|Hostname|UtsnameNodename|ScheddName)\s*[:=]\s*"?(?:[^\s"@]*@)?([\w.-]+)/g,
];
const userPlaces = [
  /\/(?:home|Users)\/([\w.-]+)/g,
  /\bby user ([\w.-]+)/g,
  /\b(?:Owner|User|AccountingGroup|AcctGroupUser|NiceUser|notify_user)\s*=\s*"?([\w.-]+)/g,
  /(?<![\w.-])(?!slot\d|glidein)([A-Za-z][\w.-]*)@[\w-]+(?:\.[\w-]+)+/g,
];

/**
 * Replaces the names of users and hosts, addresses and a home folder, each by the same pseudonym everywhere. Texts are
 * shown first (`learn`), so that a name found in one is replaced in all.
 */
export class Pseudonyms {
  readonly #names = new Map<string, string>();
  readonly #counts = { user: 0, host: 0, address: 0 };
  readonly #home: string;
  /** The first parts of all names. */
  readonly #starts = new Set<string>();
  /** How often each kind was replaced. */
  readonly replaced = new Map<string, number>();

  constructor({ users, hosts, home }: { users: readonly string[]; hosts: readonly string[]; home: string }) {
    this.#home = home.length > 1 ? home.replace(/\/$/, '') : '';
    for (const user of users) this.#add('user', user);
    for (const host of hosts) this.#add('host', host);
  }

  learn(text: string): void {
    for (const place of userPlaces) for (const [, name = ''] of text.matchAll(place)) this.#add('user', name);
    for (const place of hostPlaces) for (const [, name = ''] of text.matchAll(place)) this.#add('host', name);
  }

  #add(kind: 'user' | 'host', name: string): void {
    const key = name.replace(/[.-]+$/, '').toLowerCase();
    if (key.length < 2 || /^[\d.-]+$/.test(key) || everybody.has(key) || this.#names.has(key)) return;
    this.#counts[kind] += 1;
    const pseudonym = `${kind}${this.#counts[kind]}`;
    this.#remember(key, pseudonym);
    // Also as the host calls itself; not if that may be a word.
    const [short = '', ...domain] = key.split('.');
    if (kind === 'host' && domain.length > 0 && /[\d-]/.test(short) && !this.#names.has(short))
      this.#remember(short, pseudonym);
  }

  #remember(name: string, pseudonym: string): void {
    this.#names.set(name, pseudonym);
    this.#starts.add(name.split(/[._-]/, 1)[0] ?? '');
  }

  replace(text: string): string {
    const away =
      this.#home === '' ? text : text.replaceAll(this.#home, () => this.#count('home', '/home/me'));
    return away
      .replaceAll(address, (ip) => (unspecific.test(ip) ? ip : this.#address(ip)))
      .replaceAll(longAddress, (ip) => `[${this.#address(ip)}]`)
      .replaceAll(joinedName, (_, option: string, name: string) => option + this.#replaceIn(name))
      .replaceAll(/[\w.-]+/g, (words) => this.#replaceIn(words));
  }

  /** Names may be parts of other words, as in `alice.log` or `data-of-alice`; the longest known one is replaced. */
  #replaceIn(words: string): string {
    const parts = words.split(/([._-])/);
    let replaced = '';
    for (let at = 0; at < parts.length;) {
      const end = this.#starts.has((parts[at] ?? '').toLowerCase()) ? this.#endOfName(parts, at) : at;
      const known = this.#names.get(parts.slice(at, end).join('').toLowerCase());
      replaced += known === undefined ? (parts[at] ?? '') : this.#count(known.replace(/\d+$/, ''), known);
      at = Math.max(end, at + 1);
    }
    return replaced;
  }

  #endOfName(parts: readonly string[], at: number): number {
    for (let end = parts.length; end > at; end -= 1)
      if (this.#names.has(parts.slice(at, end).join('').toLowerCase())) return end;
    return at;
  }

  #address(ip: string): string {
    const known = this.#names.get(ip);
    if (known !== undefined) return this.#count('address', known);
    this.#counts.address += 1;
    const pseudonym = `address${this.#counts.address}`;
    this.#names.set(ip, pseudonym);
    return this.#count('address', pseudonym);
  }

  #count(kind: string, pseudonym: string): string {
    this.replaced.set(kind, (this.replaced.get(kind) ?? 0) + 1);
    return pseudonym;
  }
}
