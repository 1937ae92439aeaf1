import { readFileSync } from 'node:fs';
import path from 'node:path';
import { explanationPage } from '@updraft/account/why';
import { documentText, joinPages } from '@updraft/view/document';
import { explainStory, type Explanation } from '@updraft/account/why';
import { LogFold } from '@updraft/account/history';
import type { RunRules } from '@updraft/account/testing';
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
  const pages = fold.finish().map((story) => explanationPage(explainStory(story)));
  return documentText(joinPages(pages), 100);
}
