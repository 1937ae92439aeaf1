import { createHash } from 'node:crypto';
import type { Clock } from '@updraft/base';
import { Fault } from '../fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer, Request } from '../http/request.ts';
import { Listeners, withBackOff, type OnWait } from './back-off.ts';
import { answerFor, readDirectorReply, type DirectorAnswer, type Question } from './director-answer.ts';
import { isUnder, unescapePath } from './escape-path.ts';
import { SharedWork } from './shared-work.ts';

export interface Director {
  /**
   * Asks where an object is. An answer is valid for its namespace for five minutes; `fresh` asks anyway. While the
   * director is down, its last answer is used, however old.
   */
  ask(
    question: Question,
    options: { fresh: boolean; signal: AbortSignal | undefined; onWait?: OnWait | undefined },
  ): Promise<DirectorAnswer>;
}

interface DirectorOptions {
  request: Request;
  clock: Clock;
  headers: Record<string, string>;
}

interface KnownAnswer {
  answer: DirectorAnswer;
  /** The object that the answer is about. */
  path: string;
  at: number;
}

const ttlMs = 5 * 60_000;
/** A director may know no servers for up to five minutes after its start. */
const timeouts = { silent: 30_000, starting: 5 * 60_000 };
/** If an older answer can be used instead. */
const shortTimeouts = { silent: 3_000, starting: 3_000 };

export function createDirector(options: DirectorOptions): Director {
  const { clock } = options;
  /** By question without its object, then by namespace. */
  const known = new Map<string, Map<string, KnownAnswer>>();
  const shared = new SharedWork<KnownAnswer>();
  const listeners = new Listeners();

  async function learn(question: Question, signal: AbortSignal): Promise<KnownAnswer> {
    const waiting = recall(question) === undefined ? timeouts : shortTimeouts;
    const onWait = listeners.say(keyOf(question));
    const answer = await withBackOff({ clock, signal, onWait }, async () =>
      readDirectorReply(question, await send(options, question, signal), clock.now(), waiting),
    );
    const learnt = { answer, path: question.path, at: clock.monotonic() };
    const namespaces = known.get(keyOf(question)) ?? new Map<string, KnownAnswer>();
    known.set(keyOf(question), namespaces.set(scopeOf(learnt), learnt));
    return learnt;
  }

  function recall(question: Question): KnownAnswer | undefined {
    const namespaces = known.get(keyOf(question))?.values() ?? [];
    const fitting = [...namespaces].filter((one) => answerTo(question, one) !== undefined);
    return fitting.sort((one, other) => scopeOf(other).length - scopeOf(one).length)[0];
  }

  /** Objects in one folder are nearly always in one namespace: the first one's answer serves the others. */
  async function askWithNeighbours(
    question: Question,
    signal: AbortSignal | undefined,
  ): Promise<DirectorAnswer> {
    const folder = question.path.slice(0, question.path.lastIndexOf('/') + 1);
    const ask = (key: string): Promise<KnownAnswer> =>
      shared.run(`${keyOf(question)} ${key}`, signal, (stop) => learn(question, stop));
    try {
      const answer = answerTo(question, await ask(folder));
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!isOfAnother(error, question)) throw error;
    }
    return (await ask(question.path)).answer;
  }

  return {
    async ask(question, { fresh, signal, onWait }) {
      const before = recall(question);
      const answer = before && answerTo(question, before);
      if (answer !== undefined && !fresh && before !== undefined && before.at > clock.monotonic() - ttlMs)
        return answer;
      try {
        return await listeners.during(keyOf(question), onWait, askWithNeighbours(question, signal));
      } catch (error) {
        const isDown = error instanceof Fault && error.kind === 'director-unreachable';
        if (isDown && answer !== undefined) return answer;
        throw error;
      }
    },
  };
}

/** What the answer covers: its namespace, or only the object if it names none that contains the object. */
const scopeOf = ({ answer, path }: KnownAnswer): string =>
  answer.namespace !== undefined && isUnder(path, answer.namespace) ? answer.namespace : path;

function answerTo(question: Question, known: KnownAnswer): DirectorAnswer | undefined {
  return isUnder(question.path, scopeOf(known))
    ? answerFor(known.answer, known.path, question.path)
    : undefined;
}

/** Another object of the folder is missing, found while we waited for its answer; that says nothing about ours. */
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
