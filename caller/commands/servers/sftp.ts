import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson, styled } from '../../output.ts';
import { findUuid } from './find.ts';

export function addSftp(servers: Command): void {
  withCallOptions(
    servers
      .command('sftp')
      .description('how to connect to its files by SFTP')
      .argument('<server>')
      .option('--user <email>', 'the person who connects'),
  ).action(showSftp);
}

async function showSftp(
  server: string,
  options: CallOptions & { readonly user?: string },
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.readServerSftp({ slice });
  if (options.json === true) {
    printJson(data);
    return;
  }
  const { host, port, fingerprint, server: end } = data;
  if (port === null) {
    print(
      styled(
        'yellow',
        'Its node serves no SFTP, or did not report it yet. Its operator starts it with --sftp-listen, of "portcullis up" or "portcullis node".',
      ),
    );
    return;
  }
  const user = `${options.user ?? 'EMAIL'}.${end}`;
  const place = host.includes(':') ? `[${host}]` : host;
  print(`sftp://${options.user === undefined ? user : encodeURIComponent(user)}@${place}:${port}`);
  if (options.quiet === true) return;
  print(`command     sftp -P ${port} ${user}@${place}`);
  print(`host key    ${fingerprint ?? 'unknown'}`);
  print('with        an SSH key or an SFTP password of the account of the person, in the portal');
}
