import type { Clock } from '@updraft/base';

export type Say = (line: string, transient?: boolean) => void;

/** The steps of mmdebstrap, with the rough share of its time that each takes. */
const shares = { base: 0.2, fetching: 0.1, unpacking: 0.3, 'setting up': 0.25, copying: 0.15 };
type Step = keyof typeof shares;
const steps = Object.keys(shares) as Step[];

/**
 * What mmdebstrap does, how far it is and how long it will take, from what it and its apt and dpkg print. It first
 * installs a base system, then the packages that were named.
 */
export class BuildProgress {
  readonly #clock: Clock;
  readonly #say: Say;
  readonly #startedAt: number;
  #step: Step = 'base';
  #isNamed = false;
  #megabytes = { done: 0, all: 0 };
  #packages = { done: 0, all: 0 };

  constructor(clock: Clock, say: Say) {
    this.#clock = clock;
    this.#say = say;
    this.#startedAt = clock.monotonic();
  }

  line(text: string): void {
    if (/^I: installing remaining packages/.test(text)) this.#isNamed = true;
    if (/^I: creating tarball/.test(text)) this.#begin('copying', 'copying the files');
    if (!this.#isNamed) {
      if (text.startsWith('I: ')) this.#show(`base system: ${text.slice(3).replace(/\.*$/, '')}`, 0);
      return;
    }
    const [, count] = /(\d+) newly installed/.exec(text) ?? [];
    if (count !== undefined) this.#packages.all = Number(count);
    const all = megabytesIn(/^Need to get (\S+ \S+) of archives/.exec(text)?.[1]);
    if (all !== undefined) {
      this.#megabytes.all = all;
      this.#begin('fetching', `fetching ${all} MB in ${this.#packages.all} packages`);
    }
    this.#fetched(text);
    this.#installed('unpacking', /^Unpacking (\S+)/.exec(text)?.[1]);
    this.#installed('setting up', /^Setting up (\S+)/.exec(text)?.[1]);
  }

  #fetched(text: string): void {
    const [, name = '', size] = /^Get:\d+ \S+ \S+ \S+ (\S+) .*\[([^\]]+)\]$/.exec(text) ?? [];
    const megabytes = megabytesIn(size);
    if (megabytes === undefined || this.#step !== 'fetching') return;
    const { all, done } = this.#megabytes;
    this.#show(`fetching ${name}: ${Math.round(done)} of ${Math.round(all)} MB`, done / all);
    this.#megabytes.done += megabytes;
  }

  #installed(step: 'unpacking' | 'setting up', name: string | undefined): void {
    if (name === undefined) return;
    // dpkg sets some packages up before it has unpacked them all.
    if (this.#step === 'fetching' || (step === 'setting up' && this.#packages.done >= this.#packages.all - 1))
      if (this.#step !== step) this.#begin(step, `${step} ${this.#packages.all} packages`);
    if (this.#step !== step) return;
    const { all, done } = this.#packages;
    this.#show(`${step} ${name.replace(/:.*/, '')}: ${done} of ${all} packages`, done / all);
    this.#packages.done += 1;
  }

  #begin(step: Step, what: string): void {
    this.#step = step;
    this.#packages.done = 0;
    this.#say(what);
  }

  #show(what: string, share: number): void {
    const before = steps.slice(0, steps.indexOf(this.#step)).reduce((sum, one) => sum + shares[one], 0);
    const done = before + shares[this.#step] * Math.min(1, share);
    const elapsed = this.#clock.monotonic() - this.#startedAt;
    const left = Math.ceil((elapsed * (1 - done)) / done / 1000);
    const minutes = Math.ceil(left / 60);
    const words = done < shares.base ? '' : `, about ${left < 90 ? `${left} s` : `${minutes} min`} left`;
    this.#say(`${what}${words}`, true);
  }
}

/** `66.5 MB`, `193 kB` and `512 B` as apt prints sizes. */
function megabytesIn(size: string | undefined): number | undefined {
  const [, figure, unit = ''] = /^([\d.,]+) (k|M|G)?B$/.exec(size ?? '') ?? [];
  if (figure === undefined) return undefined;
  const factor: Record<string, number> = { '': 1e-6, k: 1e-3, M: 1, G: 1e3 };
  return Number(figure.replaceAll(',', '')) * (factor[unit] ?? 0);
}
