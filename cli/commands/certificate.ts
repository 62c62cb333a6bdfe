import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { usageError } from '@portcullis/caller/exit.ts';
import { print, printJson, warn } from '@portcullis/caller/output.ts';
import { append, saveFiles } from './server-files.ts';

interface CertificateOptions extends DatabaseOptions {
  readonly name?: readonly [string, ...string[]];
  readonly out?: string;
}

export function addCertificate(program: Command): void {
  withDatabaseOptions(
    program
      .command('certificate')
      .description(
        "make a certificate for control by this installation's own authority, or show that",
      )
      .option('--name <host>', 'a name or address of control; repeatable', append)
      .option('--out <dir>', 'the folder; its files are replaced'),
  )
    .addHelpText(
      'after',
      `
Hosts that join by a token trust this authority. Callers trust it by its fingerprint: portcullis login --ca FINGERPRINT.
Browsers trust it where its certificate, ca.crt, is imported. Where control has a name in the public DNS, use --tls-auto
instead. "portcullis up --hosts" does all of this by itself.

  portcullis certificate                      the fingerprint of the authority
  portcullis certificate --name control.internal --out /etc/portcullis/tls
  portcullis control --tls-cert /etc/portcullis/tls/server.crt --tls-key /etc/portcullis/tls/server.key \\
      --listen 0.0.0.0:8443 --public-url https://control.internal:8443`,
    )
    .action(issue);
}

async function issue({ name: names, out, ...options }: CertificateOptions): Promise<void> {
  if ((names === undefined) !== (out === undefined)) {
    throw usageError('--name and --out belong together: give both, or none to see the authority');
  }
  if (names === undefined || out === undefined) return show(options);
  const { makeCertificateFiles } = await import('@portcullis/control/nats/server-files.ts');
  const { files, authority } = await withDatabase(
    options,
    async (db) => ({
      files: await makeCertificateFiles(db, names),
      authority: await authorityOf(db),
    }),
    { create: true },
  );
  const folder = resolve(out);
  const ca = { name: 'ca.crt', text: authority.cert, isSecret: false };
  saveFiles(folder, [...files, ca]);
  const [cert, key] = ['server.crt', 'server.key'].map((file) => join(folder, file));
  const { fingerprint } = authority;
  if (options.json === true) {
    printJson({ cert, key, ca: join(folder, ca.name), fingerprint });
    return;
  }
  print(`--tls-cert ${cert} --tls-key ${key}`);
  warn(`Callers trust it by: portcullis login --ca ${fingerprint}`);
}

async function show(options: DatabaseOptions): Promise<void> {
  const { fingerprint, cert } = await withDatabase(options, authorityOf, { create: true });
  if (options.json === true) printJson({ fingerprint, cert });
  else print(fingerprint);
}

async function authorityOf(
  db: Db,
): Promise<{ readonly fingerprint: string; readonly cert: string }> {
  const { ensureInstallation, fingerprintOf } = await import(
    '@portcullis/control/nats/installation.ts'
  );
  const installation = await ensureInstallation(db);
  return { fingerprint: fingerprintOf(installation), cert: installation.authority.cert };
}
