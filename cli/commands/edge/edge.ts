import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { EdgeConfig } from '@portcullis/edge/config.ts';
import type { Command } from 'commander';
import {
  credentialFile,
  nameIn,
  readCredential,
  renewableFile,
} from '../../agents/credential-file.ts';
import { dataDirectory } from '../../control-options.ts';
import { usageError } from '@portcullis/caller/exit.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { LOCAL_NAME, MANAGEMENT_HELP } from '../../options.ts';
import { warn } from '@portcullis/caller/output.ts';
import { addJoin } from '../../agents/join.ts';
import { addBootUnit } from './boot-unit.ts';
import { addSwitches } from './switch.ts';
import { commandLine } from '../../installation/command-line.ts';

interface EdgeOptions {
  readonly name?: string;
  readonly link?: string;
  readonly data?: string;
  readonly enforce?: boolean;
  readonly confirmWithin?: string;
  readonly credentialFile?: string;
  readonly logLevel?: string;
  readonly management?: string;
}

export function addEdge(program: Command): void {
  const edge = program
    .command('edge')
    .description('the agent that makes this host enforce')
    .option('--name <name>', 'its name in the fleet (default: that in its credential, else local)')
    .option('--link <path>', 'socket of the control plane (default: in the data directory)')
    .option('--data <dir>', 'data directory of this host')
    .option(
      '--enforce',
      'enforce in the kernel; without it the edge renders and checks, and drops nothing',
    )
    .option(
      '--confirm-within <time>',
      'with --enforce: disable the edge again unless confirmed within this time, such as 120s',
    )
    .option('--credential-file <file>', 'its credential (default: in the data directory)')
    .option('--management <ports>', MANAGEMENT_HELP)
    .option('--log-level <level>', 'fatal, error, warn, info or debug')
    .addHelpText(
      'after',
      `
  sudo portcullis edges enrol fra1 --save                              once: see "portcullis edges --help"
  sudo portcullis edge --name fra1                                     observe
  sudo portcullis edge --name fra1 --enforce --confirm-within 120s
  sudo portcullis edge confirm     keep enforcing
  sudo portcullis edge off         disable the edge, now and after a restart, with or without control
  sudo portcullis edge on          enforce again, for good; or on trial, with --confirm-within
  sudo portcullis edge boot-unit --install    enforce from before the network is up`,
    )
    .action(runEdge);
  addBootUnit(edge);
  addSwitches(edge);
  addJoin(edge, 'edge', (_file, options: EdgeOptions) => runEdge(options));
}

async function runEdge(options: EdgeOptions): Promise<void> {
  const { edgeProcess, runAgent } = await import('../../agents/processes.ts');
  const { HostManagement, parseManagement } = await import('../../agents/management.ts');
  const named = options.management ?? process.env['PORTCULLIS_MANAGEMENT'];
  const management = new HostManagement([], parseManagement(named));
  const config = { ...(await edgeConfig(options)), ...management.now };
  mkdirSync(config.stateDir, { recursive: true, mode: 0o700 });
  const { logLevel } = options;
  const level = logLevel === undefined ? {} : { PORTCULLIS_LOG_LEVEL: logLevel };
  const file = options.credentialFile ?? credentialFile(await dataDirectory(options), 'edge');
  // What was confirmed once is not on trial again.
  const specOf = (credential: string | null) =>
    credential === null
      ? edgeProcess(config, { ...process.env, ...level })
      : edgeProcess(
          { ...config, ...management.now, credential, confirmWithinMs: null },
          { ...process.env, ...level },
        );
  await runAgent(specOf, {
    credentialFile: renewableFile('edge', file),
    onMessage: (message) => {
      const { mode, reason } = message as {
        readonly mode?: string;
        readonly reason?: string | null;
      };
      if (mode !== 'enforce') warn(`NOTHING IS ENFORCED: ${reason ?? '--enforce was not given'}.`);
    },
    onStart: (child) => {
      const stop = management.watch((changed) => child.send(changed));
      child.once('exit', stop);
    },
  });
}

async function edgeConfig(
  options: EdgeOptions,
): Promise<Omit<EdgeConfig, 'management' | 'managementProblem'>> {
  const { readVariable } = await import('@portcullis/control/config/config.ts');
  const dataDir = await dataDirectory(options);
  const link = options.link ?? readVariable(process.env, 'PORTCULLIS_LINK_SOCKET');
  const within = options.confirmWithin;
  if (within !== undefined && options.enforce !== true)
    throw usageError('--confirm-within needs --enforce: give both');
  const file = options.credentialFile ?? credentialFile(dataDir, 'edge');
  const credential = process.env['PORTCULLIS_EDGE_CREDENTIAL'] ?? readCredential(file);
  const name = options.name ?? nameIn(credential) ?? LOCAL_NAME;
  if (credential === null) {
    throw usageError(
      `there is no credential in ${file}: make one with ${commandLine(['edges', 'enrol', name, '--save'], { dataDir, asRoot: true })}`,
    );
  }
  return {
    name,
    credential,
    linkPath: link === null ? join(dataDir, 'link', 'control.sock') : resolve(link),
    stateDir: join(dataDir, 'edge'),
    mode: options.enforce === true ? 'enforce' : 'observe',
    confirmWithinMs: within === undefined ? null : parseDuration(within, '--confirm-within'),
  };
}
