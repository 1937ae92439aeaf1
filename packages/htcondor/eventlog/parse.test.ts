import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseEventLog, parseInPieces, plain, stamps } from '../../../test/eventlogs/plain.ts';
import type { LogEvent } from './events.ts';

/** Ids, kinds and wholeness of the events, and the garbled parts; the same in any pieces. */
function outline(log: string | Buffer): { events: string[]; garbled: string[] } {
  const bytes = Buffer.from(log);
  const { events, garbled } = parseEventLog(bytes, stamps);
  const pieces = parseInPieces(bytes, [1]);
  assert.deepEqual(pieces.events.map(plain), events.map(plain));
  assert.deepEqual(
    pieces.garbled.map(({ text, offset }) => [text, offset]),
    garbled.map(({ text, offset }) => [text, offset]),
  );
  const line = ({ cluster, proc, kind, whole }: LogEvent) =>
    `${cluster}.${proc} ${kind}${whole ? '' : ' cut'}`;
  return { events: events.map(line), garbled: garbled.map(({ text }) => text) };
}

const submit = '000 (001.000.000) 2026-11-15 00:11:39 Job submitted from host: <192.0.2.1:9618>\n...\n';
const image =
  '006 (002.000.000) 2026-11-15 00:11:44 Image size of job updated: 1\n\t7  -  MemoryUsage of job (MB)\n...\n';
const suspended =
  '010 (003.000.000) 2026-11-15 00:11:45 Job was suspended.\n\tNumber of processes actually suspended: 1\n...\n';

test('an empty log, blank lines and lone separators have no events', () => {
  for (const log of ['', '\n', '\n\n  \n', '...\n...\n', '\ufeff', '\0\0\0']) {
    assert.deepEqual(outline(log), { events: [], garbled: [] });
  }
});

test('job ids may have any width and be negative', () => {
  assert.deepEqual(
    outline(
      '035 (123456789012.-01.-01) 2026-11-15 00:11:39 Cluster submitted from host: <a>\n...\n000 (7.1000000.0) 2026-11-15 00:11:39 Job submitted from host: <a>\n...\n',
    ).events,
    ['123456789012.-1 cluster-submit', '7.1000000 submit'],
  );
});

test('a log cut at its start gives the events after the cut', () => {
  assert.deepEqual(outline(`\tSlotName: slot1\n\tCpus = 1\n...\n${submit}`), {
    events: ['1.0 submit'],
    garbled: ['\tSlotName: slot1\n\tCpus = 1\n'],
  });
});

test('a log cut at its end gives its last event as not whole, or as garbled where not even its id is there', () => {
  assert.deepEqual(outline(submit + image.slice(0, 90)).events, ['1.0 submit', '2.0 image-size cut']);
  assert.deepEqual(outline(submit + image.slice(0, 20)), {
    events: ['1.0 submit'],
    garbled: [image.slice(0, 20)],
  });
});

test('only whole events are given before the end', () => {
  const events: LogEvent[] = [];
  const log = Buffer.from(submit + image);
  for (const cut of [submit.length - 1, log.length - 1]) {
    const { events: given } = parseInPieces(log.subarray(0, cut), [cut]);
    events.push(...given.filter(({ whole }) => whole));
  }
  // The last newline of a separator may be missing at the end of a log, not while it grows.
  assert.equal(events.length, 3);
});

test('a hold of any length keeps its code, and the next event its place', () => {
  const head = '012 (004.000.000) 2026-11-15 00:11:46 Job was held.\n\t';
  // The reader keeps at most 4 MiB of an event, and looks after each piece.
  for (const length of [2 ** 22 - head.length, 2 ** 22 + 1, 9 * 2 ** 20])
    for (const filler of ['long reason ', 'a line\n\t']) {
      const reason = filler.repeat(Math.ceil(length / filler.length)).slice(0, length);
      const hold = `${head}${reason}\n\tCode 13 Subcode 2\n...\n`;
      const { events, garbled } = parseInPieces(Buffer.from(hold + submit), [1 << 20]);
      const [held, next] = events;
      assert.ok(held?.kind === 'held' && held.whole && next?.whole === true);
      assert.deepEqual([held.details.code, held.details.subcode], [13, 2]);
      assert.deepEqual([held.offset, next.offset, next.kind], [0, hold.length, 'submit']);
      assert.ok(garbled.every(({ text }) => hold.includes(text)));
    }
});

test('a missing separator costs nothing, and text between events is garbled', () => {
  const bare = submit.replace('...\n', '');
  assert.deepEqual(outline(`How much memory?\n${bare}${image}See above.\n${suspended}`), {
    events: ['1.0 submit cut', '2.0 image-size', '3.0 suspended'],
    garbled: ['How much memory?\n', 'See above.\n'],
  });
});

