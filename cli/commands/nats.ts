import type { Command } from 'commander';
import { join, resolve } from 'node:path';
import { withDatabase } from '../database.ts';
import { usageError } from '@portcullis/caller/exit.ts';
import { addressOf, type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson } from '@portcullis/caller/output.ts';
import { append, saveFiles } from './server-files.ts';

interface ConfigOptions extends DatabaseOptions {
  readonly listen: string;
  readonly out: string;
  readonly folder?: string;
  readonly name?: readonly string[];
  readonly clusterListen?: string;
  readonly routes?: string;
}

export function addNats(program: Command): void {
  const nats = program
    .command('nats')
    .description('NATS servers, over which agents of other hosts reach control')
    .addHelpText(
      'after',
      `
Agents on the host of control need none of this: they use its sockets.

  portcullis nats config --listen 0.0.0.0:4222 --name nats.example.net --out nats    a folder for one server
  nats-server -c nats/nats.conf                                           Debian's package suffices
  portcullis control --nats tls://nats.example.net:4222                   before or after it
  portcullis edges enrol fra1 --remote --save fra1.json                   then, for each agent of another host

Of a cluster, each server gets a folder of its own:
  portcullis nats config --listen 0.0.0.0:4222 --name nats1.example.net --out nats1 \\
      --cluster-listen 0.0.0.0:6222 --routes nats2.example.net:6222,nats3.example.net:6222`,
    );
  withDatabaseOptions(
    nats
      .command('config')
      .description('write what a NATS server needs to serve this installation and nobody else')
      .requiredOption('--listen <host:port>', 'where the server listens')
      .requiredOption('--out <dir>', 'the folder; its files are replaced')
      .option(
        '--folder <dir>',
        'where the folder is on the host of the server (default: that of --out)',
      )
      .option(
        '--name <host>',
        'a name or address by which it is reached; repeatable (default: the host of --listen)',
        append,
      )
      .option('--cluster-listen <host:port>', 'in a cluster: where the other servers connect')
      .option(
        '--routes <addresses>',
        "in a cluster: the others' cluster ports, HOST:PORT, with commas",
      ),
  ).action(writeConfig);
}

async function writeConfig(options: ConfigOptions): Promise<void> {
  const { listen, out, routes, clusterListen } = options;
  const { host } = addressOf('--listen', listen);
  const [first, ...more] = options.name ?? [host];
  if (first === undefined || ['0.0.0.0', '::'].includes(first)) {
    throw usageError('--name is missing: a name or address by which agents reach the server');
  }
  if ((routes === undefined) !== (clusterListen === undefined)) {
    throw usageError('--cluster-listen and --routes belong together: give both');
  }
  const others = (routes ?? '').split(',').filter((route) => route !== '');
  for (const route of others) addressOf('--routes', route);
  if (clusterListen !== undefined) addressOf('--cluster-listen', clusterListen);
  const cluster = clusterListen === undefined ? null : { listen: clusterListen, routes: others };
  const made = resolve(out);
  const folder = resolve(options.folder ?? made);
  const { makeServerFiles } = await import('@portcullis/control/nats/server-files.ts');
  const files = await withDatabase(
    options,
    (db) => makeServerFiles(db, { folder, listen, names: [first, ...more], cluster }),
    { create: true },
  );
  saveFiles(made, files);
  const { port } = addressOf('--listen', listen);
  const url = `tls://${first.includes(':') ? `[${first}]` : first}:${port}`;
  if (options.json === true) {
    printJson({ folder: made, files: files.map(({ name }) => name), url });
    return;
  }
  print(
    folder === made
      ? `${made} has what the server needs, if that runs here; for another host, give --folder. server.key is secret.`
      : `${made} has what the server needs. Copy it to ${folder} on its host; server.key is secret.`,
  );
  print(`  nats-server -c ${join(folder, 'nats.conf')}`);
  print(`  portcullis control --nats ${url}`);
}
