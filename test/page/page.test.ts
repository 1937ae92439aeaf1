import assert from 'node:assert/strict';
import { appendFile, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { renderPage } from '../../scripts/build-page.ts';
import type { Tab } from '../browser/chromium.ts';
import { openChromium } from '../browser/shared-chromium.ts';
import * as report from '../../src/cli/commands/report.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let text = '';
before(async () => {
  text = await renderPage();
});

const logs = path.resolve(import.meta.dirname, '../eventlogs');
const submits = path.resolve(import.meta.dirname, '../adopt');

interface Wish {
  width?: number;
  height?: number;
}

/** The page in a new tab; undefined without a browser. */
async function opened(t: TestContext, { width, height }: Wish = {}): Promise<Tab | undefined> {
  const browser = await openChromium(t);
  if (browser === undefined) return undefined;
  const tab = await browser.open(width, height);
  await tab.go(pathToFileURL(await written(t, 'updraft.html', text)).href);
  await tab.until(`document.readyState === 'complete' && document.querySelector('#choose')`);
  return tab;
}

/** Chooses files, as a person does in the browser's dialog, and waits for the result. */
async function choose(tab: Tab, ...files: string[]): Promise<void> {
  const { root } = (await tab.send('DOM.getDocument')) as { root: { nodeId: number } };
  const { nodeId } = (await tab.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#files' })) as {
    nodeId: number;
  };
  await tab.send('DOM.setFileInputFiles', { nodeId, files });
  await tab.until(`!document.querySelector('#result').hidden`);
}

/** Drops files and folders on the page, as a person does with the mouse. */
async function drop(tab: Tab, files: string[], items: object[] = []): Promise<void> {
  const data = { items, files, dragOperationsMask: 1 };
  await tab.read(`(() => {
    window.isDropped = false;
    addEventListener('drop', () => (window.isDropped = true), { once: true });
  })()`);
  // A busy browser forgets a drop if the page has not answered its dragOver yet.
  do
    for (const type of ['dragEnter', 'dragOver', 'drop'])
      await tab.send('Input.dispatchDragEvent', { type, x: 200, y: 200, data });
  while (!(await tab.read<boolean>('window.isDropped')));
}

/** Chooses one of several, as a person does. */
const pick = (tab: Tab, choice: string, value: string): Promise<unknown> =>
  tab.read(`(() => {
    const choice = document.querySelector('${choice}');
    choice.value = '${value}';
    choice.dispatchEvent(new Event('change'));
  })()`);

/** Writes a file for one test. */
async function written(t: TestContext, name: string, content: string | Uint8Array): Promise<string> {
  const file = path.join(await temporaryFolder(t), name);
  await writeFile(file, content);
  return file;
}

const event = (number: string, job: string, text: string, at = '10:00:00'): string =>
  `${number} (${job}.000.000) 2026-03-04 ${at} ${text}\n...\n`;

test('the page is one small file that names nothing outside it, and its build is deterministic', async () => {
  assert.ok(Buffer.byteLength(text) <= 1e6, `${Buffer.byteLength(text)} bytes`);
  const [policy = ''] = /(?<=Policy" content=").*?(?=")/.exec(text) ?? [];
  assert.match(policy, /^default-src 'none'; .*; worker-src blob:; connect-src 'none';/);
  assert.ok(!policy.includes('unsafe-'), policy);
  for (const needed of [
    /["']node:/,
    /\bBuffer\./,
    /\beval\(/,
    /new Function\(/,
    /<(?:link|img|iframe)\b/,
    /\ssrc="/,
  ])
    assert.equal(needed.exec(text)?.[0], undefined);
  assert.equal(await renderPage(), text);
});

test('a log of a held job gives its report, and a click explains the job', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  await choose(tab, path.join(logs, 'hold404.log'));
  assert.equal(await tab.text('h1'), 'Where the time went: hold404.log');
  assert.match(await tab.text('.same'), /updraft report hold404\.log/);
  assert.match(await tab.text('#summary'), /jobs\s+1 \(1 held\)/);
  assert.match(await tab.text('#causes'), /1 held: an input was not found \(404\)/);
  await tab.click('#causes button.job');
  await tab.untilText('dialog[open]', 'held: an input was not found (404)');
  assert.match(await tab.text('dialog'), /hold404\.log, byte \d+[^]+Code 13 Subcode[^]+condor_release/);
  assert.match(await tab.text('dialog .same'), /updraft why hold404\.log \d+\.0/);
  await tab.press('Escape');
  await tab.until(`document.querySelector('dialog[open]') === null`);
  assert.deepEqual(tab.errors, []);
  assert.ok(
    tab.requests.slice(1).every((url) => url.startsWith('blob:')),
    tab.requests.join(' '),
  );
});

test('the saved report is what `report --html` writes', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const log = path.join(logs, 'p_ckptevict.log');
  await choose(tab, log);
  // Keeps the file instead of downloading it.
  await tab.read(`(() => {
    URL.createObjectURL = (blob) => { window.saved = blob; return ''; };
    HTMLAnchorElement.prototype.click = () => undefined;
  })()`);
  await tab.click('#save');
  const cwd = await temporaryFolder(t);
  await runCommand(report, [log, '--html', 'page.html'], { cwd });
  assert.equal(
    await tab.read<string>('window.saved.text()'),
    await readFile(path.join(cwd, 'page.html'), 'utf8'),
  );
});

test('several logs, one of them compressed, are one report', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const plain = await readFile(path.join(logs, 'normal.log'));
  const packed = await written(t, 'normal.log.gz', gzipSync(plain));
  await choose(tab, packed, path.join(logs, 'exit3.log'), path.join(logs, 'p_memhold.log'));
  assert.match(
    await tab.text('h1'),
    /normal\.log\.gz and 2 more|exit3\.log and 2 more|p_memhold\.log and 2 more/,
  );
  assert.match(await tab.text('#causes'), /held: it used more memory than requested/);
  assert.match(await tab.text('#causes'), /failed: /);
  assert.match(await tab.read('document.title'), /^Where the time went: .* and 2 more · Updraft$/);
  // A job of each log, by the group and by the table that name it.
  for (const [table, log, said] of [
    ['#causes', 'p_memhold.log', 'It used more memory than requested'],
    ['#causes', 'exit3.log', 'exited with code 3'],
    ['#jobs', 'normal.log.gz', 'normal.log.gz'],
  ]) {
    const button = `[...document.querySelectorAll('${table} button.job')].find((one) => one.innerText.includes('${log}'))`;
    await tab.read(`${button}.click()`);
    await tab.untilText('dialog[open]', said ?? '');
    assert.match(await tab.text('dialog .same'), /updraft why/);
    await tab.press('Escape');
    await tab.until(`document.querySelector('dialog[open]') === null`);
  }
  await pick(tab, '#by', 'log');
  await tab.untilText('#grouped', 'exit3.log');
  assert.match(await tab.text('#grouped'), /updraft report .*--by log/);
  assert.deepEqual(tab.errors, []);
});

test('ads of condor_q -l are explained, and a log in UTF-16 is read', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const ad =
    'ClusterId = 7\nProcId = 2\nJobStatus = 5\nQDate = 1767225600\nHoldReasonCode = 34\nHoldReasonSubCode = 102\n' +
    'HoldReason = "Error from slot1@e1: Job has gone over cgroup memory limit of 2048 megabytes."\n\n';
  await choose(tab, await written(t, 'queue.txt', ad));
  assert.equal(await tab.text('h1'), 'Why: queue.txt');
  assert.match(await tab.text('#causes'), /1 held: it used more memory than requested/);
  assert.match(await tab.text('.same'), /updraft why queue\.txt/);
  await tab.click('#causes button.job');
  await tab.untilText('dialog[open]', 'gone over cgroup memory limit');
  await tab.press('Escape');
  await tab.click('#restart');
  const table =
    '12.0  ada  11/16 09:12 via condor_hold (by user ada)\r\n12.1  ada  11/16 09:12 Job credentials are not available\r\n';
  await choose(tab, await written(t, 'hold.txt', table));
  assert.equal(await tab.text('h1'), 'Why: hold.txt');
  await tab.click('#causes button.job');
  await tab.untilText('dialog[open]', 'via condor_hold');
  assert.match(await tab.text('dialog[open]'), /updraft why hold\.txt$/);
  await tab.press('Escape');
  await tab.click('#restart');
  await choose(tab, await written(t, 'wide.log', Buffer.from('\ufeff000 (1.0.0)', 'utf16le')));
  assert.match(await tab.text('#result'), /wide\.log is in UTF-16[^]+iconv/);
  assert.deepEqual(tab.errors, []);
});

test('a compressed log is read if it is whole and of one part', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const whole = gzipSync(await readFile(path.join(logs, 'normal.log')));
  await choose(tab, await written(t, 'whole.log.gz', whole));
  assert.match(await tab.text('#summary'), /jobs\s+1\b/);
  for (const [name, bytes] of [
    ['two.log.gz', Buffer.concat([whole, whole])],
    ['torn.log.gz', whole.subarray(0, -20)],
  ] as const) {
    await tab.click('#restart');
    await choose(tab, await written(t, name, bytes));
    assert.match(await tab.text('#result'), new RegExp(`${name} is cut, damaged or of several parts`));
    assert.match(await tab.text('#result'), new RegExp(`gunzip -c ${name}`));
  }
});

