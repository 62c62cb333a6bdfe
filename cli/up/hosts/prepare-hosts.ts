import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { setDefaultCACertificates, getCACertificates } from 'node:tls';
import { withDatabase } from '../../database.ts';
import { saveFiles } from '../../commands/server-files.ts';
import type { SupervisedProcess } from '../supervised-process.ts';
import { certificateFolder, type Hosts } from './hosts-options.ts';
import type { ProcessSpec } from '../../agents/processes.ts';
import { addressOf, ownAddress, WILDCARDS } from '../../options.ts';
import { unavailable } from '@portcullis/caller/exit.ts';
import {
  giveFolder,
  natsAccount,
  natsFailure,
  natsFolder,
  natsProcess,
  requireNatsServer,
} from './nats-server.ts';

/** Names by which this host reaches its own control plane, whatever its name resolves to here. */
const OWN_NAMES = ['localhost', '127.0.0.1', '::1'];

export interface PreparedHosts {
  /** SHA-256 of the installation's own authority, by which callers know control. */
  readonly fingerprint: string;
  /**
   * The environment of the control process, which reaches its NATS server by it whatever the name of this host
   * resolves to here.
   */
  readonly env: NodeJS.ProcessEnv;
}

export interface HostsToPrepare {
  readonly dataDir: string;
  /** PORTCULLIS_ACCOUNT. */
  readonly account: string | null;
  readonly supervise: (spec: ProcessSpec) => SupervisedProcess;
  /** Gets each part as soon as it may have to be stopped. */
  readonly running: { push(part: SupervisedProcess): void };
}

/**
 * Makes the certificates and the files of NATS of this installation, as `certificate` and `nats config` do, and starts the
 * NATS server. They are made anew at each start, so none expires, and they follow the names and the database.
 */
export async function prepareHosts(
  hosts: Hosts,
  { dataDir, account: asked, supervise, running }: HostsToPrepare,
): Promise<PreparedHosts> {
  // Before anything is made.
  const program = hosts.nats === null ? null : requireNatsServer();
  const { fingerprint, cert } = await makeFiles(hosts, dataDir);
  // This process calls the API of its own control plane too.
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  if (program === null || hosts.nats === null) return { fingerprint, env: {} };
  const folder = natsFolder(dataDir);
  const account = natsAccount(dataDir, asked);
  giveFolder(folder, account);
  const nats = supervise(natsProcess(program, { folder, account }));
  running.push(nats);
  const { listen, port } = hosts.nats;
  await nats.start().catch((error: unknown) => {
    throw unavailable(natsFailure(folder, { listen, port }), error);
  });
  const { host } = addressOf('--nats-listen', listen);
  return { fingerprint, env: { PORTCULLIS_NATS_OWN: `tls://${ownAddress(host)}:${port}` } };
}

async function makeFiles(
  { names: [first, ...more], listen: { host }, nats }: Hosts,
  dataDir: string,
): Promise<{ readonly fingerprint: string; readonly cert: string }> {
  const [{ makeCertificateFiles, makeServerFiles }, { ensureInstallation, fingerprintOf }] =
    await Promise.all([
      import('@portcullis/control/nats/server-files.ts'),
      import('@portcullis/control/nats/installation.ts'),
    ]);
  const hosts = [host, ...(nats === null ? [] : [addressOf('--nats-listen', nats.listen).host])];
  const listened = hosts.filter((one) => isIP(one) !== 0 && !WILDCARDS.includes(one));
  const names = [...new Set([first, ...more, ...OWN_NAMES, ...listened])] as [string, ...string[]];
  return withDatabase(
    { data: dataDir },
    async (db) => {
      saveFiles(certificateFolder(dataDir), await makeCertificateFiles(db, names));
      if (nats !== null) {
        const { listen } = nats;
        const folder = natsFolder(dataDir);
        const options = { folder: resolve(folder), listen, names, cluster: null };
        saveFiles(folder, await makeServerFiles(db, options));
      }
      const installation = await ensureInstallation(db);
      return { fingerprint: fingerprintOf(installation), cert: installation.authority.cert };
    },
    { create: true },
  );
}
