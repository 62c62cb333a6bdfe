import type { Command } from 'commander';
import { unavailable } from '@portcullis/caller/exit.ts';
import { buildPortalIfNeeded } from '../portal-build.ts';
import {
  controlConfig,
  controlEnvironment,
  type ControlOptions,
  withControlOptions,
} from '../control-options.ts';

export function addControl(program: Command): void {
  withControlOptions(
    program
      .command('control')
      .description('the control plane alone, such as one of several replicas'),
  )
    .addHelpText(
      'after',
      `
PostgreSQL is the one of DATABASE_URL, or an embedded one under the data directory.

  portcullis control --listen 127.0.0.1:8080
  DATABASE_URL=postgresql://portcullis@db.example.net/portcullis portcullis control`,
    )
    .action(runControlCommand);
}

/** This process becomes that of control, of a program that its account may read as long as it runs. */
async function runControlCommand(options: ControlOptions): Promise<void> {
  // Mistakes in the options are reported as those of a command line.
  await controlConfig(options);
  await buildPortalIfNeeded();
  const { programOf } = await import('../agents/processes.ts');
  const [command, args] = programOf('control');
  process.execve?.(command, [command, ...args], controlEnvironment(options));
  throw unavailable('control needs Linux');
}