test('files and folders can be dropped, also while something is read or explained', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const shown = `!document.querySelector('#result').hidden`;
  await drop(tab, [path.join(logs, 'hold404.log')]);
  await tab.until(shown);
  assert.equal(await tab.text('h1'), 'Where the time went: hold404.log');
  // Text cannot be read as a log: what is shown stays.
  await drop(tab, [], [{ mimeType: 'text/plain', data: 'Held' }]);
  assert.equal(await tab.text('h1'), 'Where the time went: hold404.log');
  await tab.click('#causes button.job');
  await tab.untilText('dialog[open]', 'hold404.log');

  const folder = path.join(await temporaryFolder(t), 'logs');
  await mkdir(path.join(folder, 'inner'), { recursive: true });
  await cp(path.join(logs, 'exit3.log'), path.join(folder, 'inner', 'exit3.log'));
  await cp(path.join(logs, 'p_memhold.log'), path.join(folder, 'p_memhold.log'));
  await symlink('nowhere', path.join(folder, 'dangling.log'));
  await drop(tab, [folder]);
  await tab.untilText('h1', 'and 1 more');
  await tab.until(shown);
  assert.equal(await tab.read('document.querySelector("dialog").open'), false);
  assert.match(await tab.text('#summary'), /jobs\s+2\b/);

  await drop(tab, [folder]);
  await drop(tab, [path.join(logs, 'normal.log')]);
  await tab.untilText('h1', 'normal.log');
  await tab.until(shown);
  assert.equal(await tab.read<number>(`document.querySelectorAll('#summary').length`), 1);
  assert.match(await tab.text('#summary'), /jobs\s+1\b/);

  const empty = path.join(await temporaryFolder(t), 'empty');
  await mkdir(empty);
  await drop(tab, [empty]);
  await tab.untilText('#result', 'nothing to read');
  assert.deepEqual(tab.errors, []);
});

