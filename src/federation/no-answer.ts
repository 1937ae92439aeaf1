export type NoAnswerReason = 'timeout' | 'refused' | 'reset' | 'name' | 'certificate' | 'garbage' | 'network';

/** A server gave no usable answer: the network's failure, before any status could be read. */
export class NoAnswer extends Error {
  readonly reason: NoAnswerReason;
  /** `host:port` that was asked. */
  readonly host: string;

  constructor(reason: NoAnswerReason, host: string, what: string, cause?: unknown) {
    super(`${host} ${what}`, cause === undefined ? undefined : { cause });
    this.name = 'NoAnswer';
    this.reason = reason;
    this.host = host;
  }

  /** Whether asking again can help: names that do not exist and certificates nobody signed stay so. */
  get mayPass(): boolean {
    return this.reason !== 'name' && this.reason !== 'certificate';
  }
}

/** What a socket's or parser's error means, in words for a person. */
export function noAnswer(host: string, error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  const [reason, what] = meaning(code, message);
  return new NoAnswer(reason, host, what, error);
}

function meaning(code: string, message: string): [NoAnswerReason, string] {
  switch (code) {
    case 'ECONNREFUSED':
      return ['refused', 'refuses connections'];
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ECONNABORTED':
      return ['reset', 'broke the connection'];
    case 'ETIMEDOUT':
      return ['timeout', 'does not answer in time'];
    case 'ENOTFOUND':
      return ['name', 'is not a known host name'];
    case 'EAI_AGAIN':
      return ['network', 'cannot be looked up: the name service does not answer'];
    default:
      break;
  }
  if (/CERT|UNABLE_TO_|SELF_SIGNED|ALTNAME/.test(code))
    return ['certificate', `has a certificate that is not trusted: ${message.split(';', 1)[0] ?? ''}`];
  if (code.startsWith('HPE_') || code.startsWith('ERR_SSL_') || code === 'EPROTO')
    return ['garbage', `does not speak the protocol: ${message}`];
  return ['network', `cannot be reached: ${message}`];
}