test('a write that broke off leaves the next event on its line: both are given', () => {
  assert.deepEqual(outline(`${image.slice(0, 60)}${submit}${suspended}`).events, [
    '2.0 image-size cut',
    '1.0 submit',
    '3.0 suspended',
  ]);
  assert.deepEqual(outline(`006 (2.0${submit}`), { events: ['1.0 submit'], garbled: ['006 (2.0'] });
  assert.deepEqual(outline(`${submit}...${image}`).events, ['1.0 submit', '2.0 image-size']);
});

test('a parenthesis in a text is no event', () => {
  assert.deepEqual(
    outline('008 (1.0.0) 2026-11-15 00:11:39 loss 001 (12.0) and 001 (1.2.3) later\n...\n').events,
    ['1.0 generic'],
  );
});

test('CRLF, mixed line ends, blanks behind separators and a byte order mark do not matter', () => {
  const crlf = (text: string) => text.replaceAll('\n', '\r\n');
  const log = `\ufeff${crlf(submit)}${image.replace('...', '...  ')}${crlf(suspended)}`;
  assert.deepEqual(outline(log), { events: ['1.0 submit', '2.0 image-size', '3.0 suspended'], garbled: [] });
});

test('a hole of NULs before an event is skipped', () => {
  const log = `${submit}${'\0'.repeat(5000)}${image}${'\0'.repeat(10)}\n${suspended}`;
  assert.deepEqual(outline(log), { events: ['1.0 submit', '2.0 image-size', '3.0 suspended'], garbled: [] });
});

test('bytes that are not UTF-8 are read as Latin-1, UTF-8 as it is', () => {
  const held = (reason: Buffer) =>
    Buffer.concat([
      Buffer.from('012 (1.0.0) 2026-11-15 00:11:39 Job was held.\n\t'),
      reason,
      Buffer.from('\n\tCode 3 Subcode 0\n...\n'),
    ]);
  const log = Buffer.concat([held(Buffer.from('für 🚀', 'utf8')), held(Buffer.from('für', 'latin1'))]);
  assert.deepEqual(
    parseEventLog(log, stamps).events.map((event) => event.kind === 'held' && event.details.reason),
    ['für 🚀', 'für'],
  );
});

test('a date that does not exist leaves the event without a time', () => {
  const [event] = parseEventLog(Buffer.from(submit.replace('2026-11-15', '2026-13-45')), stamps).events;
  assert.equal(event?.time, undefined);
  assert.equal(event?.timeText, '2026-13-45 00:11:39');
});

test('a file without line ends is taken in parts, not kept', () => {
  const noise = Buffer.alloc(20 * 1024 * 1024, 'x');
  const { events, garbled } = parseInPieces(Buffer.concat([noise, Buffer.from(`\n${submit}`)]), [256 * 1024]);
  assert.equal(events.length, 1);
  assert.ok(garbled.length > 2);
  assert.equal(
    garbled.reduce((sum, part) => sum + part.bytes.length, 0),
    noise.length + 1,
  );
});

test('a hold reason of 10 kB with markup, quotes and emoji is kept to the letter', () => {
  const reason = `<b onclick="x">'quoted' & "double" 🚀</b> ${'y'.repeat(10_000)}`;
  const [event] = parseEventLog(
    Buffer.from(`012 (1.0.0) 2026-11-15 00:11:39 Job was held.\n\t${reason}\n\tCode 1 Subcode 0\n...\n`),
    stamps,
  ).events;
  assert.ok(event?.kind === 'held');
  assert.equal(event.details.reason, reason);
});

test('one field read alone is the same as among all details, in every log', () => {
  const folder = path.resolve(import.meta.dirname, '../../../test/eventlogs');
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.log'))) {
    const log = readFileSync(path.join(folder, name));
    const alone = parseEventLog(log, stamps).events;
    for (const [index, { details }] of parseEventLog(log, stamps).events.entries())
      for (const [field, value] of Object.entries(details))
        assert.deepEqual(
          (alone[index] as { read(field: string): unknown }).read(field),
          value,
          `${name} ${field}`,
        );
  }
});

test('text after a letter that takes two bytes is at its own place', () => {
  const log = Buffer.from(submit.replace('host:', 'höst:') + submit);
  for (const { text } of parseEventLog(log, stamps).events) assert.match(text, /^000 \(/);
});

test('events of a long log are decoded alike, in any order, wherever other bytes than ASCII are', () => {
  const texts = Array.from({ length: 2000 }, (_, index) => {
    const word = index % 700 === 300 ? 'été' : 'ete'.repeat((index % 50) + 1);
    return `008 (${index}.000.000) 2026-11-15 00:11:39 ${word}`;
  });
  const { events } = parseEventLog(Buffer.from(texts.map((text) => `${text}\n...\n`).join('')), stamps);
  const read = events.map(({ text }) => text);
  assert.deepEqual(read, texts);
  assert.deepEqual(
    events.toReversed().map(({ text }) => text),
    texts.toReversed(),
  );
});
