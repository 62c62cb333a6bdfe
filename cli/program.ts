import { Command, CommanderError } from 'commander';
import { addAttacks } from './commands/attacks/attacks.ts';
import { addBackup, addRestore } from './commands/backup.ts';
import { addCertificate } from './commands/certificate.ts';
import { addCollector } from './commands/collector/collector.ts';
import { addCollectors } from './commands/collectors.ts';
import { addControl } from './commands/control.ts';
import { addDrops } from './commands/drops.ts';
import { addEdge } from './commands/edge/edge.ts';
import { addEdges } from './commands/edges.ts';
import { addExplain } from './commands/explain.ts';
import { addFirewall } from './commands/firewall.ts';
import { addFleet } from './commands/fleet.ts';
import { addKeys } from './commands/keys.ts';
import { addNats } from './commands/nats.ts';
import { addNode } from './commands/node.ts';
import { addNodes } from './commands/nodes.ts';
import { addPortal } from './commands/portal.ts';
import { addSetup } from './commands/setup.ts';
import { addService } from './commands/service.ts';
import { addServers } from './commands/servers/servers.ts';
import { addTokens } from './commands/tokens.ts';
import { addThresholds } from './commands/thresholds.ts';
import { addUp } from './commands/up.ts';
import { addCompletion } from './commands/completion.ts';
import { CliError, EXIT, QuietExit, usageError } from './exit.ts';
import { styled } from './output.ts';
import manifest from './package.json' with { type: 'json' };

/** Commands in the order in which `--help` lists them. */
const GROUPS = {
  'Run it:': [addSetup, addUp, addControl, addEdge, addNode, addCollector],
  'For operators, on the database:': [
    addFleet,
    addPortal,
    addKeys,
    addEdges,
    addNodes,
    addCollectors,
    addCertificate,
    addNats,
    addTokens,
    addAttacks,
    addThresholds,
    addBackup,
    addRestore,
  ],
  'For callers, with an API key:': [addExplain, addDrops, addFirewall, addServers],
  'Other:': [addService, addCompletion],
} as const;

const EXIT_CODES = `
Exit codes: 0 success, 1 failed or denied, 2 wrong command line, 3 fleet plan --detailed-exitcode found changes,
69 a needed service is not available.
Output is coloured only on a terminal, and never if NO_COLOR is set.`;

/** Runs one command line and returns its exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const isJson = args.includes('--json');
  const program = new Command('portcullis')
    .description('Self-hosted network protection and game-server control.')
    .version(manifest.version)
    .helpOption('-h, --help', 'show the help of a command')
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      outputError: (text, write) =>
        write(errorText(text.replace(/^error: /, ''), isJson, EXIT.usage)),
    })
    .showHelpAfterError(isJson ? false : '(use --help for more)')
    .exitOverride();
  for (const [group, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(group);
    for (const add of commands) add(program);
  }
  try {
    requireKnown(program, args);
    await program.parseAsync([...args], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return reportFailure(error, isJson);
  }
}

/** Help of an unknown command is a mistake too; commander would print the help of the program. */
function requireKnown(program: Command, args: readonly string[]): void {
  if (!args.includes('--help') && !args.includes('-h')) return;
  let command = program;
  for (const word of args) {
    if (word.startsWith('-') || command.commands.length === 0) return;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) {
      if (word === 'help' || command.registeredArguments.length > 0) return;
      const path = `${command === program ? '' : `${command.name()} `}${word}`;
      throw usageError(`unknown command '${path}' (use --help for more)`);
    }
    command = next;
  }
}

function reportFailure(error: unknown, isJson: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof QuietExit) return error.exitCode;
  if (error instanceof CliError) {
    process.stderr.write(errorText(error.message, isJson, error.exitCode));
    return error.exitCode;
  }
  const message = pathFailure(error) ?? messagesOf(error).join(': ');
  process.stderr.write(errorText(message, isJson, EXIT.failed));
  if (process.env['PORTCULLIS_DEBUG'] !== undefined) console.error(error);
  return EXIT.failed;
}

/** What a system call says of a path, in words. */
const PATH_FAILURES: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of it is a file, not a directory',
  ENOENT: 'it does not exist',
  EACCES: 'no permission: run this as root, or choose another',
  EPERM: 'no permission: run this as root, or choose another',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
};

/** A failed system call on a path, such as that of --data, as a sentence; null for any other error. */
function pathFailure(error: unknown): string | null {
  if (!(error instanceof Error) || !('path' in error) || !('code' in error)) return null;
  const reason = PATH_FAILURES[String(error.code)];
  return reason === undefined ? null : `${String(error.path)} cannot be used: ${reason}`;
}

/** The message of an error, then those of its causes: chained errors do not repeat each other. */
function messagesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  return [error.message, ...(error.cause === undefined ? [] : messagesOf(error.cause))];
}

/** An error for a terminal, or with --json one line of JSON. */
function errorText(text: string, isJson: boolean, exitCode: number): string {
  const message = text.trimEnd();
  if (isJson) return `${JSON.stringify({ error: { message, exit_code: exitCode } })}\n`;
  return `${styled('red', 'portcullis:', process.stderr)} ${text.trimEnd()}\n`;
}
