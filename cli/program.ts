import { Command, CommanderError } from 'commander';
import manifest from './package.json' with { type: 'json' };
import { CliError, EXIT } from './exit.ts';
import { styled } from './output.ts';
import { addAttacks } from './program/attacks.ts';
import { addCollector } from './program/collector.ts';
import { addCollectors } from './program/collectors.ts';
import { addDrops } from './program/drops.ts';
import { addEdge } from './program/edge.ts';
import { addEdges } from './program/edges.ts';
import { addExplain } from './program/explain.ts';
import { addFleet } from './program/fleet.ts';
import { addKeys } from './program/keys.ts';
import { addNode } from './program/node.ts';
import { addNodes } from './program/nodes.ts';
import { addServers } from './program/servers.ts';
import { addControl, addUp } from './program/up.ts';

const EXIT_CODES = `
Exit codes: 0 done, 1 failed or denied, 2 wrong command line, 69 something needed is not there now.
Colour only on a terminal, and never with NO_COLOR.`;

const COMMANDS = [
  addUp,
  addControl,
  addEdge,
  addNode,
  addServers,
  addEdges,
  addNodes,
  addFleet,
  addKeys,
  addExplain,
  addDrops,
  addCollector,
  addAttacks,
  addCollectors,
];

/** Runs one command line and answers its exit code. Nothing heavy is loaded before a command is chosen. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const program = createProgram();
  try {
    await program.parseAsync([...args], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return explainFailure(error);
  }
}

function createProgram(): Command {
  const program = new Command('portcullis')
    .description('Self-hosted network protection and game-server control.')
    .version(manifest.version)
    .helpOption('-h, --help', 'what there is to say about a command')
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      outputError: (text, write) => write(errorLine(text.replace(/^error: /, ''))),
    })
    .showHelpAfterError('(--help says more)')
    .exitOverride();
  for (const add of COMMANDS) add(program);
  return program;
}

function explainFailure(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof CliError) {
    process.stderr.write(errorLine(error.message));
    return error.exitCode;
  }
  process.stderr.write(errorLine(causes(error).join(': ')));
  if (process.env['PORTCULLIS_DEBUG'] !== undefined) console.error(error);
  return EXIT.failed;
}

/** An error and what it was caused by: chained errors do not repeat each other. */
function causes(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  return [error.message, ...(error.cause === undefined ? [] : causes(error.cause))];
}

function errorLine(text: string): string {
  return `${styled('red', 'portcullis:', process.stderr)} ${text.trimEnd()}\n`;
}
