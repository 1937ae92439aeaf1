import { valueAt } from './raw-value.ts';
import { problemAt, problemAtKey, type SourceFile, type SpecProblem } from './source-file.ts';

/** What the keys of `[environment]` say against each other. */
export function checkEnvironment(source: SourceFile): SpecProblem[] {
  const at = (key: string): string[] => ['environment', key];
  const has = (key: string): boolean => valueAt(source.value, at(key)) !== undefined;
  const delivery = valueAt(source.value, at('delivery'));
  const problems: SpecProblem[] = [];
  const say = (key: string, message: string): void => void problems.push(problemAt(source, at(key), message));
  if (has('image') && has('pack'))
    say('pack', 'an image is named too; expected one of the two: the training runs in one software');
  if (delivery === 'pack' && !has('pack'))
    say('delivery', '"pack" needs the archive in `pack`; make one with: updraft env pack');
  if (delivery === 'container' && !has('image'))
    say(
      'delivery',
      '"container" needs the image in `image`; write its recipe with: updraft env image --write',
    );
  if (delivery === 'container' && has('pack')) say('delivery', 'is "container", but `pack` names an archive');
  if (has('pixi') && delivery === undefined && !has('pack') && !has('image'))
    say(
      'pixi',
      'how does it get to the worker? Name an archive in `pack` (updraft env pack makes one), or an `image` made from it (updraft env image)',
    );
  for (const key of ['pixi_environment', 'platform'])
    if (has(key) && !has('pixi'))
      problems.push(problemAtKey(source, at(key), 'says nothing without `pixi`, the manifest it is about'));
  if (has('pixi_unpack') && !has('pack'))
    problems.push(problemAtKey(source, at('pixi_unpack'), 'is of no use without an archive in `pack`'));
  return [...problems, ...checkUnpacker(source)];
}

/** Whether an archive, by its name, brings its own program to unpack it. */
const isExecutable = (url: string): boolean => /\.sh$/i.test(url.replace(/[?#].*$/, ''));

function checkUnpacker(source: SourceFile): SpecProblem[] {
  const key = ['environment', 'pack'];
  const pack = valueAt(source.value, key);
  const url = typeof pack === 'string' ? pack : valueAt(pack, ['url']);
  const unpacker = valueAt(source.value, ['environment', 'pixi_unpack']);
  if (typeof url !== 'string' || isExecutable(url) || unpacker !== undefined) return [];
  const message = `"${url}" is not self-extracting (.sh), and workers have no pixi-unpack; expected the program in \`pixi_unpack\`, or an archive made by: updraft env pack`;
  return [problemAt(source, key, message)];
}
