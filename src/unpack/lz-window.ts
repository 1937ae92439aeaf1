/** How much room is added to the dictionary, so that sliding it is rare. */
const slack = 4 << 20;

/** The bytes decoded last, as far back as matches may reach. They lie in one stretch and slide down now and then. */
export class LzWindow {
  bytes = Buffer.alloc(1 << 16);
  /** Where the next byte goes. */
  at = 0;
  /** How far back matches may reach at most. */
  readonly dictionary: number;

  constructor(dictionary: number) {
    this.dictionary = dictionary;
  }

  /** How far back a match may reach by now. */
  get reach(): number {
    return Math.min(this.at, this.dictionary);
  }

  /** Forgets everything. */
  reset(): void {
    this.at = 0;
  }

  /** Makes room for so many bytes; what was handed out before is valid no more. */
  reserve(count: number): void {
    if (this.at + count <= this.bytes.length) return;
    const most = this.dictionary + Math.max(slack, this.dictionary);
    if (this.bytes.length < most) {
      const bigger = Buffer.alloc(Math.min(most, Math.max(2 * this.bytes.length, this.at + count)));
      this.bytes.copy(bigger, 0, 0, this.at);
      this.bytes = bigger;
    }
    if (this.at + count <= this.bytes.length) return;
    this.bytes.copyWithin(0, this.at - this.reach, this.at);
    this.at = this.reach;
  }
}
