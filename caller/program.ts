import { Command, CommanderError } from 'commander';
import {
  AuthenticationError,
  ConnectionError,
  InvalidRequestError,
  PermissionError,
  PortcullisError,
  ProblemError,
  RateLimitError,
  ServiceError,
} from '@portcullis/client/errors.ts';
import { certificateProblem } from './authority.ts';
import { trustGiven } from './connect.ts';
import { describeProblem } from './file/describe-problem.ts';
import {
  CliError,
  describePathFailure,
  EXIT,
  type ExitCode,
  QuietExit,
  usageError,
} from './exit.ts';
import { styled } from './output.ts';

/** Adds a command to the program. */
export type AddCommand = (program: Command) => void;

export interface Program {
  readonly description: string;
  readonly version: string;
  /** Commands in the order in which `--help` lists them. */
  readonly groups: Readonly<Record<string, readonly AddCommand[]>>;
}

const EXIT_CODES = `
Exit codes: 0 success, 1 refused as things are, 2 a wrong command line, value or file, 3 a plan with --detailed-exitcode found changes, 4 not
signed in or not allowed, 69 a needed service is not available.
Output is coloured only on a terminal, and never if NO_COLOR is set.`;

/** Runs one command line and returns its exit code. */
export async function runCommandLine(given: Program, args: readonly string[]): Promise<number> {
  const isJson = args.includes('--json');
  const program = buildProgram(given, isJson).configureOutput({
    outputError: (text, write) =>
      write(errorText(text.replace(/^error: /, ''), isJson, EXIT.usage)),
  });
  program.hook('preAction', async (_program, command) => {
    if (command.options.some(({ long }) => long === '--ca')) await trustGiven(command.opts());
  });
  addCommands(program, given);
  try {
    requireKnown(program, args);
    await program.parseAsync([...args], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return reportFailure(error, isJson);
  }
}

/** Ends the reading of a command line in place of its action. */
class WouldRun extends Error {}

/** Why a command line is refused before its command begins, by a code of commander. */
export interface Mistake {
  readonly code: string;
  readonly message: string;
}

/**
 * The mistake for which a command line would be refused before its command begins: an unknown command or option, too few or
 * too many arguments. Null if there is none. Nothing is run or printed; values that the command itself checks are not.
 */
export async function mistakeIn(given: Program, args: readonly string[]): Promise<Mistake | null> {
  const nowhere = (): void => {};
  const program = buildProgram(given, false)
    .configureOutput({ writeOut: nowhere, writeErr: nowhere })
    .hook('preAction', () => {
      throw new WouldRun();
    });
  addCommands(program, given);
  try {
    requireKnown(program, args);
    await program.parseAsync([...args], { from: 'user' });
    return null;
  } catch (error) {
    if (error instanceof WouldRun) return null;
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? null : { code: error.code, message: error.message };
    if (error instanceof CliError) return { code: 'usage', message: error.message };
    throw error;
  }
}

/** The output of `--help` of the program and each of its commands. */
export function helpOf(given: Program): string[] {
  const printed: string[] = [];
  const program = buildProgram(given, false).configureOutput({
    writeOut: (text) => printed.push(text),
  });
  addCommands(program, given);
  const print = (command: Command): void => {
    command.outputHelp();
    for (const one of command.commands) print(one);
  };
  print(program);
  return printed;
}

function buildProgram({ description, version }: Program, isJson: boolean): Command {
  return new Command('portcullis')
    .description(description)
    .version(version)
    .helpOption('-h, --help', 'show the help of a command')
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError(isJson ? false : '(use --help for more)')
    .exitOverride();
}

/** Commands inherit how the program reports, so that is set before. */
function addCommands(program: Command, { groups }: Program): void {
  for (const [group, commands] of Object.entries(groups)) {
    program.commandsGroup(group);
    for (const add of commands) add(program);
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
  if (error instanceof PortcullisError) {
    const exitCode = exitCodeOf(error);
    const code = error instanceof ProblemError ? error.code : undefined;
    process.stderr.write(errorText(describeRefusal(error), isJson, exitCode, code));
    return exitCode;
  }
  const message = pathFailure(error) ?? messagesOf(error).join(': ');
  process.stderr.write(errorText(message, isJson, EXIT.failed));
  if (process.env['PORTCULLIS_DEBUG'] !== undefined) console.error(error);
  return EXIT.failed;
}

/** Problems of what was sent. All others are of what there is, and the same command may succeed later. */
const MISTAKES: readonly string[] = ['invalid_request', 'malformed_json'];

function exitCodeOf(error: PortcullisError): ExitCode {
  if (error instanceof AuthenticationError || error instanceof PermissionError)
    return EXIT.notAllowed;
  const isAway = [ConnectionError, RateLimitError, ServiceError].some(
    (kind) => error instanceof kind,
  );
  if (isAway) return EXIT.unavailable;
  const isMistake = error instanceof InvalidRequestError && MISTAKES.includes(error.code);
  return isMistake ? EXIT.usage : EXIT.failed;
}

/** The refusal in sentences, each once, without the words of the API for places in a request. */
function describeRefusal(error: PortcullisError): string {
  if (error instanceof ConnectionError) return describeConnection(error);
  return error instanceof ProblemError ? describeProblem(error) : error.message;
}

function describeConnection(error: ConnectionError): string {
  const { message } = error;
  const problem = certificateProblem(error);
  if (problem !== null) return `The service cannot be used: ${problem}.`;
  // https://fetch.spec.whatwg.org/#port-blocking
  if (message.endsWith(': bad port'))
    return 'The service cannot be reached: programs refuse to connect to this port of --url.';
  return `${message.replace(/[.?]?$/, '.')} Is it up, and is --url right?`;
}

/** A failed system call on a path, such as that of --data, as a sentence; null for any other error. */
function pathFailure(error: unknown): string | null {
  const reason = describePathFailure(error);
  if (reason === null || !(error instanceof Error) || !('path' in error)) return null;
  return `${String(error.path)} cannot be used: ${reason}`;
}

/** The message of an error, then those of its causes: chained errors do not repeat each other. */
function messagesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  return [error.message, ...(error.cause === undefined ? [] : messagesOf(error.cause))];
}

/** An error for a terminal, or with --json one line of JSON. */
function errorText(text: string, isJson: boolean, exitCode: number, code?: string): string {
  const message = text.trimEnd();
  // `code` is that of a problem: `no_capacity`.
  if (isJson) return `${JSON.stringify({ error: { message, exit_code: exitCode, code } })}\n`;
  return `${styled('red', 'portcullis:', process.stderr)} ${text.trimEnd()}\n`;
}

/** Runs the command line of this process, which ends with its exit code. */
export async function runMain(program: Program): Promise<void> {
  // `portcullis ... | head` closes the pipe early, which is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  process.exitCode = await runCommandLine(program, process.argv.slice(2));
}
