import { join, resolve } from 'node:path';
import type { NodeConfig } from '@portcullis/node/config.ts';
import type { Command } from 'commander';
import {
  credentialFile,
  nameIn,
  readCredential,
  renewableFile,
} from '../agents/credential-file.ts';
import { addJoin } from '../agents/join.ts';
import { dataDirectory } from '../control-options.ts';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import { LOCAL_NAME } from '../options.ts';

interface NodeOptions {
  readonly name?: string;
  readonly link?: string;
  readonly data?: string;
  readonly engine?: string;
  readonly dockerHost?: string;
  readonly closedNetworks?: string;
  readonly sftpListen?: string;
  readonly filesListen?: string;
  readonly filesUrl?: string;
  readonly filesCert?: string;
  readonly filesKey?: string;
  readonly openNetworks?: string;
  readonly imagePull?: string;
  readonly accounts?: string;
  readonly mounts?: string;
  readonly credentialFile?: string;
  readonly logLevel?: string;
}

const HELP = `
  sudo portcullis nodes enrol node-1 --save      once, on the host of control: see "portcullis nodes --help"
  sudo portcullis node --name node-1
  portcullis node --name try-out --engine process

Registries that need an account: log in with "docker login" as the account that this agent runs as.
The credential may also be in PORTCULLIS_NODE_CREDENTIAL. Servers continue to run while the node is stopped; after a
restart it takes them over.`;

export function addNode(program: Command): void {
  const node = program
    .command('node')
    .description('the agent that runs game servers on this host')
    .option('--name <name>', 'its name in the fleet (default: that in its credential, else local)')
    .option(
      '--link <path>',
      'socket of the control plane for nodes (default: in the data directory)',
    )
    .option('--data <dir>', 'data directory of this host')
    .option(
      '--engine <engine>',
      'docker; process, which isolates nothing; or both, each server on the one that can run it (default: docker)',
    )
    .option(
      '--docker-host <url>',
      "the engine's socket (default: DOCKER_HOST, else unix:///var/run/docker.sock)",
    )
    .option(
      '--closed-networks <networks>',
      'networks that no server may reach, such as that of a remote control plane, with commas',
    )
    .option(
      '--open-networks <networks>',
      'networks that are not public and that servers may reach all the same, with commas',
    )
    .option(
      '--image-pull <when>',
      'refresh images by tag at each start (always), or fetch only what is missing (default: always)',
    )
    .option(
      '--accounts <first-last>',
      'uids and gids of the servers as root, one each (default: 200000-524287 without those of /etc/subuid and the like)',
    )
    .option(
      '--mounts <path[:ro],...>',
      'folders of this host that servers may be given, with commas; :ro for reading only (default: none)',
    )
    .option(
      '--sftp-listen <[address:]port>',
      'where people connect to files of servers by SFTP, or off (default: 2022)',
    )
    .option('--credential-file <file>', 'its credential (default: in the data directory)')
    .option('--log-level <level>', 'fatal, error, warn, info or debug')
    .addHelpText('after', HELP)
    .action(runNode);
  addFilesServed(node);
  addMount(node);
  addJoin(node, 'node', (_file, options: NodeOptions) => runNode(options));
}

function addMount(node: Command): void {
  node
    .command('mount')
    .description(
      'mount the folders of servers nosuid and nodev, as root; the unit does it at each start',
    )
    .action((_options: unknown, command: Command) => runMount(command.optsWithGlobals()));
}

async function runMount(options: NodeOptions): Promise<void> {
  const { prepareNodeFolder } = await import('../agents/processes.ts');
  const { mountServersForGood } = await import('../agents/server-mount.ts');
  const stateDir = join(await dataDirectory(options), 'node');
  prepareNodeFolder(stateDir);
  try {
    mountServersForGood(stateDir);
  } catch (error) {
    throw failed(`the folders of servers cannot be mounted: ${(error as Error).message}`, error);
  }
}

async function runNode(options: NodeOptions): Promise<void> {
  const { nodeProcess, prepareNodeFolder, runAgent } = await import('../agents/processes.ts');
  const config = await nodeConfig(options);
  prepareNodeFolder(config.stateDir);
  const { logLevel } = options;
  const level = logLevel === undefined ? {} : { PORTCULLIS_LOG_LEVEL: logLevel };
  const env = { ...process.env, ...level };
  await runAgent(
    (renewed) => nodeProcess(renewed === null ? config : { ...config, credential: renewed }, env),
    {
      credentialFile: renewableFile(
        'node',
        options.credentialFile ?? credentialFile(await dataDirectory(options), 'node'),
      ),
    },
  );
}

/** The options of links to files on the node. */
function addFilesServed(node: Command): void {
  node
    .option(
      '--files-listen <[address:]port>',
      'where one-time links to files are served (default: off)',
    )
    .option('--files-url <url>', 'the https URL by which callers reach that')
    .option(
      '--files-cert <file>',
      'PEM certificate of that; without it, a proxy in front speaks TLS',
    )
    .option('--files-key <file>', 'PEM key of that');
}

