import { z } from 'zod';
import { defined } from '@updraft/base';
import { deliveries } from '../environment/size-environment.ts';
import { count, entry, matching, choiceOf, path, table, nonEmptyText, urlOrPath } from './field-schemas.ts';

const archive = 'an archive of pixi-pack: a file beside this one, or a URL, like "env-1a2b3c4d.sh"';

const packTable = table('a table like { url = "osdf:///my-project/env-1a2b3c4d.sh", sha256 = "…" }', {
  url: urlOrPath(archive).describe(
    'The archive: a file beside this one, or an osdf://, pelican:// or https:// URL.',
  ),
  sha256: matching('a SHA-256: 64 hexadecimal digits', /^[0-9a-fA-F]{64}$/)
    .toLowerCase()
    .optional()
    .describe('SHA-256 of the archive, in hexadecimal.'),
  bytes: count('a number of bytes', 1).optional().describe('Size of the archive in bytes.'),
  manifest: urlOrPath('a URL, or a file beside this one')
    .optional()
    .describe('Manifest of chunk hashes: a URL, or a file beside this one.'),
  token_file: nonEmptyText('the path of a file with the token')
    .optional()
    .describe('File with the bearer token; never put the token itself here.'),
});

/** A bare text is the archive's URL or path. */
const pack = z.union(
  [urlOrPath(archive).transform((url): z.output<typeof packTable> => ({ url })), packTable],
  entry(archive),
);

/** `[environment]` of the user's file. */
export const environmentSchema = table('a table', {
  image: nonEmptyText('an Apptainer image: a URL or a path')
    .optional()
    .describe("Apptainer image (default: the worker's own software)."),
  image_token_file: nonEmptyText('the path of a file with the token')
    .optional()
    .describe('File with the bearer token for an image that needs one.'),
  python: z
    .array(
      matching('the name of a Python module, like "torch"', /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/),
      entry('a list of Python modules, like ["torch"]'),
    )
    .default([])
    .describe(
      'Python modules that the training imports; a Python that has them is found before the data is fetched.',
    ),
  pixi: path('the manifest of a Pixi workspace beside this file, like "pixi.toml"')
    .optional()
    .describe(
      'Manifest of the Pixi workspace with the software. Its lock file decides GPU, memory and disk.',
    ),
  pixi_environment: nonEmptyText('the name of an environment of the workspace')
    .optional()
    .describe('Environment of the workspace (default: "default").'),
  platform: nonEmptyText('a platform of the lock, like "linux-64"')
    .optional()
    .describe('Platform of the workers (default: "linux-64").'),
  delivery: choiceOf(deliveries)
    .optional()
    .describe(
      'How the Pixi environment reaches the worker: in an image, as a pixi-pack archive, or on the local pool installed by Pixi.',
    ),
  fallback: choiceOf(['system'])
    .optional()
    .describe(
      "On the local pool, without a pixi.lock that Pixi could write: use this machine's own software, with a warning. No other pool falls back.",
    ),
  pack: pack.optional().describe('pixi-pack archive that is unpacked and activated before the training.'),
  pixi_unpack: path('the program pixi-unpack beside this file')
    .optional()
    .describe('pixi-unpack program to send along; self-extracting archives have their own.'),
})
  .transform(
    ({ pixi: manifest, pixiEnvironment: environment = 'default', platform = 'linux-64', ...rest }) => ({
      ...rest,
      ...defined({ pixi: manifest === undefined ? undefined : { manifest, environment, platform } }),
    }),
  )
  .describe('The software of the training.');
