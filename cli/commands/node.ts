import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { readEnvironment } from '@portcullis/control/config/env.ts';
import { DEFAULT_DOCKER_HOST, type NodeConfig, parseNetworks } from '@portcullis/node/config.ts';
import { failed, usageError } from '../exit.ts';
import { credentialFile, readCredential } from '../node-credential.ts';
import type { NodeOptions } from '../program/node.ts';
import { LOCAL_NODE } from '../up/local-names.ts';
import { nodeProcess, prepareNodeFolder } from '../up/node-launch.ts';
import { dataDirectory } from './edge.ts';

/** `portcullis node`: the agent alone, until it ends or a signal ends it. */
export async function runNode(options: NodeOptions): Promise<void> {
  const config = nodeConfig(options);
  prepareNodeFolder(config.stateDir);
  const { command, args, env } = nodeProcess(config, {
    ...process.env,
    ...(options.logLevel === undefined ? {} : { PORTCULLIS_LOG_LEVEL: options.logLevel }),
  });
  const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill('SIGTERM'));
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0) throw failed(`the node ended with ${signal ?? `exit code ${code}`}`);
}

function nodeConfig(options: NodeOptions): NodeConfig {
  const dataDir = dataDirectory(options);
  const link = options.link ?? readEnvironment().nodeSocket;
  const name = options.name ?? LOCAL_NODE;
  const file = options.credentialFile ?? credentialFile(dataDir);
  const credential = process.env['PORTCULLIS_NODE_CREDENTIAL'] ?? readCredential(file);
  if (credential === null) {
    throw usageError(
      `there is no credential in ${file}: portcullis nodes enrol ${name} --save makes one where control is; bring it here with --credential-file or PORTCULLIS_NODE_CREDENTIAL`,
    );
  }
  return {
    name,
    linkPath: link === null ? join(dataDir, 'node-link', 'control.sock') : resolve(link),
    credential,
    stateDir: join(dataDir, 'node'),
    engine: engineOf(options.engine),
    dockerHost: dockerHostOf(options.dockerHost),
    closedNetworks: closedNetworksOf(options.closedNetworks),
    onStop: 'leave',
  };
}

export function engineOf(asked: string | undefined): NodeConfig['engine'] {
  if (asked === undefined || asked === 'docker') return 'docker';
  if (asked === 'process') return 'process';
  throw usageError(`--engine ${asked} is none of docker and process`);
}

export function dockerHostOf(asked: string | undefined): string {
  return asked ?? (process.env['DOCKER_HOST'] || DEFAULT_DOCKER_HOST);
}

export function closedNetworksOf(asked: string | undefined): readonly string[] {
  try {
    return parseNetworks(asked ?? process.env['PORTCULLIS_NODE_CLOSED_NETWORKS'] ?? '');
  } catch (error) {
    throw usageError(`--closed-networks: ${(error as Error).message}`);
  }
}
