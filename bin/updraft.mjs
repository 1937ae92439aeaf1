#!/usr/bin/env node
// Runs the command line under the pinned Node: the one that started us may be too old for the sources.
import { launch } from '../scripts/launch.mjs';

process.exitCode = await launch('cli', process.argv.slice(2));
