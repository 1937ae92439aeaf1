import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import type { WorkOrder } from '../../job/job.ts';
import { Chirp, ChirpAnswers } from './chirp.ts';
import { openSharedNotes, type SharedNotes } from './shared-notes.ts';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-notes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function folderNotes(t: TestContext): Promise<{ notes: SharedNotes; folder: string }> {
  const folder = await temporaryFolder(t);
  return { notes: openSharedNotes({ notesFolder: folder } as WorkOrder, undefined), folder };
}

/** A chirp connection to an access point that answers each line as `answer` does. */
async function chirpTo(t: TestContext, answer: (line: string, socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (bytes) => {
      const lines = (text + bytes.toString()).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) answer(line, socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const file = path.join(await temporaryFolder(t), 'chirp');
  await writeFile(file, `127.0.0.1 ${port} cookie\n`);
  const clock = new ManualClock();
  const chirp = await Chirp.open({ _CONDOR_CHIRP_CONFIG: file }, clock);
  assert.ok(chirp);
  t.after(() => chirp.close());
  return { notes: openSharedNotes({} as WorkOrder, chirp), clock };
}

test('a note that one attempt puts is listed and read by the others, and a later one replaces it', async (t) => {
  const { notes, folder } = await folderNotes(t);
  assert.equal(await notes.put('norms/0001-1', '12.5'), true);
  assert.equal(await notes.put('norms/0000-2', '13'), true);
  assert.equal(await notes.put('norms/0001-1', '14'), true);
  assert.deepEqual(await notes.list('norms'), ['0000-2', '0001-1']);
  assert.equal(await notes.read('norms/0001-1'), '14');
  assert.deepEqual((await readdir(path.join(folder, 'norms'))).sort(), ['0000-2', '0001-1']);
});

test('no name leads out of the notes folder, and none throws', async (t) => {
  const { notes, folder } = await folderNotes(t);
  await writeFile(path.join(folder, 'secret'), 'secret');
  for (const name of [
    '../secret',
    'a/../secret',
    'a/b/c',
    '/etc/passwd',
    '.hidden/a',
    'a/.b',
    'a/b c',
    'a',
    '',
  ]) {
    assert.equal(await notes.put(name, 'x'), false, name);
    assert.equal(await notes.read(name), undefined, name);
  }
  assert.deepEqual(await notes.list('..'), []);
  assert.deepEqual(await readdir(folder), ['secret']);
});

test('a note that is empty or too long is refused', async (t) => {
  const { notes } = await folderNotes(t);
  assert.equal(await notes.put('norms/a', ''), false);
  assert.equal(await notes.put('norms/a', 'x'.repeat(5000)), false);
  assert.deepEqual(await notes.list('norms'), []);
});

test('if the notes cannot be written or reached, nothing is stored and nothing fails', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'file'), '');
  for (const order of [{ notesFolder: path.join(folder, 'file') }, {}]) {
    const notes = openSharedNotes(order as WorkOrder, undefined);
    assert.equal(await notes.put('norms/a', 'x'), false);
    assert.deepEqual(await notes.list('norms'), []);
    assert.equal(await notes.read('norms/a'), undefined);
  }
});

test('a pipe, a folder or a large file in place of a note is no note, and nobody waits for it', async (t) => {
  const { notes, folder } = await folderNotes(t);
  const at = (name: string): string => path.join(folder, 'norms', name);
  await mkdir(at('folder'), { recursive: true });
  await writeFile(at('large'), 'x'.repeat(5000));
  execFileSync('mkfifo', [at('pipe')]);
  const other = await open(at('pipe'), 'r+');
  t.after(() => other.close());
  for (const name of await notes.list('norms')) {
    const late = setTimeout(5000, 'it waits', { ref: false });
    assert.equal(await Promise.race([notes.read(`norms/${name}`), late]), undefined, name);
  }
});

test('a note that is being written is not listed', async (t) => {
  const { notes, folder } = await folderNotes(t);
  await mkdir(path.join(folder, 'norms'));
  await writeFile(path.join(folder, 'norms', '.a.0123'), '1');
  assert.deepEqual(await notes.list('norms'), []);
  assert.equal(await readFile(path.join(folder, 'norms', '.a.0123'), 'utf8'), '1');
});

test('chirp replies match their requests, wherever the stream is cut', async () => {
  const stream = Buffer.from('0\n14\n0000-1\n0001-1\n0\n7\n1 2 3\n-3\n4\nné2');
  for (let cut = 1; cut < stream.length; cut++) {
    const answers = new ChirpAnswers();
    const rests = ['nothing', 'bytes', 'nothing', 'line', 'line', 'bytes'] as const;
    const asked = Promise.all(rests.map((rest) => answers.next(rest)));
    assert.ok(answers.receive(stream.subarray(0, cut)) && answers.receive(stream.subarray(cut)));
    assert.deepEqual(await asked, [
      { code: 0, text: '' },
      { code: 14, text: '0000-1\n0001-1\n' },
      { code: 0, text: '' },
      { code: 7, text: '1 2 3\n' },
      { code: -3, text: '' },
      { code: 4, text: 'né2' },
    ]);
  }
});

test('a pool that forbids file access over chirp has no notes', async (t) => {
  const { notes } = await chirpTo(t, (line, socket) =>
    socket.write(line.startsWith('cookie') ? '0\n' : '-8\n'),
  );
  assert.equal(await notes.put('norms/a', 'x'), false);
  assert.deepEqual(await notes.list('norms'), []);
  assert.equal(await notes.read('norms/a'), undefined);
});

test('a silent access point is not waited for, and a late reply still matches its own request', async (t) => {
  let silent: (() => void) | undefined;
  const asked = new Promise<void>((resolve) => (silent = resolve));
  let line: Socket | undefined;
  const { notes, clock } = await chirpTo(t, (text, socket) => {
    line = socket;
    if (text.startsWith('getfile notes/a/late')) silent?.();
    else socket.write(text.startsWith('getfile') ? '3\nnew' : '0\n');
  });
  const late = notes.read('a/late');
  await asked;
  await clock.pass(5000);
  assert.equal(await late, undefined);
  line?.write('3\nold');
  assert.equal(await notes.read('a/new'), 'new');
});

test('a connection that breaks or sends garbage loses notes and nothing else', async (t) => {
  for (const nonsense of [undefined, 'HTTP/1.1 400 Bad Request\r\n']) {
    const { notes } = await chirpTo(t, (line, socket) => {
      if (line.startsWith('cookie')) socket.write('0\n');
      else if (nonsense === undefined) socket.destroy();
      else socket.write(nonsense);
    });
    assert.equal(await notes.put('norms/a', 'x'), false);
    assert.equal(await notes.read('norms/a'), undefined);
  }
});
