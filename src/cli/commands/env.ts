import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { configureImage } from '../environment/image.ts';
import { configureLock } from '../environment/lock.ts';
import { configurePack } from '../environment/pack.ts';
import { configureShow } from '../environment/show.ts';
import { configureStage } from '../environment/stage.ts';

export function configure(command: Command, cli: Cli): void {
  configureShow(command.command('show'), cli);
  configureLock(command.command('lock'), cli);
  configurePack(command.command('pack'), cli);
  configureImage(command.command('image'), cli);
  configureStage(command.command('stage'), cli);
}