test('a log that changed after it was chosen gives a clear message', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const log = await written(t, 'live.log', await readFile(path.join(logs, 'normal.log')));
  // Its worker starts to read when the file has changed already.
  await tab.read(`(() => {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (...all) { window.go = () => post.apply(this, all); };
  })()`);
  const { root } = (await tab.send('DOM.getDocument')) as { root: { nodeId: number } };
  const { nodeId } = (await tab.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#files' })) as {
    nodeId: number;
  };
  await tab.send('DOM.setFileInputFiles', { nodeId, files: [log] });
  await tab.until('window.go');
  await appendFile(log, 'more\n');
  await tab.read('window.go()');
  await tab.untilText('#result', 'live.log cannot be read, or changed while it was read');
});

test('a submit file is linted with the script that was chosen with it', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const folder = path.join(submits, 'pipe-loses-status');
  await choose(tab, path.join(folder, 'job.sub'), path.join(folder, 'run.sh'));
  assert.match(await tab.text('#result h2'), /^job\.sub: .*error/);
  assert.match(await tab.text('#result'), /run\.sh:\d+\s+pipe-status-lost/);
  assert.match(await tab.text('.same'), /updraft adopt job\.sub/);
  assert.equal(await tab.read('document.title'), 'What to fix: job.sub · Updraft');
  assert.doesNotMatch(await tab.text('#result'), /ProjectName/);
  await pick(tab, '#pool', 'ospool');
  await tab.untilText('#findings', 'ProjectName');
  const blocks = `[...document.querySelectorAll('.finding pre')].map((one) => one.innerText)`;
  assert.ok((await tab.read<string[]>(blocks)).includes('+JobDurationCategory = "Medium"'));
  await choose(tab, path.join(folder, 'run.sh'));
  await tab.untilText('#result', 'a script is checked with the submit file that runs it');
  assert.deepEqual(tab.errors, []);
});

