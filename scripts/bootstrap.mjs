import { launch } from './launch.mjs';

const [name, ...args] = process.argv.slice(2);
process.exitCode = await launch(name, args);
