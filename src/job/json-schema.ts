import { z } from 'zod';
import { fileSchema } from './file-schema.ts';

/** The JSON Schema of the user's file, in the dialect that editors know for TOML and for YAML. */
export const fileJsonSchema = (): Record<string, unknown> =>
  z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-7' });