test('a DAG is linted with the submit files that were chosen with it', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const dag = await written(t, 'flow.dag', 'JOB A a.sub\nJOB B a.sub\nPARENT A CHILD B\nPARENT B CHILD A\n');
  await choose(tab, dag, await written(t, 'a.sub', 'executable = run.sh\nqueue\n'));
  assert.match(await tab.text('#result h2'), /^flow\.dag: 2 nodes; \d+ errors?/);
  assert.match(await tab.text('#result'), /flow\.dag:\d+\s+[a-z-]*cycle/);
  assert.match(await tab.text('.same'), /updraft adopt flow\.dag/);
  assert.deepEqual(tab.errors, []);
});

test('a DAG that is dropped with its files and logs is reported by node, its inner DAGs too', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  await drop(tab, [path.resolve(import.meta.dirname, '../fixtures/dag-inner')]);
  await tab.until(`!document.querySelector('#result').hidden`);
  assert.match(await tab.text('h1'), /^Where the time went: .*flow\.dag$/);
  assert.match(await tab.text('#summary'), /nodes\s+8 \(1 failed, 1 without a job\)\s+jobs\s+5\b/);
  assert.match(await tab.text('#path'), /fetch[^]+tune\/a[^]+tune\/b/);
  assert.match(await tab.text('#not-submitted'), /it waits for tune, which failed\s+merge/);
  assert.match(await tab.text('#findings h2'), /^flow\.dag: 8 nodes, 4 of them in 2 inner DAGs/);
  assert.match(await tab.text('#causes'), /1 failed: the program exited with an error/);
  assert.match(await tab.text('.same'), /updraft report \S*flow\.dag; updraft adopt \S*flow\.dag$/);
  await tab.read(
    `[...document.querySelectorAll('#causes button.job')].find((one) => one.innerText === 'merge').click()`,
  );
  await tab.untilText('dialog[open]', 'it waits for tune, which failed');
  assert.deepEqual(tab.errors, []);
});

test('a dropped folder is checked as a whole, and packed logs in it are named first', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const folder = await temporaryFolder(t, {
    'p/job.sub': 'executable = run.sh\noutput = logs/out\nerror = none/err\nlog = a.log\nqueue\n',
    'p/run.sh': '#!/bin/bash\nset -e\npython3 train.py\n',
    'p/b.log.bz2': 'BZh91AY',
    'p/README.md': 'executable = run.sh\nqueue\n',
  });
  await mkdir(path.join(folder, 'p/logs'));
  await cp(path.join(logs, 'normal.log'), path.join(folder, 'p/a.log'));
  await drop(tab, [path.join(folder, 'p')]);
  await tab.until(`!document.querySelector('#result').hidden`);
  const said = await tab.text('#result');
  assert.ok(said.indexOf('not read, because packed: p/b.log.bz2') < said.indexOf('Summary'));
  assert.match(said, /Not read: no event log[^]+: 1$/);
  assert.match(await tab.text('#findings'), /folder-missing[^]+none/);
  assert.doesNotMatch(await tab.text('#findings'), /README|logs does not exist|Not checked/);
  assert.deepEqual(tab.errors, []);
});

test('a pasted hold reason is explained', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  await tab.click('#reason');
  await tab.type(
    'Error from slot1@e1: Job has gone over cgroup memory limit of 2048 megabytes. Peak usage: 1940 megabytes, see https://bob:planted1@h/x',
  );
  await tab.click('#paste button');
  await tab.untilText('dialog[open]', 'It used more memory than requested: 2048 MB requested');
  assert.match(
    await tab.text('dialog .same'),
    /updraft why --reason 'Error from slot1@e1.*see https:\/\/h\/x'/,
  );
  assert.deepEqual(tab.errors, []);
});

