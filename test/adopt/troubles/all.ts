import { aboutFiles } from './files.ts';
import { aboutGpus } from './gpus.ts';
import { aboutImages } from './images.ts';
import { aboutRecovery } from './recovery.ts';
import { aboutResources } from './resources.ts';
import { aboutStatements } from './statements.ts';
import type { Trouble } from './trouble.ts';

/** Those of any pool, with the name of a registry's image. */
export const everyday = (image: string): Trouble[] => [
  ...aboutStatements,
  ...aboutFiles,
  ...aboutResources,
  ...aboutRecovery,
  ...aboutGpus,
  ...aboutImages(image),
];
