import * as events from './osg-events.ts';
import { readOsgJobs, transferParts, type OsgJob, type TransferPart } from './osg-jobs.ts';

/**
 * The event log of the 100 published jobs, from their table: it has what the table says, to the second, and invents
 * nothing else. A gap after a hold is all hold, a gap after an eviction is all lost execution, and a new try begins
 * when the last one broke off; only the submission times are examples. Jobs that ended without a result have exit
 * code 0, like their wrapper.
 */
export function osgLog(): string {
  const written = readOsgJobs().flatMap((job) => new Writer(job).write());
  written.sort((a, b) => a.time - b.time);
  return written.map(({ text }) => text).join('');
}

const modelBytes = 102_540_417;
const firstSubmit = Date.UTC(2024, 5, 10, 9) / 1000;

interface Written {
  time: number;
  text: string;
}

class Writer {
  readonly #job: OsgJob;
  readonly #written: Written[] = [];
  #now: number;

  constructor(job: OsgJob) {
    this.#job = job;
    this.#now = firstSubmit + (job.cluster - 794_569) * 86_400;
  }

  write(): Written[] {
    this.#say(events.submitted());
    this.#now += 120 + this.#job.proc * 45;
    const parts = transferParts(this.#job);
    const gaps = this.#job.transferTotal - parts.reduce((sum, { seconds }) => sum + seconds, 0);
    for (const [index, part] of parts.slice(0, -1).entries())
      this.#brokenPart(part, this.#place(index, parts.length), share(gaps, parts.length - 1, index));
    const last = parts.at(-1);
    if (last !== undefined) this.#lastPart(last, this.#place(parts.length - 1, parts.length));
    return this.#written;
  }

  /** A part that a hold or an eviction ended, and the gap that followed. */
  #brokenPart(part: TransferPart, place: events.Place, gap: number): void {
    if (part.then === 'evicted') {
      this.#transfer(place, part.seconds);
      this.#say(events.inputFinished());
      // If the table has the execution time, the rest is the start and the wait for the next slot.
      const [start, wait] = part.executed === undefined ? [0, 0] : [6, gap - part.executed - 6];
      this.#now += start;
      this.#say(events.executing(place));
      this.#now += gap - start - wait;
      this.#say(events.evicted());
      this.#now += wait;
      return;
    }
    this.#stalls(place, part.seconds, part.stalls);
    if (part.stalls === 0) this.#transfer(place, part.seconds);
    this.#say(events.transferHold(place));
    this.#now += gap;
    this.#say(events.released());
  }

  #lastPart(part: TransferPart, place: events.Place): void {
    const { outcome, lastTransfer, execute = 0, slotBusy = lastTransfer + execute + 2 } = this.#job;
    this.#stalls(place, part.seconds - lastTransfer, part.stalls);
    this.#transfer(place, lastTransfer);
    if (outcome === 'held_transfer') {
      this.#say(...events.missingInput(place));
      return;
    }
    this.#say(events.inputFinished());
    this.#now += 1;
    this.#say(events.executing(place));
    this.#now += execute;
    if (outcome === 'held_compute') {
      this.#say(events.overTime());
      return;
    }
    this.#say(events.outputStarted());
    this.#now += slotBusy - lastTransfer - execute - 1;
    this.#say(events.outputFinished());
    this.#say(events.terminated(outcome === 'success' ? modelBytes : 0, { execute, slotBusy }));
  }

  #stalls(place: events.Place, seconds: number, count: number): void {
    for (let index = 0; index < count; index++) {
      this.#transfer(place, share(seconds, count, index));
      this.#say(events.stalled(place));
    }
  }

  #transfer(place: events.Place, seconds: number): void {
    this.#say(events.inputStarted(place));
    if (place.site !== '') this.#say(events.siteNamed(place));
    this.#now += seconds;
  }

  /** The table names the sites in order; if it names fewer than there are parts, all but the last were at the first. */
  #place(index: number, parts: number): events.Place {
    const { sites, cluster, proc } = this.#job;
    const site = index === parts - 1 ? sites.at(-1) : sites.length === parts ? sites[index] : sites[0];
    return { site: site ?? '', machine: `ep-${cluster}-${proc}-${index + 1}` };
  }

  #say(...texts: string[]): void {
    const id = [this.#job.cluster, this.#job.proc, 0].map((part) => String(part).padStart(3, '0')).join('.');
    const stamp = new Date(this.#now * 1000).toISOString().slice(0, 19).replace('T', ' ');
    for (const text of texts) {
      const at = text.indexOf('|');
      const [number, body] = [text.slice(0, at), text.slice(at + 1)];
      this.#written.push({ time: this.#now, text: `${number} (${id}) ${stamp}Z ${body}\n...\n` });
    }
  }
}

/** The jobs without a result, according to the study. */
export const wrongOutputs = (): Set<string> =>
  new Set(
    readOsgJobs()
      .filter(({ outcome }) => outcome === 'wrong_output')
      .map(({ cluster, proc }) => `${cluster}.${proc}`),
  );

/** An integer share; the remainder goes to the first. */
const share = (whole: number, among: number, index: number): number =>
  Math.floor(whole / among) + (index < whole % among ? 1 : 0);

if (import.meta.main) {
  // A reader that exits early (`| head`) is not an error.
  process.stdout.on('error', () => process.exit());
  process.stdout.write(osgLog());
}