test('a pasted log is read as a log', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const log = await readFile(path.join(logs, 'exit3.log'), 'utf8');
  await tab.read(`document.querySelector('#reason').value = ${JSON.stringify(`\n${log}`)}`);
  await tab.click('#paste button');
  await tab.until(`!document.querySelector('#result').hidden`);
  assert.match(await tab.text('h1'), /pasted\.log/);
  assert.match(await tab.text('#causes'), /1 failed: /);
  await tab.click('#restart');
  assert.equal(await tab.read('document.querySelector("#reason").value'), '');
  assert.deepEqual(tab.errors, []);
});

test('an id that two large logs share explains the job of the log that is clicked', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const update = '006 (2.000.000) 2026-01-01 10:00:05 Image size of job updated: 1\n...\n';
  const log = (reason: string, host: string): string =>
    `000 (1.000.000) 2026-01-01 10:00:00 Job submitted from host: <${host}>\n...\n` +
    `012 (1.000.000) 2026-01-01 10:00:01 Job was held.\n\t${reason}\n\tCode 1 Subcode 0\n...\n` +
    `000 (2.000.000) 2026-01-01 10:00:02 Job submitted from host: <${host}>\n...\n` +
    update.repeat(8_200_000 / update.length);
  const one = await written(t, 'a.log', log('via condor_hold (by user ada)', '192.0.2.1:1'));
  const two = await written(t, 'b.log', log('via condor_hold (by user bob)', '192.0.2.2:1'));
  await choose(tab, one, two);
  const button = `[...document.querySelectorAll('#causes button.job')].find((one) => one.innerText.includes('#2'))`;
  assert.match(await tab.read(`${button}.innerText`), /b\.log: 1\.0#2$/);
  await tab.read(`${button}.click()`);
  // Its lines come with a second reading.
  await tab.untilText('dialog[open]', '012 Job was held');
  const said = await tab.text('dialog[open]');
  assert.match(said, /by user bob/);
  assert.doesNotMatch(said, /by user ada/);
  assert.match(await tab.text('dialog .same'), /'1\.0#2'$/);
});

test('markup in a log, a submit file and a reason is shown as text', async (t) => {
  const tab = await opened(t, { width: 390, height: 844 });
  if (tab === undefined) return;
  const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
  const log = await written(
    t,
    'a<b>.log',
    event('000', '001', `Job submitted from host: <10.0.0.1:9618>\n    DAG Node: ${hostile}`) +
      event(
        '001',
        '001',
        `Job executing on host: <10.0.0.2:9618>\n\tSlotName: slot1@${hostile}\n\tGLIDEIN_Site: ${hostile}`,
      ) +
      event('012', '001', `Job was held.\n\t${hostile}\n\tCode 99 Subcode 1`, '10:30:00'),
  );
  const submit = await written(t, 'x.sub', `executable = ${hostile}\n${hostile} = 1\nqueue\n`);
  await choose(tab, log, submit);
  await tab.untilText('#causes', '<img src=x onerror=');
  await tab.click('#causes button.job');
  await tab.untilText('dialog[open]', '<script>window.hacked=1</script>');
  await tab.press('Escape');
  assert.equal(await tab.read<number>(`document.querySelectorAll('img, main script').length`), 0);
  assert.equal(await tab.read('window.hacked ?? null'), null);
  const wide = await tab.read<number>('document.documentElement.scrollWidth');
  assert.ok(wide <= 390, `${wide} pixels wide`);
  assert.deepEqual(tab.errors, []);
});

