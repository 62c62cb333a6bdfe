import type { Command } from 'commander';
import { buildPortalIfNeeded } from '../portal-build.ts';
import { controlConfig, type ControlOptions, withControlOptions } from '../control-options.ts';

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

async function runControlCommand(options: ControlOptions): Promise<void> {
  const config = await controlConfig(options);
  await buildPortalIfNeeded();
  const [{ createLogger }, { runControl }] = await Promise.all([
    import('@portcullis/control/log.ts'),
    import('@portcullis/control/process.ts'),
  ]);
  const code = await runControl(config, createLogger({ level: config.logLevel }));
  // An open handle must not keep a stopped control plane alive.
  process.exit(code);
}
