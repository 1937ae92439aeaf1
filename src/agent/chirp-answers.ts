/** What follows the number of an answer: nothing, as many bytes as the number says, or, unless it is below 0, a line. */
export type Rest = 'nothing' | 'bytes' | 'line';

export interface Answer {
  /** 0 or more when it was done; below 0 says why not. */
  code: number;
  text: string;
}

interface Question {
  rest: Rest;
  answer: (answer: Answer | undefined) => void;
}

/** No answer we ask for is near this; what is larger is not the protocol we know. */
const mostBytes = 4 << 20;

/** Takes a stream of chirp answers apart; they come in the order of the questions. */
export class ChirpAnswers {
  readonly #questions: Question[] = [];
  #heard = Buffer.alloc(0);

  /** The answer to the next question; undefined when the line breaks before. */
  next(rest: Rest): Promise<Answer | undefined> {
    return new Promise((answer) => this.#questions.push({ rest, answer }));
  }

  /** False when this cannot be the answers to what was asked: then nothing that follows can be understood. */
  hear(bytes: Buffer): boolean {
    this.#heard = Buffer.concat([this.#heard, bytes]);
    for (let question = this.#questions[0]; question !== undefined; question = this.#questions[0]) {
      const found = take(this.#heard, question.rest);
      if (found === undefined) return this.#heard.length <= mostBytes;
      if (Number.isNaN(found.answer.code)) return false;
      this.#heard = this.#heard.subarray(found.length);
      this.#questions.shift();
      question.answer(found.answer);
    }
    return this.#heard.length === 0;
  }

  end(): void {
    for (const { answer } of this.#questions.splice(0)) answer(undefined);
  }
}

/** The first answer in what was heard and how long it is; undefined while it is not whole. */
function take(heard: Buffer, rest: Rest): { answer: Answer; length: number } | undefined {
  const end = heard.indexOf('\n');
  if (end < 0) return undefined;
  const line = heard.toString('latin1', 0, end);
  const code = /^-?\d+$/.test(line) ? Number(line) : Number.NaN;
  const start = end + 1;
  const length =
    rest === 'bytes' ? Math.max(code, 0) : rest === 'line' && code >= 0 ? lineLength(heard, start) : 0;
  if (Number.isNaN(code)) return { answer: { code, text: '' }, length: start };
  if (length === undefined || heard.length < start + length) return undefined;
  return { answer: { code, text: heard.toString('utf8', start, start + length) }, length: start + length };
}

function lineLength(heard: Buffer, start: number): number | undefined {
  const end = heard.indexOf('\n', start);
  return end < 0 ? undefined : end + 1 - start;
}
