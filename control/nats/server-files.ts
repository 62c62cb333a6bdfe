import { renderServerConfig } from '@portcullis/link/nats/server-config.ts';
import type { Db } from '../db/database.ts';
import { issueCertificate } from '../certificates.ts';
import { ensureInstallation, signAccounts } from './installation.ts';

export interface ServerFileOptions {
  /** HOST:PORT. */
  readonly listen: string;
  /** Names and addresses by which agents and control reach the server. */
  readonly names: readonly [string, ...string[]];
  readonly cluster: { readonly listen: string; readonly routes: readonly string[] } | null;
}

export interface ServerFile {
  readonly name: string;
  readonly text: string;
  /** Readable by its owner only. */
  readonly isSecret: boolean;
}

/** What nats-server needs in its folder to serve this installation; the authority's key stays in the database. */
export async function makeServerFiles(
  db: Db,
  { listen, names, cluster }: ServerFileOptions,
): Promise<readonly ServerFile[]> {
  const installation = await ensureInstallation(db);
  const { key, cert } = await issueCertificate(installation.authority, names);
  const tls = { cert: 'server.crt', key: 'server.key', ca: 'ca.crt' };
  const signed = await signAccounts(db, installation);
  const config = renderServerConfig({ listen, ...signed, tls, cluster });
  return [
    { name: 'nats.conf', text: config, isSecret: false },
    { name: tls.cert, text: cert, isSecret: false },
    { name: tls.key, text: key, isSecret: true },
    { name: tls.ca, text: installation.authority.cert, isSecret: false },
  ];
}
