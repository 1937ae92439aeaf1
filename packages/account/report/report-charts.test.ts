/** Charts of a report: safe whatever a log says, of bounded size, and readable with many groups. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseText } from '../../../test/eventlogs/plain.ts';
import { linearScale, stripChart, timeUnit } from '@updraft/view/charts';
import { completionCurves } from './compare/comparison-charts.ts';
import { ledgerOf } from './ledger.ts';
import { LogFold } from '../history/log-fold.ts';
import { logReport } from './log-report.ts';
import { reportCharts, strip } from './report-charts.ts';
import type { Chart } from '@updraft/view/document';
import { reportHtml } from '@updraft/view/html';
import { sections } from './sections.ts';

/** Consecutive jobs at a site of this name. */
function drawn(jobs: number, site: string): { charts: Chart[]; page: string } {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const log = Array.from({ length: jobs }, (_, proc) => {
    const id = `(007.${String(proc).padStart(3, '0')}.000)`;
    return [
      `000 ${id} ${at(proc)}Z Job submitted from host: <a>`,
      `001 ${id} ${at(proc + 60)}Z Job executing on host: <b>\n\tSlotName: slot1@ep\n\tGLIDEIN_ResourceName = "${site}"`,
      `005 ${id} ${at(proc * 2 + 600)}Z Job terminated.\n\t(1) Normal termination (return value ${proc % 7 === 0 ? 1 : 0})`,
    ].join('\n...\n');
  }).join('\n...\n');
  const fold = new LogFold();
  for (const event of parseText(`${log}\n...\n`)) fold.add(event);
  const logged = fold.finish();
  const ledger = ledgerOf(logged, fold.facts);
  const report = logReport(logged, ledger, { logs: ['x'], notes: [] });
  const charts = reportCharts(logged, ledger, report);
  return {
    charts,
    page: reportHtml({ title: 'x', sections: sections(report), charts, report }),
  };
}

test("markup in a site's name is escaped in every chart and table", () => {
  const { page } = drawn(10, '<b>&amp;</b>');
  assert.ok(page.includes('&lt;b&gt;&amp;amp;&lt;/b&gt;') && !page.includes('<b>'));
});

test('every chart has a description, and is deterministic', () => {
  const { charts } = drawn(20, 'here');
  assert.ok(charts.length >= 4);
  for (const { svg } of charts) assert.match(svg, /^<svg [^>]*role="img" aria-label="[^"]+"/);
  assert.deepEqual(drawn(20, 'here').charts, charts);
});

test('the page of 10,000 jobs stays under 5 MB', () => {
  assert.ok(drawn(10_000, 'here').page.length < 5e6);
});

test('an axis ends at or above its largest value, in a readable unit', () => {
  for (const most of [0.4, 1, 7, 59, 119, 5000, 86_400, 1e6]) {
    const { place, ticks } = linearScale(0, most, timeUnit(most), true);
    assert.ok(place(most) <= 1.000001 && place(most) >= 0.35, `${most} is at ${place(most)}`);
    assert.ok(ticks.length >= 3 && ticks.length <= 7);
  }
});

test('labels that are too long keep what differs, as in tables, and are tooltips in full', () => {
  const same = 'data=osdf:///chtc/staging/images-of-many-kinds.tar';
  const names = ['bert-base-uncased', 'distilbert-base-uncased'].map(
    (model) => `${same} model=${model} lr=0.1`,
  );
  const style = { axis: 'a', unit: timeUnit, show: String };
  const svg = stripChart(
    names.map((name) => strip(name, [{ name: 'job', value: 1 }])),
    style,
  );
  const labels = [...svg.matchAll(/<text [^>]*><title>([^<]*)<\/title>([^<]*)</g)];
  assert.deepEqual(
    labels.map(([, full]) => full),
    names,
  );
  assert.deepEqual(
    labels.map(([, , shown]) => shown),
    ['data=osdf:///ch… model=bert-base… lr=0.1', 'data=osdf:///ch… model=distilber… lr=0.1'],
  );
});

test('groups that a chart does not draw are counted, and long names of others stay different', () => {
  const names = Array.from({ length: 35 }, (_, index) => `text=the same text of all lr=${index}`);
  const style = { axis: 'a', unit: timeUnit, show: String };
  const strips = names.map((name) => strip(name, [{ name, value: 1 }]));
  const curve = { points: [{ seconds: 1, share: 1 }], censoredSeconds: [] };
  const curves = completionCurves(
    names.map((name) => ({ ...curve, name })),
    'since',
  );
  const few = stripChart(strips, style);
  assert.match(few, />the first 12 of 35</);
  assert.match(few, />text=the same text of all lr=11</);
  assert.match(stripChart(strips, { ...style, max: 60 }), />text=the same text of all lr=34</);
  assert.match(curves, />and 3 more, in grey</);
  const marks = [...curves.matchAll(/<text [^>]*class="rank"[^>]*>(\d+)</g)].map(([, mark]) => mark);
  assert.equal(marks.length, 64, 'each number stands in the legend and where its line ends');
  assert.equal(new Set(marks).size, 32);
  assert.doesNotMatch(stripChart(strips.slice(0, 3), style), /first 12/);
});
