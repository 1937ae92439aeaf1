import { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import { describeMachine } from '../machine.ts';
import { checkClock } from './check-clock.ts';
import { checkDisk } from './check-disk.ts';
import { checkGpus } from './check-gpus.ts';
import { checkServers } from './check-servers.ts';
import { checkTorch } from './check-torch.ts';
import type { Check, Finding } from './finding.ts';

/**
 * Asks the machine, before anything is fetched, whether it has what the job needs: a slot that cannot do the work is
 * left after a moment, and not after hours of transfer. All is asked at once and told in the journal; the Fault that is
 * thrown names the machine.
 */
export async function testMachine(attempt: Attempt): Promise<void> {
  await test([checkClock, checkDisk, checkGpus, checkServers], attempt);
}

/** The same for what can only be known when the software is there, and before data moves: whether it can use the GPUs. */
export async function testEnvironment(attempt: Attempt): Promise<void> {
  if (attempt.order.resources.gpus > 0) await test([checkTorch], attempt);
}

async function test(checks: Check[], attempt: Attempt): Promise<void> {
  const found = await Promise.all(checks.map((check) => asked(check, attempt)));
  const findings = found.flat();
  attempt.note({ kind: 'self-test', checks: findings.map(({ name, ok, said }) => ({ name, ok, said })) });
  const bad = findings.find(({ ok }) => !ok);
  if (bad !== undefined) throw faultOf(bad, attempt);
}

/** A mistake in a check is no reason to leave a machine. */
async function asked(check: Check, attempt: Attempt): Promise<Finding[]> {
  try {
    return await check(attempt);
  } catch (error) {
    attempt.world.signal.throwIfAborted();
    const said = error instanceof Error ? error.message : String(error);
    return [{ name: check.name, ok: true, said: `could not be asked: ${said}` }];
  }
}

function faultOf({ name, said, fault, fix }: Finding, { world }: Attempt): Fault {
  if (fault !== undefined) return fault;
  const { host, site } = describeMachine(world.env);
  const where = site === undefined ? host : `${host} (${site})`;
  return new Fault('self-test-failed', `${where} failed the self-test: ${name}: ${said}`, {
    fix: fix ?? 'another machine of the pool may have it',
    about: host,
  });
}
