import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';
import packageJson from '../../../../package.json' with { type: 'json' };
import { makePlanFrom } from '../../../../test/check/facts.ts';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import {
  agentInput,
  agentObject,
  anyNeedsPlugin,
  describeSent,
  requiredArch,
  withOwnAgent,
} from './job-inputs.ts';

const sha256 = 'ab'.repeat(32);
const url = `osdf:///me/agents/updraft-agent-0.1.0-linux-x64-${sha256}.gz`;
const fetched = '[data.d]\nurl = "osdf:///a/b.tar"\nmethod = "osdf"\n';
const plan = (agent: string, more = '') =>
  makePlanFrom(
    `${more}[run]\npool = "condor"\njobs = 10\n${agent === '' ? '' : `[pool]\nagent = "${agent}"\n`}`,
  );
const sent = async (agent: string, version: '25.14.1' | '24.0.1', more = ''): Promise<string> =>
  (await describeSent(plan(agent, more), version, () => Promise.resolve(55e6))).join('\n');

test('the agent is an input from the access point, a URL, or common to all jobs', () => {
  const own = 'condor/updraft-agent.gz';
  assert.deepEqual(agentInput(plan(''), '25.14.1'), { common: [], input: [own] });
  assert.deepEqual(agentInput(plan(url), '24.0.1'), { common: [], input: [url] });
  const common = [`transfer_common_input = ${own}`];
  assert.deepEqual(agentInput(plan('common'), '25.14.1'), { common, input: [] });
  assert.deepEqual(agentInput(plan('common'), '25.13.2'), { common: [], input: [own] });
});

test('workers fetch the agent under the name that says its hash, unless our plugin must be there first', () => {
  assert.deepEqual(agentObject(plan(url)), { url, sha256, name: url.slice(url.lastIndexOf('/') + 1) });
  assert.equal(agentObject(plan(url, fetched)), undefined);
});

test('an agent of the image is no input; without an image, or with data for the plugin, it is sent', () => {
  const place = `image:/usr/local/bin/updraft-agent-0.1.0-linux-x64-${sha256}`;
  const boxed = '[environment]\nimage = "osdf:///me/image.sif"\n';
  assert.deepEqual(agentInput(plan(place, boxed), '24.0.1'), { common: [], input: [] });
  assert.equal(anyNeedsPlugin(plan(place, boxed)), false);
  assert.equal(anyNeedsPlugin(plan('', boxed)), true);
  for (const more of ['', `${boxed}${fetched}`])
    assert.deepEqual(agentInput(plan(place, more), '24.0.1').input, ['condor/updraft-agent.gz']);
});

test('an agent of another version, or of another build in the image, is not used', async (t) => {
  const folder = await temporaryFolder(t, { agent: 'the agent' });
  const find = () => Promise.resolve({ arch: 'x64', file: path.join(folder, 'agent'), isPacked: false });
  const boxed = '[environment]\nimage = "a.sif"\n';
  const name = `updraft-agent-${packageJson.version}-linux-x64`;
  const named = async (agent: string, more = ''): Promise<string | undefined> =>
    (await withOwnAgent(plan(agent, more), find)).spec.pool?.agent;
  const own = `image:/usr/local/bin/${name}-${hash('sha256', 'the agent')}`;
  assert.equal(await named(own, boxed), own);
  assert.equal(await named(`image:/usr/local/bin/${name}-${sha256}`, boxed), undefined);
  assert.equal(await named(`osdf:///a/${name}-${sha256}.gz`), `osdf:///a/${name}-${sha256}.gz`);
  assert.equal(await named(`osdf:///a/updraft-agent-0.0.9-linux-x64-${sha256}.gz`), undefined);
  const said = await describeSent(plan(own), '24.0.1', () => Promise.resolve(55e6), plan(''));
  assert.match(
    said.join('\n'),
    /the agent is 55\S* MB of it\nnot from \[pool\] agent: that is another version/,
  );
});

test('the bytes of an attempt and of the run include the agent, and say how to send fewer', async () => {
  assert.match(
    await sent('', '24.0.1'),
    /^55\S* MB per attempt from this access point, 550 MB for one attempt of all 10/,
  );
  assert.match(
    await sent('', '24.0.1'),
    /the agent is 55\S* MB of it\nto send it through caches: updraft env agent osdf/,
  );
  assert.doesNotMatch(await sent('', '24.0.1'), /"common"/);
  assert.match(await sent('', '25.14.1'), /once per machine: agent = "common"/);
  assert.match(await sent(url, '24.0.1'), new RegExp(`^0 B per attempt.*\\nthe agent comes from ${url}$`));
  assert.match(
    await sent('common', '25.14.1'),
    /^0 B per attempt.*\nand the agent, 55\S* MB, at least once per machine$/,
  );
  assert.match(
    await sent('common', '24.0.1'),
    /HTCondor 24.0.1 cannot send it once per machine: 25.14.0 can/,
  );
  assert.match(await sent(url, '24.0.1', fetched), /use method = "stream"/);
});

test('the agent is for the architecture that `requirements` names', () => {
  const arch = (text: string) =>
    requiredArch(makePlanFrom(`[run]\npool = "condor"\nrequirements = '${text}'\n`));
  assert.equal(arch('(TARGET.Arch == "aarch64") && HasAVX'), 'arm64');
  assert.equal(arch('Arch =?= "X86_64"'), 'x64');
  assert.equal(arch('Memory > 100'), undefined);
});
