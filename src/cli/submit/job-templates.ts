import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.join(import.meta.dirname, '..', '..', '..');

/** The job files that `init` can write, and what each is for. */
export const jobTemplates: Record<string, string> = {
  minimal: 'one training, with a script to start from',
  sweep: 'a matrix of parameters, a job for each combination',
  cifar10: 'CIFAR-10: data fetched, verified, unpacked; checkpoints; an output check',
  imagenet: 'ImageNet on a GPU pool through the federation: ResNet-50, from the first classes that arrive',
};

/** A template's job file, its schema line pointing at this installation's schema. */
export async function templateText(template: string, fileName: string): Promise<string> {
  const text = await readFile(path.join(root, 'templates', template, fileName), 'utf8');
  const schema = path.join('schema', 'updraft.schema.json');
  return text.replace(`../../${schema}`, pathToFileURL(path.join(root, schema)).href);
}

/** The example whose scripts a template uses, where it is not of the same name. */
const examples: Record<string, string> = { imagenet: 'imagenet-resnet50' };

/** Where a script that a template names can be had, the best place first; not every one can. */
export const starterPlaces = (template: string, file: string): string[] =>
  [`templates/${template}`, `examples/${examples[template] ?? template}`, 'templates/minimal'].map((shelf) =>
    path.join(root, shelf, file),
  );
