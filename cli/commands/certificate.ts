import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson } from '@portcullis/caller/output.ts';
import { append, saveFiles } from './server-files.ts';

interface CertificateOptions extends DatabaseOptions {
  readonly name: readonly [string, ...string[]];
  readonly out: string;
}

export function addCertificate(program: Command): void {
  withDatabaseOptions(
    program
      .command('certificate')
      .description("make a certificate for control by this installation's own authority")
      .requiredOption('--name <host>', 'a name or address of control; repeatable', append)
      .requiredOption('--out <dir>', 'the folder; its files are replaced'),
  )
    .addHelpText(
      'after',
      `
Hosts that join by a token trust this authority; browsers do not. Where control has a name in the public DNS, use
--tls-auto instead.

  portcullis certificate --name control.internal --out /etc/portcullis/tls
  portcullis control --tls-cert /etc/portcullis/tls/server.crt --tls-key /etc/portcullis/tls/server.key \\
      --listen 0.0.0.0:8443 --public-url https://control.internal:8443`,
    )
    .action(issue);
}

async function issue({ name: names, out, ...options }: CertificateOptions): Promise<void> {
  const { makeCertificateFiles } = await import('@portcullis/control/nats/server-files.ts');
  const files = await withDatabase(options, (db) => makeCertificateFiles(db, names), {
    create: true,
  });
  const folder = resolve(out);
  saveFiles(folder, files);
  const [cert, key] = ['server.crt', 'server.key'].map((file) => join(folder, file));
  if (options.json === true) printJson({ cert, key });
  else print(`--tls-cert ${cert} --tls-key ${key}`);
}
