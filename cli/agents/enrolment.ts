import { formatCredential } from '@portcullis/link/credential.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Command } from 'commander';
import { dataDirectory } from '../control-options.ts';
import { withTransaction } from '../database.ts';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson, warn } from '@portcullis/caller/output.ts';
import { credentialFile, saveCredential } from './credential-file.ts';

interface EnrolOptions extends DatabaseOptions {
  readonly save?: string | true;
  readonly remote?: boolean;
}

/** Adds the commands that give an agent of the fleet a credential, and take it away. */
export function addEnrolment(parent: Command, kind: AgentRef['kind']): void {
  withDatabaseOptions(
    parent
      .command('enrol')
      .description(`create a new credential; the previous one of the ${kind} stops working`)
      .argument('<name>', 'as in the fleet file'),
  )
    .option('--remote', 'for another host: it also says how control is reached over NATS')
    .option(
      '--save [file]',
      'write it to this file, readable only by its owner, instead of printing it',
    )
    .action((name: string, options: EnrolOptions) => enrol({ kind, name }, options));
  withDatabaseOptions(
    parent
      .command('revoke')
      .description(`take its credential away from the ${kind}, and disconnect it at once`)
      .argument('<name>', 'as in the fleet file'),
  ).action((name: string, options: DatabaseOptions) => revoke({ kind, name }, options));
}

async function enrol(agent: AgentRef, options: EnrolOptions): Promise<void> {
  const { kind, name } = agent;
  const file = await fileOf(kind, options);
  const { enrolAgent } = await import('@portcullis/control/agent-credential.ts');
  const credential = await withTransaction(options, async (tx, actor) => {
    const secret = await enrolAgent(tx, agent, actor);
    if (secret === null) throw missing(agent);
    if (options.remote !== true) return secret;
    const { loadInstallation, remoteCredential } = await import(
      '@portcullis/control/nats/installation.ts'
    );
    const nats = await loadInstallation(tx);
    if (nats === null || nats.servers.length === 0) {
      throw failed(
        'control does not use NATS yet: see "portcullis nats config --help", and start control with --nats',
      );
    }
    return formatCredential(remoteCredential(nats, agent, secret));
  });
  if (file !== undefined) saveCredential(file, credential);
  if (options.json === true) {
    printJson({ [kind]: name, ...(file === undefined ? { credential } : { file }) });
  } else if (file === undefined) {
    print(credential);
    warn('This credential is not shown again. A previous one stops working.');
  } else {
    print(`The credential of ${name} is in ${file}. A previous one stops working.`);
  }
}

async function fileOf(kind: AgentRef['kind'], options: EnrolOptions): Promise<string | undefined> {
  if (options.save !== true) return options.save;
  if (kind === 'collector') throw usageError('--save needs a file for a collector');
  if (options.remote === true) throw usageError('--save needs a file for another host');
  return credentialFile(await dataDirectory(options), kind);
}

async function revoke(agent: AgentRef, options: DatabaseOptions): Promise<void> {
  const { revokeAgent } = await import('@portcullis/control/agent-credential.ts');
  const isThere = await withTransaction(options, (tx, actor) => revokeAgent(tx, agent, actor));
  if (!isThere) throw missing(agent);
  const { kind, name } = agent;
  if (options.json === true) printJson({ [kind]: name, revoked: true });
  else
    print(
      `The ${kind} ${name} has no credential now. "portcullis ${kind}s enrol ${name}" gives it a new one.`,
    );
}

function missing({ kind, name }: AgentRef): Error {
  return failed(`the fleet has no ${kind} ${name}: add it to the fleet file`);
}
