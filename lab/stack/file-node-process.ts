import { connectControl, isRemote } from '@portcullis/link/transport/connect.ts';
import { whenSupervisorGone } from '@portcullis/link/supervisor.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { FakeEngine } from '@portcullis/node/engine/fake.ts';
import { ProcessEngine } from '@portcullis/node/engine/process/process.ts';
import { openProcessImages } from '@portcullis/node/process-images.ts';

/** The agent of a node with real files and a real link. Its configuration is in the environment. */
interface FileNodeConfig {
  readonly name: string;
  readonly linkPath: string;
  readonly credential: string;
  readonly stateDir: string;
  /** The port of SFTP on this host; null: it is not served. */
  readonly sftpPort: number | null;
  /** Whether links to files are served on this host, and the URL that they begin with; null: they are not. */
  readonly linkUrl: string | null;
  /** Whether its servers are programs of this host; else they do not run. */
  readonly hasGames: boolean;
}

const config = JSON.parse(process.env['FILE_NODE'] ?? '') as FileNodeConfig;
const { name, linkPath, credential, stateDir, sftpPort, linkUrl, hasGames } = config;
const warn = (fields: object, text: string): void => {
  process.stderr.write(`${text} ${JSON.stringify(fields)}\n`);
};
const link = await connectControl({ path: linkPath, agent: { kind: 'node', name }, credential });
const node = createNode({
  name,
  link,
  engine: hasGames
    ? new ProcessEngine({ stateDir, images: openProcessImages() })
    : new FakeEngine(),
  stateDir,
  accounts: null,
  applyConfigFiles: async () => [],
  controlSocket: isRemote(credential) ? null : linkPath,
  sftp: sftpPort === null ? null : { host: '127.0.0.1', port: sftpPort },
  files: linkUrl === null ? null : { host: '127.0.0.1', port: 0, url: linkUrl, tls: null },
  log: { debug() {}, info() {}, warn, error: warn },
});
node.start();
whenSupervisorGone(() => process.exit(0));
const ports = { sftpPort: await node.sftpPort, linkPort: await node.linkPort };
process.send?.({ kind: 'ready', ...ports });
