import type { FaultKind } from '../../fault/kinds.ts';
import type { Fault } from '../../fault/fault.ts';

/** What went wrong in the words and numbers of Pelican's client, which sites' tools and dashboards know. */
interface ErrorCode {
  code: number;
  type: string;
  /** Whether HTCondor's policies should try the job again. */
  retryable: boolean;
}

const code = (code: number, type: string, retryable: boolean): ErrorCode => ({ code, type, retryable });
const broken = code(6000, 'Transfer', true);
const unknown = code(0, 'Unprocessed', false);

const codes: Partial<Record<FaultKind, ErrorCode>> = {
  'url-invalid': code(1000, 'Parameter', false),
  'order-invalid': code(1000, 'Parameter', false),
  'file-invalid': code(1011, 'Parameter.FileNotFound', false),
  'discovery-failed': code(2002, 'Resolution.ConnectionFailure', true),
  'servers-unreachable': code(3006, 'Contact.ConnectionSetup', true),
  'token-refused': code(4000, 'Authorization', false),
  'token-expired': code(4000, 'Authorization', true),
  'token-missing': code(4010, 'Authorization.TokenNotFound', false),
  'archive-kind': code(5000, 'Specification', false),
  'archive-unsafe': code(5000, 'Specification', false),
  'scratch-unusable': code(5002, 'Specification.FileNotCreated', true),
  // Another machine may have more room.
  'disk-full': code(5002, 'Specification.FileNotCreated', true),
  // Said only when the origin or every server agrees, so another try finds the same.
  'object-missing': code(5011, 'Specification.FileNotFound', false),
  // Of all commands that can be wrong, the plugin has one: to upload over something.
  usage: code(5012, 'Specification.FileAlreadyExists', false),
  'transfer-failed': broken,
  'object-changed': broken,
  'data-wrong': broken,
  'archive-damaged': broken,
  interrupted: broken,
  evicted: broken,
  'transfer-stalled': code(6001, 'Transfer.StoppedTransfer', true),
  'director-unreachable': code(6005, 'Transfer.DirectorTimeout', true),
  'data-corrupt': code(6006, 'Transfer.ChecksumMismatch', true),
};

export const errorCodeOf = (fault: Fault): ErrorCode => codes[fault.kind] ?? unknown;
