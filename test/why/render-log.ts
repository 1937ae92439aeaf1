import { readFileSync } from 'node:fs';
import path from 'node:path';
import { explanationText } from '../../src/cli/commands/why.ts';
import { explainStory } from '../../src/why/explain-story.ts';
import type { Explanation } from '../../src/diagnosis/explanation.ts';
import { LogFold } from '../../src/history/log-fold.ts';
import type { RunRules } from '../../src/why/describe-action.ts';
import { parseEventLog, stamps } from '../eventlogs/plain.ts';

export const eventLogs = path.join(import.meta.dirname, '../eventlogs');

export function explainText(text: string, rules?: RunRules): Explanation[] {
  const fold = new LogFold({ evidence: 'job.log' });
  for (const event of parseEventLog(Buffer.from(text), stamps).events) fold.add(event);
  return fold.finish().map((story) => explainStory(story, rules));
}

/** What `updraft why` prints for each job of one of the real logs. */
export function renderLog(name: string): string {
  const fold = new LogFold({ evidence: name });
  for (const event of parseEventLog(readFileSync(path.join(eventLogs, name)), stamps).events) fold.add(event);
  const texts = fold.finish().map((story) => explanationText(explainStory(story), 100));
  return `${texts.join('\n\n')}\n`;
}
