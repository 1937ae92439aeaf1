import { createHash } from 'node:crypto';
import { stableJson } from '../base/stable-json.ts';
import type { Order } from '../job/job.ts';
import { noteFolders } from '../job/layout.ts';
import { noteOfPace, paceOfNote, type Pace } from './pace.ts';
import type { SharedNotes } from './shared-notes.ts';

/** So many paces tell enough; each one more costs every attempt a question to the access point. */
const mostPaces = 15;
/** Parameters by which the same work is only done again. */
const repeats = /seed|fold|trial|repeat|replica/i;

/**
 * What the attempts of a run tell each other of how they went through their first epochs, and which jobs have left a
 * machine for being slow. Only jobs with the same parameters are compared: another batch or model is other work.
 */
export class RunNorms {
  readonly #shared: SharedNotes;
  readonly #job: string;
  readonly #me: string;
  readonly #folder: string;
  readonly #known = new Map<string, Pace | undefined>();

  constructor({ job, attempt }: Order, shared: SharedNotes) {
    this.#shared = shared;
    this.#job = job.id;
    this.#me = `${job.id}-${attempt}`;
    const telling = Object.entries(job.parameters).filter(([name]) => !repeats.test(name));
    const like = createHash('sha256').update(stableJson(telling.sort())).digest('hex');
    this.#folder = `${noteFolders.norms}-${like.slice(0, 12)}`;
  }

  /** The paces of other attempts. */
  async others(): Promise<Pace[]> {
    const names = (await this.#shared.list(this.#folder)).filter((name) => name !== this.#me);
    for (const name of names.slice(0, mostPaces))
      if (!this.#known.has(name))
        this.#known.set(name, paceOfNote(await this.#shared.read(`${this.#folder}/${name}`)));
    return [...this.#known.values()].filter((pace) => pace !== undefined);
  }

  /** Tells the others how it went here, unless enough have done so. */
  async tell(pace: Pace): Promise<void> {
    const names = await this.#shared.list(this.#folder);
    if (names.length < mostPaces) await this.#shared.put(`${this.#folder}/${this.#me}`, noteOfPace(pace));
  }

  /** How many machines this job has left for being slow. */
  async leavings(): Promise<number> {
    const names = await this.#shared.list(noteFolders.slow);
    return names.filter((name) => name.startsWith(`${this.#job}-`)).length;
  }

  /** Tells that this attempt leaves; false when nobody would know. */
  async leave(seconds: number): Promise<boolean> {
    return await this.#shared.put(`${noteFolders.slow}/${this.#me}`, seconds.toFixed(3));
  }
}
