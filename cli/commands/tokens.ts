import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { Argument, type Command } from 'commander';
import { createJoinCommand, remarkOn, requireJoinUrl } from '../agents/join-command.ts';
import { declareAgent } from '../agents/declare.ts';
import { publicUrlOf } from '../control-options.ts';
import { withTransaction } from '../database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson, printTable, warn } from '@portcullis/caller/output.ts';

interface TokenOptions extends DatabaseOptions {
  readonly name: string;
}

interface ApproveOptions extends TokenOptions {
  readonly fingerprint?: string;
}

interface CreateOptions extends TokenOptions {
  readonly expires: string;
  readonly approve?: boolean;
  readonly add?: boolean;
  readonly url?: string;
}

const LONGEST_MS = 7 * 86_400_000;

export function addTokens(program: Command): void {
  const tokens = program
    .command('tokens')
    .description('let new hosts join the fleet, each with one command')
    .addHelpText(
      'after',
      `
  portcullis tokens create edge --name fra1               prints the command for the new host
  portcullis tokens create edge --name fra1 --add         the same where the fleet has no edge fra1 yet
  portcullis tokens create edge --name fra1 --approve     the host waits until you approve it
  portcullis tokens list                                  tokens that still work, and the hosts that wait
  portcullis tokens approve edge --name fra1 --fingerprint 1b9f-02c4-77de-a310-5c88-f0e2-94ab-6d13
                                                          the host that shows this fingerprint, and no other
  portcullis tokens withdraw edge --name fra1             no unused token for it works any more

A token works once, and only for the agent that it names. The credential that the host gets for it is another secret:
"portcullis edges revoke fra1" takes that away.`,
    );
  const add = (name: string, description: string): Command =>
    withDatabaseOptions(
      tokens
        .command(name)
        .description(description)
        .addArgument(new Argument('<kind>').choices(['edge', 'node', 'collector']))
        .requiredOption('--name <name>', 'of the agent, as in the fleet file'),
    );
  add('create', 'make a token, and print the whole command for the new host')
    .option('--expires <time>', 'how long it works, such as 30m or 2d', '1h')
    .option('--approve', 'an operator must approve the host before it gets a credential')
    .option('--add', 'add an edge or a node of this name to the fleet if there is none')
    .option('--url <url>', 'of control, as the new host reaches it (default: its public URL)')
    .action(create);
  withDatabaseOptions(
    tokens.command('list').description('tokens that still work, and the hosts that wait'),
  ).action(list);
  add('approve', 'approve the host that waits with a token, by the fingerprint that it shows')
    .option('--fingerprint <fingerprint>', 'of the key of the host (without it: show who waits)')
    .action(approve);
  add('withdraw', 'make every unused token for an agent worthless').action(withdraw);
}

async function create(kind: AgentRef['kind'], options: CreateOptions): Promise<void> {
  const { name, expires, approve: needsApproval = false, json } = options;
  const lastsMs = parseDuration(expires, '--expires', LONGEST_MS);
  const { data } = options;
  const known = options.url ?? (await publicUrlOf(data === undefined ? {} : { data }));
  const url = requireJoinUrl(known, '--url');
  const agent = { kind, name };
  const made = await withTransaction(options, async (tx, actor) => {
    if (options.add === true) await declareAgent(tx, agent, actor);
    return createJoinCommand(tx, { agent, url, lastsMs, needsApproval }, actor);
  });
  if (made === null) {
    throw failed(
      `the fleet has no ${kind} ${name}: add it to the fleet file${kind === 'collector' ? '' : ', or here with --add'}`,
    );
  }
  const { token, command, expiresAt } = made;
  if (json === true) {
    printJson({ [kind]: name, token, command, expires_at: expiresAt.toISOString() });
    return;
  }
  warn(`Run this on the new host, as root, before ${expiresAt.toISOString()}. It works once.`);
  const remark = remarkOn(url);
  if (remark !== null) warn(remark);
  print(command);
}

async function approve(kind: AgentRef['kind'], options: ApproveOptions): Promise<void> {
  const { name, fingerprint = '' } = options;
  const { approveHost, loadWaitingHosts } = await import(
    '@portcullis/control/operator/joining/tokens.ts'
  );
  const { host, waiting } = await withTransaction(options, async (tx, actor) => ({
    host: await approveHost(tx, { kind, name }, fingerprint, actor),
    waiting: await loadWaitingHosts(tx, { kind, name }),
  }));
  if (host === null) throw failed(whoWaits(kind, name, waiting));
  if (options.json === true) printJson({ [kind]: name, approved: host });
  else
    print(
      `The host with the key ${host.fingerprint}, at ${host.source}, gets the credential of the ${kind} ${name} now.`,
    );
}

function whoWaits(
  kind: AgentRef['kind'],
  name: string,
  waiting: readonly { readonly fingerprint: string; readonly source: string | null }[],
): string {
  if (waiting.length === 0) return `no host waits to be the ${kind} ${name}`;
  const lines = waiting.map(({ fingerprint, source }) => `  ${fingerprint}  at ${source}`);
  const other =
    waiting.length > 1 ? ' More than one has the token, so somebody else has seen it.' : '';
  return `compare with what the host shows, and give it with --fingerprint.${other} Waiting to be the ${kind} ${name}:\n${lines.join('\n')}`;
}

async function list(options: DatabaseOptions): Promise<void> {
  const { loadOpenTokens } = await import('@portcullis/control/operator/joining/tokens.ts');
  const open = await withTransaction(options, (tx) => loadOpenTokens(tx));
  if (options.json === true) {
    printJson(
      open.map(({ kind, name, expiresAt, needsApproval, approved, hosts }) => ({
        kind,
        name,
        expires_at: expiresAt.toISOString(),
        needs_approval: needsApproval,
        approved,
        hosts,
      })),
    );
    return;
  }
  if (open.length === 0) {
    print('No token is open.');
    return;
  }
  await printTable(
    ['KIND', 'NAME', 'EXPIRES', 'APPROVAL', 'WAITING'],
    open.map(({ kind, name, expiresAt, needsApproval, approved, hosts }) => [
      kind,
      name,
      expiresAt.toISOString(),
      needsApproval ? (approved ?? 'needed') : 'not needed',
      hosts.map(({ fingerprint, source }) => `${fingerprint} at ${source}`).join(', ') || '-',
    ]),
  );
}

async function withdraw(kind: AgentRef['kind'], options: TokenOptions): Promise<void> {
  const { name } = options;
  const { withdrawTokens } = await import('@portcullis/control/operator/joining/tokens.ts');
  const count = await withTransaction(options, (tx) => withdrawTokens(tx, { kind, name }));
  if (options.json === true) printJson({ [kind]: name, withdrawn: count });
  else print(`${count} unused tokens for the ${kind} ${name} are worthless now.`);
}
