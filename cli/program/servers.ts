import type { Command } from 'commander';
import { withApiOptions } from './explain.ts';
import { withDatabaseOptions } from './keys.ts';

export interface ServersOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
}
export interface PowerOptions extends ServersOptions {
  readonly wait?: boolean;
  readonly timeout: string;
}
export interface LogsOptions extends ServersOptions {
  readonly lines: string;
  readonly follow?: boolean;
}
export interface ReinstallOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export function addServers(program: Command): void {
  const servers = program
    .command('servers')
    .description('game servers: what they do, power, console')
    .addHelpText(
      'after',
      `
A server is named by its uuid, or by its name where only one has it.

  portcullis servers list
  portcullis servers show Survival
  portcullis servers power start Survival --wait
  portcullis servers command Survival say Restart in five minutes
  portcullis servers logs Survival --lines 200
  portcullis servers logs Survival --follow
  portcullis servers reinstall 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11    after a failed build

What the node refuses, and a --wait that does not come true, are exit code 1.`,
    );
  withApiOptions(servers.command('list').description('every server that the key sees')).action(
    async (options: ServersOptions) =>
      (await import('../commands/servers.ts')).listServers(options),
  );
  withApiOptions(
    servers.command('show').description('its state now, and how it was built').argument('<server>'),
  ).action(async (server: string, options: ServersOptions) =>
    (await import('../commands/servers.ts')).showServer(server, options),
  );
  addPower(servers);
  withApiOptions(
    servers
      .command('command')
      .description('type a line into its console')
      .argument('<server>')
      .argument('<words...>', 'joined by spaces'),
  ).action(async (server: string, words: readonly string[], options: ServersOptions) =>
    (await import('../commands/servers.ts')).sendCommand(server, words.join(' '), options),
  );
  withApiOptions(
    servers.command('logs').description('the last lines of its console').argument('<server>'),
  )
    .option('--lines <count>', 'how many, up to 1000', '100')
    .option('--follow', 'and what comes after, until interrupted; with --json one document a line')
    .action(async (server: string, options: LogsOptions) =>
      (await import('../commands/servers-logs.ts')).showLogs(server, options),
    );
  addReinstall(servers);
}

function addReinstall(servers: Command): void {
  withDatabaseOptions(
    servers
      .command('reinstall')
      .description("have it built anew: the egg's install runs again in its folder")
      .argument('<uuid>'),
  ).action(async (uuid: string, options: ReinstallOptions) =>
    (await import('../commands/servers-reinstall.ts')).reinstall(uuid, options),
  );
}

function addPower(servers: Command): void {
  withApiOptions(
    servers
      .command('power')
      .description('start, stop, restart or kill it; kill lets it save nothing')
      .argument('<signal>', 'start, stop, restart or kill')
      .argument('<server>'),
  )
    .option('--wait', 'until it is so')
    .option('--timeout <time>', 'how long --wait waits', '120s')
    .action(async (signal: string, server: string, options: PowerOptions) =>
      (await import('../commands/servers-power.ts')).sendPower(signal, server, options),
    );
}
