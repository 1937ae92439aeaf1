import { Fault } from '../../fault/fault.ts';
import type { Clock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import {
  type Granted,
  grantedIn,
  isUsable,
  deviceGrant,
  type IssuerMetadata,
  type OAuthClient,
  OAuthRefusal,
  postForm,
  seconds,
  nonEmptyString,
  unusable,
  type Wire,
} from './oauth.ts';

/** What a person is shown: where to go, and the code to compare or type in there. */
export interface Invitation {
  /** Page, with the code in it where the issuer offers that. */
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
/** Whatever an issuer says: nobody waits longer, and no timer takes more than 24 days. */
const [maxInterval, maxLife] = [60, 86_400];
/** By how much an issuer that says `slow_down` wants us to wait longer (RFC 8628). */
const slowDownSeconds = 5;
/** An issuer that is silent while a person decides is asked again. */
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
    throw unusable(issuer, 'its answer names no code and page with an https URL');
  return {
    deviceCode,
    // Both are shown: an issuer must not write lines of its own on the terminal.
    userCode: printable(userCode).slice(0, 100),
    url: new URL(url).href,
    expires: now + Math.min(seconds(said['expires_in']) ?? defaultLifeSeconds, maxLife) * 1000,
    intervalSeconds: Math.min(seconds(said['interval']) ?? defaultIntervalSeconds, maxInterval),
  };
}

/** Polls until the person has decided; throws a Fault that says how it ended otherwise. */
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

/** How long to wait for the next poll, where the answer means that there is one. */
function waitAfter(error: unknown, issuer: string, wait: number): number {
  if (!(error instanceof OAuthRefusal)) throw error;
  switch (error.code) {
    case 'authorization_pending':
    // OA4MP's word for the same.
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
  return new Fault('token-missing', `nobody approved the login at ${issuer} in time`, {
    about: issuer,
    fix: 'run the same command again and open its page while the code is good',
  });
}
