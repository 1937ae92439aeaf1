import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { sites } from '@updraft/mini/pool';
import { executable } from '../agent/agent-harness.ts';
import { demoFederation } from '../mini/demo-federation.ts';
import { agentOnWorkers, poolRoot, startOwnPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type AccessPoint, accessPoint } from './access-point.ts';
import { followTroubles } from './follow-troubles.ts';
import { imageRegistry } from './image-registry.ts';
import { everyday } from './troubles/all.ts';
import { aboutLargeInput, type Federated } from './troubles/large-input.ts';
import { aboutPoolLines, likeThosePools } from './troubles/pool-lines.ts';

test('jobs are in the trouble that is reported, and the advised lines end it', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { name } = await imageRegistry(t);
  await followTroubles(here, everyday(`${name}:1`));
});

test('input that is too large for the access point comes from a federation', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  if (!existsSync(executable)) t.skip(`${path.basename(executable)} is not built (npm run build:agent)`);
  else await followTroubles(here, aboutLargeInput(await federated(t, here)));
});

async function federated(t: TestContext, { pool }: AccessPoint): Promise<Federated> {
  const { federation } = await demoFederation(t);
  const variables = { UPDRAFT_OSDF_HOST: federation.discoveryHost, UPDRAFT_SSL_CERT_FILE: 'ca.pem' };
  const pairs = Object.entries(variables).map((pair) => pair.join('='));
  return {
    lines: ['transfer_plugins = osdf=updraft_plugin.sh', `environment = "${pairs.join(' ')}"`],
    files: {
      'ca.pem': await readFile(federation.caFile),
      'updraft_plugin.sh': await readFile(await agentOnWorkers(pool, executable)),
    },
    url: 'osdf:///demo/big.bin',
  };
}

test("jobs need a pool's own lines where it is configured as the OSPool and CHTC are", async (t) => {
  const root = await poolRoot();
  if ('lacks' in root) {
    t.skip(root.lacks);
    return;
  }
  const home = await temporaryFolder(t);
  const { state, stop } = await startOwnPool({ root: root.folder, home, sites, config: likeThosePools });
  t.after(stop);
  const here = await accessPoint(t, state);
  if (here !== undefined) await followTroubles(here, aboutPoolLines);
});