async function nodeConfig(options: NodeOptions): Promise<NodeConfig> {
  const { readVariable } = await import('@portcullis/control/config/config.ts');
  const dataDir = await dataDirectory(options);
  const link = options.link ?? readVariable(process.env, 'PORTCULLIS_NODE_SOCKET');
  const file = options.credentialFile ?? credentialFile(dataDir, 'node');
  const credential = process.env['PORTCULLIS_NODE_CREDENTIAL'] ?? readCredential(file);
  const name = options.name ?? nameIn(credential) ?? LOCAL_NAME;
  if (credential === null) {
    throw usageError(
      `there is no credential in ${file}: portcullis nodes enrol ${name} --save makes one on the host of control; give it here with --credential-file or PORTCULLIS_NODE_CREDENTIAL`,
    );
  }
  return {
    name,
    linkPath: link === null ? join(dataDir, 'node-link', 'control.sock') : resolve(link),
    credential,
    stateDir: join(dataDir, 'node'),
    engine: parseEngine(options.engine ?? 'docker'),
    ...(await engineSettings(options)),
    sftp: await sftpListen(options.sftpListen, '2022'),
    files: await filesServed(options),
    onStop: 'leave',
  };
}

export function parseEngine(text: string): NodeConfig['engine'] {
  if (text === 'docker' || text === 'process' || text === 'both') return text;
  throw usageError(`--engine ${text} is none of both, docker and process`);
}

type EngineSettings = Pick<
  NodeConfig,
  'dockerHost' | 'closedNetworks' | 'openNetworks' | 'imagePull' | 'accounts' | 'mounts'
>;

/** How the node runs servers, from the options, else from the environment. */
export async function engineSettings(options: {
  readonly dockerHost?: string;
  readonly closedNetworks?: string;
  readonly openNetworks?: string;
  readonly imagePull?: string;
  readonly accounts?: string;
  readonly mounts?: string;
}): Promise<EngineSettings> {
  const { DEFAULT_DOCKER_HOST, parseNetworks } = await import('@portcullis/node/config.ts');
  const dockerHost = options.dockerHost ?? (process.env['DOCKER_HOST'] || DEFAULT_DOCKER_HOST);
  const networks = options.closedNetworks ?? process.env['PORTCULLIS_NODE_CLOSED_NETWORKS'] ?? '';
  const imagePull = options.imagePull ?? (process.env['PORTCULLIS_NODE_IMAGE_PULL'] || 'always');
  if (imagePull !== 'always' && imagePull !== 'missing')
    throw usageError(`--image-pull ${imagePull} is none of always and missing`);
  const opened = options.openNetworks ?? process.env['PORTCULLIS_NODE_OPEN_NETWORKS'] ?? '';
  return {
    dockerHost,
    imagePull,
    accounts: await accountsOf(
      options.accounts ?? (process.env['PORTCULLIS_NODE_ACCOUNTS'] || null),
    ),
    mounts: await mountsOf(options.mounts ?? process.env['PORTCULLIS_NODE_MOUNTS'] ?? ''),
    closedNetworks: networksOf('--closed-networks', networks, parseNetworks),
    openNetworks: networksOf('--open-networks', opened, parseNetworks),
  };
}

/** Where the node serves SFTP, from the option, else from the environment. */
export async function sftpListen(
  option: string | undefined,
  otherwise: string,
): Promise<NodeConfig['sftp']> {
  const { parseSftpListen } = await import('@portcullis/node/config.ts');
  try {
    return parseSftpListen(option ?? (process.env['PORTCULLIS_NODE_SFTP_LISTEN'] || otherwise));
  } catch (error) {
    throw usageError(`--sftp-listen: ${(error as Error).message}`);
  }
}

/** Where the node serves links to files, from the options, else from the environment. */
async function filesServed(options: NodeOptions): Promise<NodeConfig['files']> {
  const { parseFilesServed } = await import('@portcullis/node/config.ts');
  const given = (option: string | undefined, name: string): string | null =>
    option ?? (process.env[`PORTCULLIS_NODE_FILES_${name}`] || null);
  const [cert, key] = [given(options.filesCert, 'CERT'), given(options.filesKey, 'KEY')];
  try {
    return parseFilesServed({
      listen: given(options.filesListen, 'LISTEN'),
      url: given(options.filesUrl, 'URL'),
      cert: cert && resolve(cert),
      key: key && resolve(key),
    });
  } catch (error) {
    throw usageError(`--files-listen, --files-url: ${(error as Error).message}`);
  }
}

async function accountsOf(text: string | null): Promise<NodeConfig['accounts']> {
  const { DEFAULT_ACCOUNTS, parseAccounts } = await import(
    '@portcullis/node/server-folder/account-range.ts'
  );
  try {
    return text === null ? DEFAULT_ACCOUNTS : parseAccounts(text);
  } catch (error) {
    throw usageError(`--accounts: ${(error as Error).message}`);
  }
}

async function mountsOf(text: string): Promise<NodeConfig['mounts']> {
  const { parseMounts } = await import('@portcullis/node/server/mounts.ts');
  try {
    return parseMounts(text);
  } catch (error) {
    throw usageError(`--mounts: ${(error as Error).message}`);
  }
}

function networksOf(option: string, text: string, parse: (text: string) => string[]): string[] {
  try {
    return parse(text);
  } catch (error) {
    throw usageError(`${option}: ${(error as Error).message}`);
  }
}
