import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';

const variables = ['SSL_CERT_FILE', 'X509_CERT_DIR', 'NODE_EXTRA_CA_CERTS'];
const certificate = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]+-----END (?:TRUSTED )?CERTIFICATE-----/g;

/**
 * Certificate authorities to trust: the built-in ones and those that `SSL_CERT_FILE`, `X509_CERT_DIR` and
 * `NODE_EXTRA_CA_CERTS` name (a file or a folder of PEM each). Undefined when none of the three is set, which
 * leaves the runtime its own choice.
 */
export function readTrust(env: Env): string[] | undefined {
  const extra = variables.flatMap((variable) => {
    const place = env[variable];
    return place === undefined || place === '' ? [] : certificatesAt(variable, place);
  });
  if (extra.length === 0) return undefined;
  // The same authority comes with other line breaks from each place, and each time it is read costs.
  const all = [...tls.getCACertificates('default'), ...extra];
  return [...new Map(all.map((pem) => [pem.replace(/\s/g, ''), pem])).values()];
}

const contexts = new WeakMap<string[], tls.SecureContext>();

/** Reading some hundred authorities takes tens of milliseconds: once for all connections that trust the same list. */
export function trustContext(ca: string[]): tls.SecureContext {
  const context = contexts.get(ca) ?? tls.createSecureContext({ ca });
  contexts.set(ca, context);
  return context;
}

function certificatesAt(variable: string, place: string): string[] {
  try {
    const isFolder = fs.statSync(place).isDirectory();
    const found = isFolder ? certificatesIn(place) : certificatesOf(place);
    if (found.length === 0) throw noCertificate(variable, place);
    return found;
  } catch (error) {
    if (error instanceof Fault) throw error;
    // Grid sites set this one for every job, and containers often lack the folder: not the user's doing.
    const isSitesOwn = variable === 'X509_CERT_DIR' && (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isSitesOwn) return [];
    throw unreadable(variable, place, error);
  }
}

/** Grid folders mix certificates with revocation lists and policies, and hold dangling links: those are passed over. */
function certificatesIn(folder: string): string[] {
  const found: string[] = [];
  for (const name of fs.readdirSync(folder).sort()) {
    try {
      found.push(...certificatesOf(path.join(folder, name)));
    } catch {
      continue;
    }
  }
  return found;
}

function certificatesOf(file: string): string[] {
  return fs.readFileSync(file, 'latin1').match(certificate) ?? [];
}

function noCertificate(variable: string, place: string): Fault {
  return new Fault('file-invalid', `${variable}=${place} holds no certificate in PEM form`, {
    about: place,
    fix: `let ${variable} name PEM certificates of the authorities to trust, or unset it`,
  });
}

function unreadable(variable: string, place: string, error: unknown): Fault {
  const why = error instanceof Error ? error.message : String(error);
  return new Fault('file-invalid', `${variable}=${place} cannot be read: ${why}`, {
    about: place,
    fix: `let ${variable} name a readable file or folder, or unset it`,
    cause: error,
  });
}
