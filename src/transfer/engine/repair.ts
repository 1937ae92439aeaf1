import { Fault } from '../../fault/fault.ts';
import type { SegmentContext } from './deliver.ts';
import type { Range, SegmentMap } from './segments.ts';

type Repaired = Pick<SegmentContext, 'segments' | 'sink' | 'shownUrl'>;

interface RepairActions {
  /** Hosts that are asked only when there is nobody else. */
  suspects: Set<string>;
  /** Who took part so far. */
  servers(): readonly { server: string }[];
  /** Somebody is suspected from now on. */
  accused(server: string, fault: Fault): void;
  /** Fetches what is missing. */
  run(): Promise<void>;
  /** Everything is missing again: false where that cannot be. */
  restart(): Promise<boolean>;
  /** The size that the object has by those who know; nothing else counts from now on. */
  agreedSize(here: number): Promise<number>;
}

/** Finds the bytes that make the whole wrong, where nothing but the whole can be proven. */
export class Repair {
  readonly #transfer: Repaired;
  readonly #actions: RepairActions;
  readonly #accused = new Set<string>();
  #suspicions: Suspicions | undefined;

  constructor(transfer: Repaired, actions: RepairActions) {
    this.#transfer = transfer;
    this.#actions = actions;
  }

  /** Fetches again until some byte is another one; throws the Fault where all of it came, and from the start, too. */
  async run(fault: Fault): Promise<void> {
    // Others sent the same, and there is nobody else: what the bytes are held against is wrong.
    const isHopeless = this.#suspicions === undefined && !this.#accuse(fault);
    const suspicions = (this.#suspicions ??= new Suspicions(this.#transfer.segments));
    if (!isHopeless && (await this.#replace(suspicions))) return;
    this.#suspicions = undefined;
    if (!isHopeless && suspicions.guilty.length === 0 && this.#transfer.sink.rewrite !== undefined)
      await this.run(fault);
    else if (isHopeless || !(await this.#actions.restart())) throw fault;
    else await this.#actions.run();
  }

  /** Nothing proves the bytes: true if some came again, taken back by their servers or of another size than it has. */
  async fetchDoubtful(): Promise<boolean> {
    const { segments } = this.#transfer;
    if (!segments.dropDoubted()) {
      const size = await this.#actions.agreedSize(segments.size);
      if (size === segments.size) return false;
      const about = this.#transfer.shownUrl;
      const what = `${about}: ${segments.size} bytes came, should be ${size}`;
      if (!(await this.#actions.restart())) throw new Fault('object-changed', what, { about });
    }
    await this.#actions.run();
    return true;
  }

  /** The bytes are proven: of those suspected for a while, only who sent wrong ones stays so. */
  acquit(): void {
    const guilty = this.#suspicions?.guilty ?? [];
    if (guilty.length === 0) return;
    for (const server of this.#accused) if (!guilty.includes(server)) this.#actions.suspects.delete(server);
  }

  /** True once something that came again was different, or all of it came anew. */
  async #replace(suspicions: Suspicions): Promise<boolean> {
    const { sink, segments } = this.#transfer;
    const wasReplaced = sink.rewrite?.();
    if (wasReplaced === undefined) return false;
    for (let next = suspicions.next(); next !== undefined; next = suspicions.next()) {
      for (const range of next.ranges) segments.putBack(range, next.server);
      await this.#actions.run();
      if (this.#transfer.segments !== segments) {
        // The origin has another version than all caches, and all of it came anew.
        this.#suspicions = undefined;
        return true;
      }
      if (!wasReplaced()) continue;
      next.differs();
      return true;
    }
    return false;
  }

  /** Suspects whoever took part: true if some of them were not suspected before. */
  #accuse(fault: Fault): boolean {
    const { suspects } = this.#actions;
    const added = this.#actions.servers().filter(({ server }) => !suspects.has(server));
    for (const { server } of added) {
      suspects.add(server);
      this.#accused.add(server);
      this.#actions.accused(server, fault);
    }
    return added.length > 0;
  }
}

interface Suspicion {
  server: string;
  /** What it sent that was not fetched again yet. */
  rest: Range[];
  /** Something of it differed when it came from somebody else. */
  isGuilty: boolean;
}

/** The first share of each server's bytes that is fetched again; the next ones double. */
const firstShare = 1 / 64;
const minShareBytes = 1 << 20;

/**
 * All bytes together are proven wrong, and nobody knows which: who sent what is fetched again from somebody else, a
 * little of each server first. One whose bytes differ is found out by that, and all it sent comes next.
 */
class Suspicions {
  readonly #suspicions: Suspicion[];
  #share: number;
  #turn = 0;

  constructor(segments: SegmentMap) {
    this.#suspicions = segments.senders.map((server) => ({
      server,
      rest: segments.sentBy(server),
      isGuilty: false,
    }));
    this.#share = Math.max(minShareBytes, segments.size * firstShare);
  }

  /** Hosts whose bytes turned out wrong. */
  get guilty(): string[] {
    return this.#suspicions.filter(({ isGuilty }) => isGuilty).map(({ server }) => server);
  }

  /** What to fetch again now, and who sent it; undefined when all of it was. */
  next(): { server: string; ranges: Range[]; differs: () => void } | undefined {
    const open = this.#suspicions.filter(({ rest }) => rest.length > 0);
    const suspicion = open.find(({ isGuilty }) => isGuilty) ?? open[this.#turn % open.length];
    if (suspicion === undefined) return undefined;
    if (++this.#turn % open.length === 0) this.#share *= 2;
    const ranges = cut(suspicion.rest, suspicion.isGuilty ? Infinity : this.#share);
    suspicion.rest = subtract(suspicion.rest, ranges);
    return { server: suspicion.server, ranges, differs: () => (suspicion.isGuilty = true) };
  }
}

/** The first bytes of these ranges, as many as wanted. */
function cut(ranges: readonly Range[], bytes: number): Range[] {
  const taken: Range[] = [];
  let left = bytes;
  for (const { start, end } of ranges) {
    if (left <= 0) break;
    const to = Math.min(end, start + left);
    taken.push({ start, end: to });
    left -= to - start;
  }
  return taken;
}

/** The ranges without their first ones. */
function subtract(ranges: readonly Range[], first: readonly Range[]): Range[] {
  const end = first.at(-1)?.end ?? 0;
  return ranges
    .filter((range) => range.end > end)
    .map((range) => ({ start: Math.max(range.start, end), end: range.end }));
}
