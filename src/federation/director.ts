import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../fault/fault.ts';
import { withBackOff } from './back-off.ts';
import { answerFor, type DirectorAnswer } from './director-answer.ts';
import { readDirectorReply, unreachable, type Question } from './director-reply.ts';
import { unescapePath } from './escape-path.ts';
import { NoAnswer } from './no-answer.ts';
import { isUnder } from './path-prefix.ts';
import type { ControlAnswer, Request } from './request.ts';
import { SharedWork } from './shared-work.ts';

export interface Director {
  /**
   * Asks where an object is. An answer holds for its whole namespace for five minutes; `fresh` asks anyway. While
   * the director is down, its last answer, however old, is better than none.
   */
  ask(
    question: Question,
    options: { fresh: boolean; signal: AbortSignal | undefined },
  ): Promise<DirectorAnswer>;
}

interface DirectorOptions {
  request: Request;
  clock: Clock;
  headers: Record<string, string>;
}

interface Known {
  answer: DirectorAnswer;
  /** The object it was said of. */
  path: string;
  at: number;
}

const keepMs = 5 * 60_000;
/** Patience with a silent director: for a person who waits, and where an older answer can be had instead. */
const patienceMs = { unknown: 30_000, known: 3_000 };

export function createDirector(options: DirectorOptions): Director {
  const { clock } = options;
  /** By question less its object, then by namespace. */
  const known = new Map<string, Map<string, Known>>();
  const shared = new SharedWork<undefined>();

  async function learn(question: Question, signal: AbortSignal): Promise<undefined> {
    const patience = recall(question) === undefined ? patienceMs.unknown : patienceMs.known;
    const answer = await withBackOff({ clock, signal }, async () =>
      readDirectorReply(question, await send(options, question, signal), clock.now(), patience),
    );
    const of = keyOf(question);
    const namespaces = known.get(of) ?? new Map<string, Known>();
    known.set(
      of,
      namespaces.set(answer.namespace ?? question.path, {
        answer,
        path: question.path,
        at: clock.monotonic(),
      }),
    );
  }

  function recall(question: Question): { answer: DirectorAnswer; at: number } | undefined {
    const namespaces = [...(known.get(keyOf(question)) ?? [])].filter(([prefix]) =>
      isUnder(question.path, prefix),
    );
    const longest = namespaces.sort(([a], [b]) => b.length - a.length)[0]?.[1];
    const answer = longest && answerFor(longest.answer, longest.path, question.path);
    return answer && { answer, at: longest.at };
  }

  return {
    async ask(question, { fresh, signal }) {
      const asked = clock.monotonic();
      const isGood = (at: number): boolean => (fresh ? at >= asked : at > clock.monotonic() - keepMs);
      let before = recall(question);
      if (before !== undefined && !fresh && isGood(before.at)) return before.answer;
      // Neighbours in one folder are nearly always in one namespace: the first one's answer serves the others.
      const folder = question.path.slice(0, question.path.lastIndexOf('/'));
      for (const key of [`${keyOf(question)} ${folder}`, `${keyOf(question)} ${question.path}`]) {
        try {
          await shared.run(key, signal, (stop) => learn(question, stop));
        } catch (error) {
          before ??= recall(question);
          if (error instanceof Fault && error.kind === 'director-unreachable' && before !== undefined)
            return before.answer;
          if (!isOfAnother(error, question)) throw error;
        }
        const after = recall(question);
        if (after !== undefined && isGood(after.at)) return after.answer;
      }
      throw unreachable(question, 'answers for another object than the one asked for');
    },
  };
}

/** A neighbour's missing object, found out while we waited for its answer, says nothing of ours. */
function isOfAnother(error: unknown, question: Question): boolean {
  return (
    error instanceof Fault && error.kind === 'object-missing' && error.about !== unescapePath(question.path)
  );
}

async function send(
  options: DirectorOptions,
  question: Question,
  signal: AbortSignal,
): Promise<ControlAnswer | NoAnswer> {
  const { directorUrl, path, query, verb, token } = question;
  const headers =
    token === undefined ? options.headers : { ...options.headers, Authorization: `Bearer ${token}` };
  const url = directorUrl + path + (query === '' ? '' : `?${query}`);
  try {
    return await options.request({ method: verb, url, headers, signal });
  } catch (error) {
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}

function keyOf({ directorUrl, verb, query, token }: Question): string {
  const fingerprint = token === undefined ? '-' : createHash('sha256').update(token).digest('hex');
  return `${directorUrl} ${verb} ${query} ${fingerprint}`;
}
