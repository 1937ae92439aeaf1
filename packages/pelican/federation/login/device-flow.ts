import { Fault } from '../../fault.ts';
import { type Clock, printable } from '@updraft/base';
import type { OAuthClient } from './login-store.ts';
import {
  type Granted,
  grantedIn,
  isUsable,
  deviceGrant,
  type IssuerMetadata,
  OAuthRefusal,
  postForm,
  seconds,
  nonEmptyString,
  unusable,
  type Wire,
} from './oauth.ts';

/** What to show to the user: the page to open, and the code to compare or type in there. */
export interface Invitation {
  /** The page; its URL contains the code if the issuer offers that. */
  url: string;
  userCode: string;
  /** Milliseconds since the epoch. */
  expires: number;
}

export interface PendingLogin extends Invitation {
  deviceCode: string;
  intervalSeconds: number;
}

const defaultIntervalSeconds = 5;
const defaultLifeSeconds = 600;
/** Limits on what an issuer asks for; a timer takes no more than 24 days. */
const [maxInterval, maxLife] = [60, 86_400];
/** How much longer to wait after an issuer's `slow_down` (RFC 8628). */
const slowDownSeconds = 5;
/** How often to retry an issuer that does not answer while the user decides. */
const maxSilentTries = 5;

/** Asks for a code (RFC 8628). */
export async function askForCode(
  wire: Wire,
  { issuer, device }: IssuerMetadata,
  client: OAuthClient,
  { scope, now }: { scope: string; now: number },
): Promise<PendingLogin> {
  if (device === undefined) throw unusable(issuer, 'it offers no login by device code');
  const said = await postForm(wire, issuer, device, client, { scope });
  const [deviceCode, userCode] = [nonEmptyString(said['device_code']), nonEmptyString(said['user_code'])];
  const url =
    nonEmptyString(said['verification_uri_complete']) ?? nonEmptyString(said['verification_uri']) ?? '';
  if (deviceCode === undefined || userCode === undefined || !isUsable(url, wire))
    throw unusable(issuer, 'its answer lacks a code or a page with an https URL');
  return {
    deviceCode,
    // Both are shown: an issuer must not write its own lines to the terminal.
    userCode: printable(userCode).slice(0, 100),
    url: new URL(url).href,
    expires: now + Math.min(seconds(said['expires_in']) ?? defaultLifeSeconds, maxLife) * 1000,
    intervalSeconds: Math.min(seconds(said['interval']) ?? defaultIntervalSeconds, maxInterval),
  };
}

/** Polls until the user has decided; throws a Fault if the login was denied or timed out. */
export async function awaitApproval(
  wire: Wire,
  { issuer, token }: IssuerMetadata,
  client: OAuthClient,
  { asking: pending, clock }: { asking: PendingLogin; clock: Clock },
): Promise<Granted> {
  let [wait, triesLeft] = [pending.intervalSeconds, maxSilentTries];
  const fields = { grant_type: deviceGrant, device_code: pending.deviceCode };
  for (;;) {
    await clock.sleep(Math.min(wait * 1000, Math.max(0, pending.expires - clock.now())), wire.signal);
    if (clock.now() >= pending.expires) throw expired(issuer);
    try {
      return grantedIn(issuer, await postForm(wire, issuer, token, client, fields));
    } catch (error) {
      if (error instanceof Fault && error.kind === 'servers-unreachable' && triesLeft-- > 0) wait *= 2;
      else wait = waitAfter(error, issuer, wait);
    }
  }
}

/** How long to wait for the next poll, if the answer allows one. */
function waitAfter(error: unknown, issuer: string, wait: number): number {
  if (!(error instanceof OAuthRefusal)) throw error;
  switch (error.code) {
    case 'authorization_pending':
    // OA4MP's name for the same.
    case 'consent_required':
      return wait;
    case 'slow_down':
      return wait + slowDownSeconds;
    case 'expired_token':
      throw expired(issuer);
    case 'access_denied':
      throw new Fault('token-refused', `the login at ${issuer} was denied`, {
        about: issuer,
        fix: 'log in again and approve it, as a user who may use this namespace',
      });
    default:
      throw unusable(issuer, error.message, 'token-refused');
  }
}

function expired(issuer: string): Fault {
  return new Fault('token-missing', `the login at ${issuer} was not approved in time`, {
    about: issuer,
    fix: 'run the same command again and open its page while the code is valid',
  });
}
