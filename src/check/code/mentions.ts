import type { JobCode } from './code.ts';

/** Whether a name stands in some text of the job. */
export const mentions = ({ texts }: JobCode, name: string): boolean =>
  texts.some((text) => text.includes(name));
