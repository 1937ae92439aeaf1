import { z } from 'zod';
import { defined } from '../base/defined.ts';
import { deliveries } from '../environment/size-environment.ts';
import { count, entry, matching, oneOf, path, table, text, urlOrPath } from './field-schemas.ts';

const archive = 'an archive of pixi-pack: a file beside this one, or a URL, like "env-1a2b3c4d.sh"';

const packTable = table('a table like { url = "osdf:///my-project/env-1a2b3c4d.sh", sha256 = "…" }', {
  url: urlOrPath(archive).describe('Where it is: a file beside this one, osdf://, pelican://, https://.'),
  sha256: matching('a SHA-256: 64 hexadecimal digits', /^[0-9a-fA-F]{64}$/)
    .toLowerCase()
    .optional()
    .describe('SHA-256 of the archive, in hexadecimal.'),
  bytes: count('a number of bytes', 1).optional().describe('Size of the archive in bytes.'),
  manifest: urlOrPath('a URL, or a file beside this one')
    .optional()
    .describe('Manifest of chunk hashes: a URL, or a file beside this one.'),
  token_file: text('the path of a file with the token')
    .optional()
    .describe('File with the bearer token. The token itself never stands here.'),
});

/** A bare text is the archive's URL or path. */
const pack = z.union(
  [urlOrPath(archive).transform((url): z.output<typeof packTable> => ({ url })), packTable],
  entry(archive),
);

/** `[environment]` of the user's file. */
export const environmentSchema = table('a table', {
  image: text('an Apptainer image: a URL or a path')
    .optional()
    .describe("Apptainer image; without one the worker's own software is used."),
  image_token_file: text('the path of a file with the token')
    .optional()
    .describe('File with the bearer token for an image that a federation gives out only with one.'),
  python: z
    .array(
      matching('the name of a Python module, like "torch"', /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/),
      entry('a list of Python modules, like ["torch"]'),
    )
    .default([])
    .describe('Python modules the training imports; looked for before any data moves.'),
  pixi: path('the manifest of a Pixi workspace beside this file, like "pixi.toml"')
    .optional()
    .describe(
      'Manifest of the Pixi workspace the software comes from: what its lock says decides GPU, memory and disk.',
    ),
  pixi_environment: text('the name of an environment of the workspace')
    .optional()
    .describe('Environment of the workspace; "default" where it is left out.'),
  platform: text('a platform of the lock, like "linux-64"')
    .optional()
    .describe('Platform of the workers; "linux-64" where it is left out.'),
  delivery: oneOf(deliveries)
    .optional()
    .describe(
      'How the Pixi environment gets to the worker: in an image, as an archive of pixi-pack, or on the local pool installed by Pixi.',
    ),
  fallback: oneOf(['system'])
    .optional()
    .describe(
      "On the local pool, where there is no pixi.lock and Pixi cannot write one: run with this machine's own software, and say so. No other pool falls back.",
    ),
  pack: pack.optional().describe('Archive of pixi-pack that is unpacked and activated before the training.'),
  pixi_unpack: path('the program pixi-unpack beside this file')
    .optional()
    .describe('pixi-unpack for the workers, sent along; self-extracting archives bring their own.'),
})
  .transform(
    ({ pixi: manifest, pixiEnvironment: environment = 'default', platform = 'linux-64', ...rest }) => ({
      ...rest,
      ...defined({ pixi: manifest === undefined ? undefined : { manifest, environment, platform } }),
    }),
  )
  .describe('The software in which the training runs.');
