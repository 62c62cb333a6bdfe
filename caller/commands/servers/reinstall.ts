import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { report } from '../../output.ts';
import { findUuid } from './find.ts';

export function addReinstall(servers: Command): void {
  withCallOptions(
    servers
      .command('reinstall')
      .description("build it again: the egg's install script runs again in its folder")
      .argument('<server>'),
  ).action(reinstall);
}

async function reinstall(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  report(await client.reinstallGameServer({ slice }), options);
}
