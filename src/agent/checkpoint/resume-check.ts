import { comparePositions, positionIn, type Position } from './record.ts';

/**
 * Finds out whether a training that was given a checkpoint goes on from it. It does when it tells a position past the
 * checkpoint's, and does not when it counts up from where it once began from nothing.
 */
export class ResumeCheck {
  readonly #from: Position;
  readonly #began: Position | undefined;
  #first: Position | undefined;
  #isDone = false;

  constructor(from: Position, began: Position | undefined) {
    this.#from = from;
    this.#began = began;
  }

  /** The verdict, once, when what the training tells now decides it. */
  hear(told: Position): (Position & { movedOn: boolean }) | undefined {
    const position = positionIn(told);
    const ahead = comparePositions(position, this.#from);
    if (this.#isDone || ahead === undefined) return undefined;
    this.#first ??= position;
    // A first word, such as a banner, is not yet a count.
    const counts = (comparePositions(position, this.#first) ?? 0) > 0;
    const movedOn = ahead > 0 && !this.#beganAgain();
    if (!movedOn && !(counts && this.#beganAgain())) return undefined;
    this.#isDone = true;
    return { movedOn, ...position };
  }

  /** Whether its first word is nearer to the beginning than to the checkpoint, in epochs or else in steps. */
  #beganAgain(): boolean {
    const [began, first, from] = [this.#began ?? {}, this.#first ?? {}, this.#from];
    if ((comparePositions(first, from) ?? 0) >= 0) return false;
    const unit = began.epoch !== from.epoch ? 'epoch' : 'step';
    const [start, now, saved] = [began[unit], first[unit], from[unit]];
    if (start === undefined || now === undefined || saved === undefined) return false;
    return now - start < saved - now;
  }
}