for (const [name, file, content, message] of [
  [
    'a binary file',
    'model.pt',
    Uint8Array.from({ length: 5000 }, (_, at) => (at * 197) % 256),
    /no HTCondor event in model\.pt/,
  ],
  [
    'a text that is no log',
    'notes.txt',
    'Dear all,\n\nsee you on Monday.\n',
    /no HTCondor event in notes\.txt[^]+fix: use the event log/,
  ],
  [
    'a damaged .gz',
    'a.log.gz',
    gzipSync('x'.repeat(99_999)).subarray(0, 12),
    /a\.log\.gz is cut, damaged or of several parts/,
  ],
  [
    'a log in .xz',
    'a.log.xz',
    Uint8Array.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4]),
    /a\.log\.xz is compressed with xz, and the page reads only \.gz[^]+xz -dk a\.log\.xz/,
  ],
  [
    'a log in .zst',
    'a.log.zst',
    Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 4]),
    /a\.log\.zst is compressed with zstd[^]+zstd -dk a\.log\.zst/,
  ],
  ['an empty file', 'empty.log', '', /The log has no events: no job has been submitted yet\./],
] as const)
  test(`${name} gives a clear message, and the next file is read`, async (t) => {
    const tab = await opened(t);
    if (tab === undefined) return;
    await choose(tab, await written(t, file, content));
    assert.match(await tab.text('#result'), message);
    await tab.click('#restart');
    await tab.until(`document.querySelector('#result').hidden`);
    await choose(tab, path.join(logs, 'normal.log'));
    assert.match(await tab.text('#summary'), /success\s+1 \(100/);
    assert.deepEqual(tab.errors, []);
  });

test('beside a log that is read, one that the page cannot unpack is named, with the command that does', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const packed = await written(t, 'b c.log.zst', Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 4]));
  await choose(tab, path.join(logs, 'normal.log'), packed);
  await tab.untilText('#summary', 'success');
  await tab.untilText('#result .fault', 'packed: b c.log.zst');
  await tab.untilText('#result .fault', 'zstd -dk');
  assert.doesNotMatch(await tab.text('#result'), /Not read:/);
  assert.deepEqual(tab.errors, []);
});

test('the keyboard alone reads the sample, explains a job and returns', async (t) => {
  const tab = await opened(t);
  if (tab === undefined) return;
  const focused = () => tab.read<string>(`document.activeElement.id || document.activeElement.innerText`);
  const tabTo = async (name: string) => {
    for (let presses = 0; presses < 40; presses++) {
      await tab.press('Tab');
      if ((await focused()) === name) return;
    }
    throw new Error(`${name} was not reached`);
  };
  await tabTo('sample');
  await tab.press('Enter');
  await tab.until(`!document.querySelector('#result').hidden`);
  await tab.untilText('.verdict', 'of the loss has one cause: the transfer stalled');
  assert.equal(await focused(), 'title');
  await tabTo('794569.49');
  await tab.press('Enter');
  await tab.untilText('dialog[open]', '794569.49 held: an input was not found (404)');
  await tab.press('Escape');
  await tab.until(`document.querySelector('dialog[open]') === null`);
  assert.equal(await focused(), '794569.49');
  const unnamed = `[...document.querySelectorAll('button, input:not([hidden]), textarea, svg[role=img], [role=region], progress')]
    .filter((one) => !(one.innerText || one.ariaLabel || one.labels?.length || one.getAttribute('aria-labelledby')))`;
  assert.equal(await tab.read<number>(`${unnamed}.length`), 0);
});

test('it follows dark mode, fits a phone, and reading can be cancelled', async (t) => {
  const tab = await opened(t, { width: 390, height: 844 });
  if (tab === undefined) return;
  const ground = 'getComputedStyle(document.body).backgroundColor';
  const light = await tab.read<string>(ground);
  await tab.prefer({ 'color-scheme': 'dark' });
  assert.notEqual(await tab.read<string>(ground), light);
  assert.ok((await tab.read<number>('document.documentElement.scrollWidth')) <= 390);
  await tab.click('#sample');
  await tab.read(`document.querySelector('#cancel').click()`);
  assert.equal(await tab.read<boolean>(`document.querySelector('#start').hidden`), false);
  await tab.click('#sample');
  await tab.until(`!document.querySelector('#result').hidden`);
  assert.ok((await tab.read<number>('document.documentElement.scrollWidth')) <= 390);
  assert.ok(
    await tab.read<boolean>(`document.querySelector('#time table').offsetWidth < 390`),
    'all columns are seen',
  );
  assert.deepEqual(tab.errors, []);
});
