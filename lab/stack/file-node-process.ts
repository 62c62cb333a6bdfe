import { connectControl, isRemote } from '@portcullis/link/transport/connect.ts';
import { whenSupervisorGone } from '@portcullis/link/supervisor.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { FakeEngine } from '@portcullis/node/engine/fake.ts';

/** The agent of a node with real files and a real link, whose servers do not run. Its configuration is in the environment. */
interface FileNodeConfig {
  readonly name: string;
  readonly linkPath: string;
  readonly credential: string;
  readonly stateDir: string;
  /** The port of SFTP on this host; null: it is not served. */
  readonly sftpPort: number | null;
}

const config = JSON.parse(process.env['FILE_NODE'] ?? '') as FileNodeConfig;
const { name, linkPath, credential, stateDir, sftpPort } = config;
const warn = (fields: object, text: string): void => {
  process.stderr.write(`${text} ${JSON.stringify(fields)}\n`);
};
const link = await connectControl({ path: linkPath, agent: { kind: 'node', name }, credential });
const node = createNode({
  name,
  link,
  engine: new FakeEngine(),
  stateDir,
  accounts: null,
  applyConfigFiles: async () => [],
  controlSocket: isRemote(credential) ? null : linkPath,
  sftp: sftpPort === null ? null : { host: '127.0.0.1', port: sftpPort },
  log: { debug() {}, info() {}, warn, error: warn },
});
node.start();
whenSupervisorGone(() => process.exit(0));
const port = await node.sftpPort;
process.send?.({ kind: 'ready', sftpPort: port });
