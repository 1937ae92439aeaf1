import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';

/** Loaded only where there is YAML to read: its 72 files take longer than the questions of a small command. */
export const yaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml;
