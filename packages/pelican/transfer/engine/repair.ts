import { Fault } from '../../fault.ts';
import { expectWrong } from '../proof/verify.ts';
import type { SegmentContext } from './fetchers.ts';
import type { Range, SegmentMap } from './segments.ts';

type Repaired = Pick<SegmentContext, 'segments' | 'sink' | 'shownUrl'>;

interface RepairActions {
  /** Hosts that are asked only when there is no other. */
  suspects: Set<string>;
  /** The servers that have sent bytes so far. */
  servers(): readonly { server: string }[];
  /** Whether a server was left out because it has another version. */
  hasOtherVersion(): boolean;
  /** Whether the origin has another version than the one that came. */
  isOlder(): Promise<boolean>;
  /** Called when a server becomes a suspect. */
  onSuspect(server: string, fault: Fault): void;
  /** Fetches what is missing. */
  run(): Promise<void>;
  /** Starts over from the first byte; false if that is impossible. */
  restart(): Promise<boolean>;
  /** The authoritative size of the object; from now on no other is accepted. */
  agreedSize(here: number): Promise<number>;
}

/** Finds the bytes that make the object wrong when only the object as a whole can be verified. */
export class Repair {
  readonly #transfer: Repaired;
  readonly #actions: RepairActions;
  readonly #newSuspects = new Set<string>();
  #suspicions: Suspicions | undefined;
  /** What was wrong with earlier deliveries of the whole, and who sent them. */
  readonly #wrong: { what: string; servers: Set<string> }[] = [];

  constructor(transfer: Repaired, actions: RepairActions) {
    this.#transfer = transfer;
    this.#actions = actions;
  }

  /**
   * Fetches again until some byte differs; throws the Fault if that does not help, even after starting over. If all
   * bytes came twice and are the same, what the user `expects` is wrong: two servers have them, or the only one that
   * delivers.
   */
  async run(fault: Fault, expects: boolean): Promise<void> {
    if (expects) await this.#compareWithEarlier(fault);
    // Other servers sent the same, and there is none left to ask: the expected digest is wrong.
    const isHopeless = this.#suspicions === undefined && !this.#suspectAll(fault);
    const suspicions = (this.#suspicions ??= new Suspicions(this.#transfer.segments));
    // The other version may be what the user expects.
    const isOther = () => expects && this.#wrong.length === 1 && this.#actions.hasOtherVersion();
    if (!isHopeless && (await this.#replace(suspicions, isOther))) return;
    this.#suspicions = undefined;
    const { segments, sink, shownUrl } = this.#transfer;
    const isSame = !isOther() && !isHopeless && suspicions.guilty.length === 0 && sink.rewrite !== undefined;
    if (isSame && expects && !(await this.#actions.isOlder()))
      throw expectWrong(shownUrl, fault.message, [...suspicions.servers, ...segments.senders]);
    if (isSame) await this.run(fault, expects);
    else if (isHopeless || !(await this.#actions.restart())) throw fault;
    else await this.#actions.run();
  }

  /** Throws if other servers have delivered the same before. */
  async #compareWithEarlier({ message: what }: Fault): Promise<void> {
    const { segments, shownUrl } = this.#transfer;
    const servers = new Set(segments.senders);
    const same = this.#wrong.find((each) => each.what === what && servers.isDisjointFrom(each.servers));
    if (same !== undefined && !(await this.#actions.isOlder()))
      throw expectWrong(shownUrl, what, same.servers.union(servers));
    this.#wrong.push({ what, servers });
  }

  /** Nothing verifies the bytes: refetches those that servers withdrew, or all if the size is wrong. True if it did. */
  async refetchUnverified(): Promise<boolean> {
    const { segments } = this.#transfer;
    if (!segments.dropWithdrawn()) {
      const size = await this.#actions.agreedSize(segments.size);
      const isAll = size === segments.size;
      if (isAll && segments.complete) return false;
      const about = this.#transfer.shownUrl;
      const what = `${about}: ${segments.size} bytes came, should be ${size}`;
      if (!isAll && !(await this.#actions.restart())) throw new Fault('object-changed', what, { about });
    }
    await this.#actions.run();
    return true;
  }

  /** The bytes are verified: of the temporary suspects, only those that sent wrong bytes remain. */
  clearSuspects(): void {
    const guilty = this.#suspicions?.guilty ?? [];
    if (guilty.length === 0) return;
    for (const server of this.#newSuspects)
      if (!guilty.includes(server)) this.#actions.suspects.delete(server);
  }

  /** True once a refetched byte differed, or everything was fetched again. */
  async #replace(suspicions: Suspicions, isOther: () => boolean): Promise<boolean> {
    const { sink, segments } = this.#transfer;
    const wasReplaced = sink.rewrite?.();
    if (wasReplaced === undefined) return false;
    for (let next = suspicions.next(); next !== undefined; next = suspicions.next()) {
      for (const range of next.ranges) segments.putBack(range, next.server);
      await this.#actions.run();
      if (isOther()) return false;
      if (this.#transfer.segments !== segments) {
        // The origin has another version than all caches, and everything was fetched again.
        this.#suspicions = undefined;
        return true;
      }
      if (!wasReplaced()) continue;
      suspicions.guilty.push(next.server);
      return true;
    }
    return false;
  }

  /** Suspects all servers that sent bytes; true if any of them is a new suspect. */
  #suspectAll(fault: Fault): boolean {
    const { suspects } = this.#actions;
    const added = this.#actions.servers().filter(({ server }) => !suspects.has(server));
    for (const { server } of added) {
      suspects.add(server);
      this.#newSuspects.add(server);
      this.#actions.onSuspect(server, fault);
    }
    return added.length > 0;
  }
}

/**
 * The object as a whole is wrong, and it is unknown where: each server's bytes are fetched again from another server, a
 * little of each first, then twice as much. Once a server's bytes differ, all it sent comes next.
 */
class Suspicions {
  readonly servers: string[];
  /** Hosts whose bytes turned out wrong. */
  readonly guilty: string[] = [];
  readonly #open: { server: string; ranges: Range[]; share: number }[];

  constructor(segments: SegmentMap) {
    const share = Math.max(1 << 20, segments.size / 64);
    this.servers = segments.senders;
    this.#open = this.servers.map((server) => ({ server, ranges: segments.sentBy(server), share }));
  }

  /** What to fetch again next, and who sent it; undefined when everything was. */
  next(): { server: string; ranges: Range[] } | undefined {
    const known = this.#open.findIndex(({ server }) => this.guilty.includes(server));
    const [next] = this.#open.splice(Math.max(0, known), 1);
    if (next === undefined || known >= 0) return next;
    const { server, share } = next;
    const ranges: Range[] = [];
    const rest: Range[] = [];
    let left = share;
    for (const { start, end } of next.ranges) {
      const to = Math.min(end, start + left);
      if (to > start) ranges.push({ start, end: to });
      if (end > to) rest.push({ start: to, end });
      left -= to - start;
    }
    if (rest.length > 0) this.#open.push({ server, ranges: rest, share: share * 2 });
    return { server, ranges };
  }
}
