import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlan, type Plan } from './plan.ts';
import { readSpec } from './read-spec.ts';

const head = 'name = "x"\n[train]\ncommand = "t"\noutputs = ["m"]\n';
const plan = (text: string, folder = '/a'): Plan =>
  makePlan({
    spec: readSpec(head + text, 'updraft.toml'),
    file: `${folder}/updraft.toml`,
    folder,
    files: [{ path: 't.py', bytes: 1000, sha256: '00' }],
  });
const data = (lines: string): string => `[data.d]\n${lines}\n`;

test('equal content has an equal hash, whatever its folder and the order of its keys', () => {
  const one = plan(
    '[run]\njobs = 2\nattempts = 4\n[data.a]\nurl = "osdf:///a/a"\ninto = "a"\n[data.b]\nurl = "osdf:///a/b"\ninto = "b"\n',
  );
  const same = plan(
    '[data.b]\ninto = "b"\nurl = "osdf:///a/b"\n[data.a]\nurl = "osdf:///a/a"\ninto = "a"\n[run]\nattempts = 4\njobs = 2\n',
    '/b',
  );
  assert.equal(one.planHash, same.planHash);
  assert.match(one.planHash, /^[0-9a-f]{64}$/);
});

test('a plan survives being written as JSON', () => {
  const one = plan('[run]\nmatrix = { lr = [1, 2] }\n' + data('url = "osdf:///a/b.tar"'));
  assert.deepEqual(JSON.parse(JSON.stringify(one)), one);
});

test('anything that changes what runs changes the hash, the order of parameters included', () => {
  const hashes = [
    plan(''),
    plan('check = "c"\n'),
    plan('[run.matrix]\na = [1, 2]\nb = [1, 2]\n'),
    plan('[run.matrix]\nb = [1, 2]\na = [1, 2]\n'),
    makePlan({ ...plan(''), jobs: [], files: [{ path: 't.py', bytes: 1000, sha256: '01' }] }),
  ].map(({ planHash }) => planHash);
  assert.equal(new Set(hashes).size, hashes.length);
});

test('the method is decided for every data set, with a reason', () => {
  const method = (lines: string, pool = 'local') => {
    const [source] = plan(`${data(lines)}[run]\npool = "${pool}"\n`).data;
    return [source?.method, source?.why];
  };
  assert.match(method('url = "osdf:///a/b.tar"').join(), /^stream,.*unpacks it as it arrives/);
  assert.doesNotMatch(method('url = "osdf:///a/b"\nunpack = "none"').join(), /unpacks/);
  assert.match(method('url = "https://h/b.tar"').join(), /^https,/);
  assert.match(method('url = "file:///b.tar"').join(), /^native,/);
  assert.match(method('url = "osdf:///a/b"\nmethod = "osdf"', 'condor').join(), /^osdf,the job file says so/);
  assert.match(
    method('url = "osdf:///a/b"\nmethod = "osdf"').join(),
    /^stream,only HTCondor has transfer plugins/,
  );
});

test('the disk is computed from the known sizes, with an explanation', () => {
  assert.deepEqual(plan('[resources]\ndisk = "5 GB"\n').disk, { bytes: 5e9, why: 'the job file says so' });
  assert.equal(plan('').disk.bytes, 1e9 + 1000);
  const sized = plan(data('url = "osdf:///a/b.tar.gz"\nexpect = { bytes = 1000000000 }')).disk;
  assert.equal(sized.bytes, 4e9 + 1000);
  assert.match(sized.why, /3 GB for data\.d \(unpacked, assumed 3 times 1 GB\)/);
  assert.match(
    plan(data('url = "osdf:///a/b.tar.gz"')).disk.why,
    /10 GB for data\.d \(assumed; give its size/,
  );
  const shards = 'url = "osdf:///a/b.shards.json"\nmethod = "on-demand"\nexpect = { bytes = 9000000000 }';
  assert.match(plan(data(shards)).disk.why, /9 GB for data\.d/);
  assert.match(
    plan(data(`${shards}\nkeep = "2 GB"`)).disk.why,
    /2 GB for data\.d \(the shards that are kept\)/,
  );
  const plugin =
    'url = "osdf:///a/b.tar"\nmethod = "osdf"\nexpect = { bytes = 1000 }\n[run]\npool = "condor"';
  assert.match(plan(data(plugin)).disk.why, /2 kB for data\.d \(unpacked, plus its archive\)/);
});
