import { Fault } from '../fault/fault.ts';
import type { FaultKind } from '../fault/kinds.ts';
import { retryAfterMs, type Try } from './back-off.ts';
import { parseDirectorAnswer, type DirectorAnswer } from './director-answer.ts';
import { unescapePath } from './escape-path.ts';
import { errorText } from '../http/error-text.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/request.ts';

/** What a director is asked. */
export interface Question {
  directorUrl: string;
  verb: 'GET' | 'PUT';
  /** Escaped path of the object. */
  path: string;
  /** Without the `?`. */
  query: string;
  token?: string;
}

/** How long to go on asking, in milliseconds. */
export interface DirectorPatience {
  silent: number;
  /** One that has just started knows no servers yet. */
  starting: number;
}

/** It, or something in front of it, is being changed; or it is no director. */
const nonsenseMs = 3_500;

/** Decides what a director's reply to a question means, and whether to ask again. */
export function readDirectorReply(
  question: Question,
  reply: ControlAnswer | NoAnswer,
  now: number,
  patience: DirectorPatience,
): Try<DirectorAnswer> {
  if (reply instanceof NoAnswer)
    return {
      failed: unreachable(question, `gives no answer: ${reply.message}`, reply),
      again: reply.mayPass,
      patienceMs: patience.silent,
    };
  if (reply.status >= 300 && reply.status < 400) return readRedirect(question, reply);
  const afterMs = retryAfterMs(reply.headers['retry-after'], now);
  const wait = afterMs === undefined ? {} : { afterMs };
  if (reply.status === 429) {
    const failed = unreachable(question, `has just started and knows no servers yet: ${words(reply)}`);
    return { failed, again: true, patienceMs: patience.starting, ...wait };
  }
  const isPelican = (reply.headers['server'] ?? '').startsWith('pelican/');
  const isIngress = !isPelican && reply.status === 404;
  if (reply.status >= 500 || isIngress) {
    const who = isPelican
      ? ''
      : ` (something in front of it: ${reply.headers['server'] ?? 'it does not say what'})`;
    return {
      failed: unreachable(question, `answers ${reply.status}${who}: ${words(reply)}`),
      again: true,
      patienceMs: patience.silent,
      ...wait,
    };
  }
  return { failed: refusal(question, reply), again: false, patienceMs: 0 };
}

function readRedirect(question: Question, reply: ControlAnswer): Try<DirectorAnswer> {
  const answer = parseDirectorAnswer(reply.headers);
  if (answer !== undefined) return { done: answer };
  const failed = unreachable(
    question,
    `answers nonsense: status ${reply.status} with no server in its Link or Location`,
  );
  return { failed, again: true, patienceMs: nonsenseMs };
}

function unreachable(question: Question, why: string, cause?: unknown): Fault {
  const host = new URL(question.directorUrl).host;
  return new Fault('director-unreachable', `the director ${host} ${why}`, {
    about: host,
    fix: 'wait and run it again; if it lasts, ask whoever runs the federation',
    cause,
  });
}

function refusal(question: Question, reply: ControlAnswer): Fault {
  const object = unescapePath(question.path);
  const [kind, what, fix] = reasonOf(question, reply, object);
  const host = new URL(question.directorUrl).host;
  return new Fault(kind, `${what} (the director ${host} answers ${reply.status}: ${words(reply)})`, {
    about: object,
    fix,
  });
}

function reasonOf(question: Question, reply: ControlAnswer, object: string): [FaultKind, string, string] {
  switch (reply.status) {
    case 404:
      return /no caches can fulfill/i.test(reply.body)
        ? ['servers-unreachable', `no cache can serve ${object}`, 'try again later, or with ?directread']
        : [
            'object-missing',
            `${object} is not in the federation`,
            'check the spelling of the path; list its folder',
          ];
    case 405:
      return question.verb === 'PUT'
        ? [
            'url-invalid',
            `${object} is where nothing can be uploaded`,
            'choose a path in a namespace that allows writes',
          ]
        : [
            'servers-unreachable',
            `no origin of ${object} allows this`,
            'read it through the caches, without ?directread',
          ];
    case 401:
    case 403:
      return ['token-refused', `access to ${object} is refused`, 'get a token for this namespace'];
    case 400:
      return [
        'url-invalid',
        `the director does not understand the request for ${object}`,
        'check the query of the URL',
      ];
    default:
      return ['director-unreachable', 'the director answers nonsense', 'wait and run it again'];
  }
}

function words(reply: ControlAnswer): string {
  return errorText(reply.body) || 'no explanation';
}
