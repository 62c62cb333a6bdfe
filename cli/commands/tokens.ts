import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { Argument, type Command } from 'commander';
import { controlConfig } from '../control-options.ts';
import { withTransaction } from '../database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson, warn } from '@portcullis/caller/output.ts';

interface TokenOptions extends DatabaseOptions {
  readonly name: string;
}

interface CreateOptions extends TokenOptions {
  readonly expires: string;
  readonly approve?: boolean;
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
  portcullis tokens create edge --name fra1 --approve     the host waits until you approve it
  portcullis tokens approve edge --name fra1
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
    .option('--url <url>', 'of control, as the new host reaches it (default: its public URL)')
    .action(create);
  add('approve', 'approve the host that waits with a token').action(approve);
  add('withdraw', 'make every unused token for an agent worthless').action(withdraw);
}

async function create(kind: AgentRef['kind'], options: CreateOptions): Promise<void> {
  const { name, expires, approve: needsApproval = false, data, json } = options;
  const lastsMs = parseDuration(expires, '--expires', LONGEST_MS);
  const expiresAt = new Date(Date.now() + lastsMs);
  const { publicUrl } = await controlConfig(data === undefined ? {} : { data });
  const url = options.url ?? publicUrl;
  const { createToken } = await import('@portcullis/control/joining/tokens.ts');
  const token = await withTransaction(options, (tx, actor) =>
    createToken(tx, { agent: { kind, name }, expiresAt, needsApproval }, actor),
  );
  if (token === null) throw failed(`the fleet has no ${kind} ${name}: add it to the fleet file`);
  const command = `portcullis ${kind} join ${url} ${token}`;
  if (json === true) {
    printJson({ [kind]: name, token, command, expires_at: expiresAt.toISOString() });
    return;
  }
  warn(`Run this on the new host, as root, before ${expiresAt.toISOString()}. It works once.`);
  print(command);
}

async function approve(kind: AgentRef['kind'], options: TokenOptions): Promise<void> {
  const { name } = options;
  const { approveTokens } = await import('@portcullis/control/joining/tokens.ts');
  const sources = await withTransaction(options, (tx, actor) =>
    approveTokens(tx, { kind, name }, actor),
  );
  if (sources.length === 0) throw failed(`no host waits to be the ${kind} ${name}`);
  if (options.json === true) printJson({ [kind]: name, approved: sources });
  else print(`The host at ${sources.join(', ')} gets the credential of the ${kind} ${name} now.`);
}

async function withdraw(kind: AgentRef['kind'], options: TokenOptions): Promise<void> {
  const { name } = options;
  const { withdrawTokens } = await import('@portcullis/control/joining/tokens.ts');
  const count = await withTransaction(options, (tx) => withdrawTokens(tx, { kind, name }));
  if (options.json === true) printJson({ [kind]: name, withdrawn: count });
  else print(`${count} unused tokens for the ${kind} ${name} are worthless now.`);
}
