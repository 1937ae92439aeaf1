import type { Facts } from './facts.ts';
import { applyRules, type Finding, type Level, type Rule, sortFindings } from '@updraft/base';
import { cudaRules, imageRules, softwareRules } from './rules/software.ts';
import { diskRules, folderRules, secretRules, limitRules } from './rules/limits.ts';
import { downloadRules, type DownloadFacts } from './rules/downloads.ts';
import { localPathRules, scriptFileRules, parameterRules } from './rules/scripts.ts';
import { objectRules, tokenRules } from './rules/objects.ts';
import { commandRules } from './rules/commands.ts';
import { resultRules, scriptFindings, timeRules } from './rules/results.ts';
import { slotRules } from './rules/slots.ts';

type AllFacts = Facts & DownloadFacts;

/** Every rule about a job file, family by family. */
const families: readonly (readonly [title: string, rules: readonly Rule<AllFacts>[]])[] = [
  ['data', objectRules],
  ['tokens and secrets', [...tokenRules, ...secretRules]],
  ['pool', [...limitRules, ...slotRules]],
  ['disk', [...diskRules, ...folderRules]],
  ['software', [...imageRules, ...softwareRules, ...cudaRules, ...downloadRules]],
  ['scripts and paths', [...commandRules, ...scriptFileRules, ...localPathRules, ...parameterRules]],
  ['time and results', [...timeRules, ...resultRules]],
];

/** Every rule with its family, for documentation. */
export const ruleTable: readonly { family: string; name: string; level: Level; about: string }[] =
  families.flatMap(([family, rules]) =>
    rules.map(({ name, level, about }) => ({ family, name, level, about })),
  );

/** What the rules find in the facts, the worst first. */
export function checkFacts(facts: Facts): Finding[] {
  const { plan } = facts;
  const sent = plan.files.map(({ path }) => path);
  const all: AllFacts = {
    ...facts,
    env: plan.spec.train.env,
    folders: [
      ...plan.data.map(({ into }) => into),
      ...sent.flatMap((file) => (file.includes('/') ? [file.slice(0, file.indexOf('/'))] : [])),
    ],
  };
  const rules = families.flatMap(([, own]) => own);
  return sortFindings([...applyRules(rules, all), ...scriptFindings(facts)]);
}
