const slotMs = 250;
const slots = 16;

/** Bytes per second over the last four seconds, in constant memory. */
export class RateMeter {
  readonly #bytes = new Float64Array(slots);
  #slot: number;
  readonly #started: number;

  constructor(now: number) {
    this.#slot = Math.floor(now / slotMs);
    this.#started = now;
  }

  add(bytes: number, now: number): void {
    this.#moveTo(now);
    const at = this.#slot % slots;
    this.#bytes[at] = (this.#bytes[at] ?? 0) + bytes;
  }

  rate(now: number): number {
    this.#moveTo(now);
    const covered = Math.min(now - this.#started, (slots - 1) * slotMs + (now % slotMs));
    if (covered <= 0) return 0;
    return (this.#bytes.reduce((sum, bytes) => sum + bytes, 0) * 1000) / Math.max(covered, 10);
  }

  #moveTo(now: number): void {
    const slot = Math.floor(now / slotMs);
    for (let passed = Math.max(this.#slot + 1, slot - slots + 1); passed <= slot; passed++)
      this.#bytes[passed % slots] = 0;
    this.#slot = Math.max(this.#slot, slot);
  }
}
