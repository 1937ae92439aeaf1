import { defined } from '@updraft/base';
import { asFault } from '../../fault.ts';
import type { Located, LocateOptions } from '../../federation/located.ts';
import type { Roster } from './roster.ts';
import type { Setback } from './setback.ts';
import type { TransferOptions } from './transfer-options.ts';

const minReportedWaitMs = 750;

/** Finds the servers of the object: at the start, when they fail, and the origin when all of them are silent. */
export class Search {
  readonly #options: TransferOptions;
  readonly #roster: Roster;
  #forOrigin: Promise<void> | undefined;
  #reported: Setback | undefined;

  constructor(options: TransferOptions, roster: Roster) {
    this.#options = options;
    this.#roster = roster;
  }

  locate(how: LocateOptions): Promise<Located> {
    const { url, locator, tokenFile, signal, onEvent } = this.#options;
    const onWait = (until: number, failed: Error) =>
      onEvent({ kind: 'wait', server: 'director', until, fault: asFault(failed) });
    return locator.locate(url, { ...how, signal, onWait, ...defined({ tokenFile }) });
  }

  /** Asks the director again, for the origin if `direct`; if that fails, the known servers remain. */
  async again(direct: boolean): Promise<void> {
    const { clock, signal, onEvent } = this.#options;
    try {
      const how = { fresh: true, direct: direct && !this.#roster.isExclusive };
      this.#roster.add(await this.locate(how), clock.monotonic());
    } catch (error) {
      signal.throwIfAborted();
      onEvent({ kind: 'setback', server: 'director', fault: asFault(error) });
    }
  }

  /** Asks for the origin, once until bytes arrive again. */
  async forOrigin(): Promise<void> {
    await (this.#forOrigin ??= this.again(true));
  }

  /** Reports, once per setback, that no server can be asked now; short waits are not reported. */
  reportWait(ms: number): void {
    const next = this.#roster.nextUp();
    if (next?.last === undefined || ms < minReportedWaitMs || next.last === this.#reported) return;
    this.#reported = next.last;
    const { clock, onEvent } = this.#options;
    onEvent({ kind: 'wait', server: next.server.host, until: clock.now() + ms, fault: next.last.fault });
  }

  /** Called when bytes arrive. */
  rest(): void {
    this.#forOrigin = undefined;
  }
}
