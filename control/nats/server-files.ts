import { renderServerConfig } from '@portcullis/link/nats/server-config.ts';
import type { Db } from '../db/database.ts';
import { issueCertificate } from '../certificates.ts';
import { ensureInstallation, signAccounts } from './installation.ts';

export interface ServerFileOptions {
  /** The absolute path of the folder on the host of the server. */
  readonly folder: string;
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

/** Files that nats-server needs in its folder to serve this installation; the authority's key stays in the database. */
export async function makeServerFiles(
  db: Db,
  { folder, listen, names, cluster }: ServerFileOptions,
): Promise<readonly ServerFile[]> {
  const installation = await ensureInstallation(db);
  const tls = { cert: 'server.crt', key: 'server.key', ca: 'ca.crt' };
  const signed = await signAccounts(db, installation);
  const config = renderServerConfig({ folder, listen, ...signed, tls, cluster });
  return [
    { name: 'nats.conf', text: config, isSecret: false },
    ...(await makeCertificateFiles(db, names)),
    { name: tls.ca, text: installation.authority.cert, isSecret: false },
  ];
}

/**
 * A certificate with that of the authority behind it, so that a client which knows the authority's fingerprint can
 * check it.
 */
export async function makeCertificateFiles(
  db: Db,
  names: readonly [string, ...string[]],
): Promise<readonly ServerFile[]> {
  const { authority } = await ensureInstallation(db);
  const { key, cert } = await issueCertificate(authority, names);
  return [
    { name: 'server.crt', text: `${cert}\n${authority.cert}\n`, isSecret: false },
    { name: 'server.key', text: key, isSecret: true },
  ];
}
