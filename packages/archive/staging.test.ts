import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { Staging } from './open-unpacker.ts';

const hidden = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith('.updraft-unpack-'));

test('what a killed process left half unpacked is removed when the next one unpacks there', async (t) => {
  const folder = await temporaryFolder(t);
  const code = `import { Staging } from ${JSON.stringify(path.join(import.meta.dirname, 'open-unpacker.ts'))};
    new Staging(${JSON.stringify(folder)}); console.log('up'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const [left = ''] = hidden(folder);
  writeFileSync(path.join(folder, left, 'tree', 'half'), 'half a file');
  await new Staging(folder).remove();
  assert.deepEqual(hidden(folder), [left], 'kept while its process lives');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await new Staging(folder).remove();
  assert.deepEqual(hidden(folder), []);
});

test('a hidden folder whose owner is unknown or out of sight is kept', async (t) => {
  const folder = await temporaryFolder(t);
  const staging = new Staging(folder);
  t.after(() => staging.remove());
  const [mine = ''] = hidden(folder);
  const owner = JSON.parse(readFileSync(path.join(folder, mine, 'owner.json'), 'utf8')) as { start: string };
  const [boot = '', space = '', ticks = ''] = owner.start.split('/');
  const owners = {
    none: undefined,
    nonsense: '[',
    elsewhere: JSON.stringify({ ...owner, host: 'another.example', start: `another-boot/${space}/${ticks}` }),
    container: JSON.stringify({ ...owner, start: `${boot}/${space}1/${ticks}` }),
  };
  for (const [name, text] of Object.entries(owners)) {
    mkdirSync(path.join(folder, `.updraft-unpack-${name}`));
    if (text !== undefined) writeFileSync(path.join(folder, `.updraft-unpack-${name}`, 'owner.json'), text);
  }
  await new Staging(folder).remove();
  for (const name of Object.keys(owners))
    assert.ok(existsSync(path.join(folder, `.updraft-unpack-${name}`)), name);
});
