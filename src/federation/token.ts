import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';
import { fits, readClaims, type TokenClaims, type TokenUse } from './token-claims.ts';
import { createTokenFiles, tokenPlaces, type TokenPlace } from './token-places.ts';

/** Whose token, where the user says. */
export interface TokenChoice {
  /** Only this file counts. */
  tokenFile?: string;
  /** HTCondor's name of the credential: looked for first. */
  credential?: string;
  /** The named credential or nothing: for hosts that no federation vouches for. */
  onlyNamed?: boolean;
}

export interface Tokens {
  /**
   * The token for a use: the first found that is unexpired and fits, else the first unexpired. Throws
   * `token-missing` or `token-expired`, which name places and times but never a token. Files are read again
   * when they change.
   */
  find(use: TokenUse, choice: TokenChoice): Promise<string>;
}

interface TokenWorld {
  env: Env;
  cwd: string;
  uid: number;
  clock: Clock;
}

interface Candidate {
  place: string;
  token: string;
  claims: TokenClaims | undefined;
}

export function createTokens(world: TokenWorld): Tokens {
  const files = createTokenFiles();
  return {
    async find(use, choice) {
      const places = await tokenPlaces(world, choice);
      const looked: string[] = [];
      const found: Candidate[] = [];
      for (const place of places) {
        const token = 'token' in place ? place.token : await files.read(place.file);
        looked.push(token === undefined ? `${nameOf(place)} (no token)` : nameOf(place));
        if (token !== undefined) found.push({ place: nameOf(place), token, claims: readClaims(token) });
      }
      return choose(found, use, world.clock.now(), looked);
    },
  };
}

function choose(found: Candidate[], use: TokenUse, now: number, looked: string[]): string {
  const current = found.filter(({ claims }) => claims?.expires === undefined || claims.expires > now);
  const fitting = current.find(({ claims }) => claims !== undefined && fits(claims, use));
  const chosen = fitting ?? current[0];
  if (chosen !== undefined) return chosen.token;
  const expired = found[0];
  throw expired === undefined ? missing(use, looked) : tooOld(use, expired);
}

function tooOld(use: TokenUse, { place, claims }: Candidate): Fault {
  const when = new Date(claims?.expires ?? 0).toISOString();
  return new Fault('token-expired', `the token for ${use.namespace} from ${place} expired at ${when}`, {
    about: place,
    fix: `get a new one into ${place}; ${howToGet(use)}`,
  });
}

function missing(use: TokenUse, looked: string[]): Fault {
  const where = looked.length === 0 ? 'nowhere to look' : looked.join(', ');
  return new Fault(
    'token-missing',
    `${use.namespace} asks for a token and none was found; looked at: ${where}`,
    {
      about: use.path,
      fix: howToGet(use),
    },
  );
}

/** What to do about a token that is missing, old or refused. */
export function howToGet(use: TokenUse): string {
  const from = use.issuers[0] === undefined ? '' : ` from ${use.issuers[0]}`;
  const scope = use.verb === 'PUT' ? 'storage.create' : 'storage.read';
  return `get a token with scope ${scope}${from}, put it in a file and name that: \`token_file\` in a job file, BEARER_TOKEN_FILE at the prompt`;
}

function nameOf(place: TokenPlace): string {
  return 'token' in place
    ? place.name
    : place.because === undefined
      ? place.file
      : `${place.because} (${place.file})`;
}
