export {
  type FindingGroup,
  type ShownFinding,
  findingsHeadline,
  groupFindings,
} from './lint/finding-groups.ts';
export { hideInFindings, hideSecretsOf, quotedTexts, withoutMacroSecrets } from './lint/hide-secrets.ts';
export { lintSubmission, lintWrapper } from './lint/lint.ts';
export { maxGpus, oldGpuNames } from './lint/rules/gpus.ts';
export {
  type Download,
  type ShellCommand,
  runTimeDownload,
  shellCommands,
  shownCommand,
} from './lint/shell-commands.ts';
