import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** Writes ASN.1 values in DER, the encoding of certificates. */

function derValue(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(body.length), body]);
}

const derSequence = (...items: Uint8Array[]): Buffer => derValue(0x30, ...items);

const derSet = (...items: Uint8Array[]): Buffer => derValue(0x31, ...items);

/** A non-negative integer from its big-endian bytes. */
function derInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const significant = first === -1 ? Buffer.from([0]) : bytes.subarray(first);
  // A set top bit would make the number negative.
  const padding = (significant[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return derValue(0x02, padding, significant);
}

const derBoolean = (value: boolean): Buffer => derValue(0x01, Buffer.from([value ? 0xff : 0]));

const derOctetString = (bytes: Uint8Array): Buffer => derValue(0x04, bytes);

/** `unusedBits` of the last byte do not belong to the string. */
const derBitString = (bytes: Uint8Array, unusedBits = 0): Buffer =>
  derValue(0x03, Buffer.from([unusedBits]), bytes);

const derUtf8 = (text: string): Buffer => derValue(0x0c, Buffer.from(text, 'utf8'));

/** An object identifier from its dotted form, such as `2.5.4.3`. */
function derOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return derValue(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** A time as X.509 requires it: two-digit years until 2049. */
function derTime(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  const short = Number(digits.slice(0, 4)) < 2050;
  return derValue(short ? 0x17 : 0x18, Buffer.from(short ? digits.slice(2) : digits, 'latin1'));
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

/** A certificate and its key, both PEM. */
export interface Certificate {
  certificate: string;
  key: string;
}

/** A short-lived certificate authority for one mini federation. */
export interface CertificateAuthority extends Certificate {
  /** A server certificate (and a new key) for these host names and addresses. */
  issue(hosts: string[]): Certificate;
}

const day = 24 * 3600 * 1000;
const ecdsaWithSha256 = derSequence(derOid('1.2.840.10045.4.3.2'));

/** Makes a self-signed CA (P-256), valid from a day before `now` to allow for clock skew. */
export function makeCertificateAuthority(name: string, now: number, validDays = 365): CertificateAuthority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const period = { from: now - day, until: now + validDays * day };
  const shared = { issuer: name, issuerPublic: keys.publicKey, signer: keys.privateKey, ...period };
  const own = signCertificate({
    ...shared,
    subject: name,
    publicKey: keys.publicKey,
    extensions: [
      extension('2.5.29.19', derSequence(derBoolean(true)), true),
      // keyCertSign and cRLSign.
      extension('2.5.29.15', derBitString(Buffer.from([0x06]), 1), true),
    ],
  });
  return {
    certificate: own,
    key: pemKey(keys.privateKey),
    issue(hosts) {
      const server = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const certificate = signCertificate({
        ...shared,
        subject: hosts[0] ?? 'localhost',
        publicKey: server.publicKey,
        extensions: serverExtensions(hosts),
      });
      return { certificate, key: pemKey(server.privateKey) };
    },
  };
}

interface Contents {
  issuer: string;
  issuerPublic: KeyObject;
  signer: KeyObject;
  subject: string;
  publicKey: KeyObject;
  from: number;
  until: number;
  extensions: Buffer[];
}

function signCertificate(contents: Contents): string {
  const body = derSequence(
    derValue(0xa0, derInteger(Buffer.from([2]))),
    derInteger(randomBytes(16)),
    ecdsaWithSha256,
    commonName(contents.issuer),
    derSequence(derTime(contents.from), derTime(contents.until)),
    commonName(contents.subject),
    contents.publicKey.export({ type: 'spki', format: 'der' }),
    derValue(
      0xa3,
      derSequence(
        ...contents.extensions,
        extension('2.5.29.14', derOctetString(keyIdentifier(contents.publicKey))),
        extension('2.5.29.35', derSequence(derValue(0x80, keyIdentifier(contents.issuerPublic)))),
      ),
    ),
  );
  const signature = sign('sha256', body, contents.signer);
  const whole = derSequence(body, ecdsaWithSha256, derBitString(signature)).toString('base64');
  const lines = whole.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function serverExtensions(hosts: string[]): Buffer[] {
  return [
    extension('2.5.29.19', derSequence(), true),
    // digitalSignature.
    extension('2.5.29.15', derBitString(Buffer.from([0x80]), 7), true),
    extension('2.5.29.37', derSequence(derOid('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', derSequence(...hosts.map(alternativeName))),
  ];
}

const alternativeName = (host: string): Buffer =>
  isIPv4(host)
    ? derValue(0x87, Buffer.from(host.split('.').map(Number)))
    : derValue(0x82, Buffer.from(host, 'latin1'));

const commonName = (text: string): Buffer =>
  derSequence(derSet(derSequence(derOid('2.5.4.3'), derUtf8(text))));

const extension = (oid: string, value: Buffer, critical = false): Buffer =>
  derSequence(derOid(oid), ...(critical ? [derBoolean(true)] : []), derOctetString(value));

/** SHA-1 of the public point, which is the last 65 bytes of a P-256 key in SPKI form. */
function keyIdentifier(key: KeyObject): Buffer {
  const spki = key.export({ type: 'spki', format: 'der' });
  return createHash('sha1').update(spki.subarray(-65)).digest();
}

const pemKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
