import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import * as doctor from './doctor.ts';

const payload = (claims: object): string =>
  ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'c2ln'].join('.');

/** A machine with only what the test puts there; its OSDF has an invalid host name. */
const bare = { UPDRAFT_OSDF_HOST: 'no host', XDG_RUNTIME_DIR: '/nonexistent', PATH: '/nonexistent' };

test('doctor on a bare machine prints what is missing, why it matters and what to do, and succeeds', async (t) => {
  const cwd = await temporaryFolder(t);
  const { out, err } = await runCommand(doctor, [], { cwd, env: bare, uid: 123_456, outIsTerminal: true });
  assert.match(out, /^ok {2}machine +\d+ CPUs?, .* memory, /m);
  assert.match(out, /^- {3}Apptainer +apptainer or singularity is not on the PATH/m);
  assert.match(
    out,
    /^- {3}HTCondor +there is no HTCondor on this machine[^]*updraft\s+mini pool up[^]*Slurm/m,
  );
  for (const line of out.split('\n').filter((one) => !/\S{60}/.test(one))) assert.ok(line.length <= 80, line);
  assert.match(out, /^- {3}OSDF +.*no host/m);
  assert.match(out, /^- {3}token +none found/m);
  assert.match(err, /updraft mini pool up/);
});

interface Shown {
  name: string;
  ok: boolean;
  said: string;
}

test('programs have their version and path; a token its place and lifetime, and is never printed', async (t) => {
  const cwd = await temporaryFolder(t);
  const pixi = path.join(cwd, 'bin/pixi');
  await mkdir(path.dirname(pixi));
  await writeFile(pixi, '#!/bin/sh\necho pixi 9.9.9\n');
  await chmod(pixi, 0o755);
  const soon = Math.floor(Date.now() / 1000) + 2 * 3600 + 60;
  const token = payload({ exp: soon, 'wlcg.ver': '1.0' });
  await writeFile(path.join(cwd, 'token'), token);
  const env = { ...bare, PATH: path.dirname(pixi), BEARER_TOKEN_FILE: 'token' };
  const { out } = await runCommand(doctor, ['--json'], { cwd, env });
  const { findings } = JSON.parse(out) as { findings: Shown[] };
  const shown = (wanted: string): unknown[] =>
    findings.filter(({ name }) => name === wanted).map(({ ok, said }) => [ok, said]);
  assert.deepEqual(shown('Pixi'), [[true, `pixi 9.9.9 (${pixi})`]]);
  assert.deepEqual(shown('token'), [[true, `${path.join(cwd, 'token')}, valid for 2.0 hours`]]);
  assert.ok(!out.includes(token.split('.')[1]!));
});
