import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { memoryFile } from '../kernel/memory-file.ts';
import { NativeUnavailable, SystemError } from '../kernel/native.ts';
import { type Driver, DriverError } from './driver.ts';
import { TABLE } from './names.ts';
import { LIST_OBJECTS, parseObjects, type TableObjects } from './table/objects.ts';
import { REMOVE_TABLES } from './table/render.ts';

export interface NftOptions {
  /** The command. It may start nft in a network namespace. */
  readonly command?: readonly [string, ...string[]];
  /** A whole table of 100,000 addresses takes seconds. */
  readonly timeoutMs?: number;
}

/** The part of the output that the caller needs. The rest is discarded. */
interface Reading {
  readonly wanted?: string;
  readonly keep?: boolean;
}

interface Result {
  readonly status: number | null;
  readonly stderr: string;
  readonly found: boolean;
  /** Empty unless the caller requested it. */
  readonly output: string;
}

const TIMEOUT_MS = 60_000;
/** The limit of error output. Errors quote the text, so they could be as long as it. */
const MAX_OUTPUT = 16_384;
const MAX_REASON = 300;
/** The capacity of a pipe in Linux. */
const PIPE_BYTES = 65_536;

/**
 * A driver that runs the nft command, with the text on its standard input. One process for each apply: 15-25 ms with
 * 100,000 elements in the table.
 */
export function createNftDriver(options: NftOptions = {}): Driver {
  const command = options.command ?? ['nft'];
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const nft = (args: readonly string[], text: string, reading: Reading = {}): Promise<Result> =>
    run([...command, ...args] as [string, ...string[]], text, timeoutMs, reading);
  const submit = async (args: readonly string[], text: string): Promise<void> => {
    if (text === '') return;
    const result = await nft(args, text);
    if (result.status !== 0) throw refusal(result.stderr);
  };
  return {
    probe: () => probeWith((text) => submit(['--check', '-f', '-'], text)),
    apply: (text) => submit(['-f', '-'], text),
    change: ({ text }) => submit(['-f', '-'], text),
    check: (text) => submit(['--check', '-f', '-'], text),
    remove: () => submit(['-f', '-'], REMOVE_TABLES),
    watch: () => null,
    stamp: async () => null,
    present: async () => {
      // `list chains` loads no elements. Listing one table or chain by name loads all elements of every set.
      const chains = await nft(['list', 'chains', 'inet'], '', {
        wanted: `table ${TABLE} {`,
      });
      return chains.found;
    },
    objects: () =>
      listObjects(async (listing) => {
        const result = await nft(['--json', '--terse', ...listing.split(' ')], '', { keep: true });
        if (result.status !== 0) throw refusal(result.stderr);
        return result.output;
      }),
    list: async (set) => {
      const args = ['--json', '--numeric-protocol', 'list', 'set', ...TABLE.split(' '), set];
      const result = await nft(args, '', { keep: true });
      if (result.status !== 0) throw refusal(result.stderr);
      return result.output;
    },
  };
}

/** Validates a table of another name in the kernel: this needs permission, nft and nf_tables. */
export async function probeWith(check: (text: string) => Promise<void>): Promise<string | null> {
  try {
    await check('add table inet portcullis_probe\n');
    return null;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const { message, cause } = error;
    if (error.code === 'refused') {
      return /Operation not permitted|must be root/i.test(message)
        ? 'changing the packet filter needs root or CAP_NET_ADMIN'
        : `the kernel does not answer nft: ${message}`;
    }
    const missing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    return missing ? 'the nft command (package nftables) is not installed' : 'nft could not be run';
  }
}

/** Lists the objects of our table. Returns null if nft refuses to list them. */
export async function listObjects(
  list: (listing: string) => Promise<string>,
): Promise<TableObjects | null> {
  try {
    const answers: string[] = [];
    for (const listing of LIST_OBJECTS) answers.push(await list(listing));
    return parseObjects(answers);
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof DriverError && error.code === 'refused'))
      return null;
    throw error;
  }
}

/** The error of nft about a text it refuses, with the lines that it names. */
export function refusal(message: string): DriverError {
  const lines = [...message.matchAll(/^[^\s:]+:(\d+):\d+(?:-\d+)?: Error:/gm)].map((match) =>
    Number(match[1]),
  );
  return new DriverError('refused', firstReason(message), [...new Set(lines)]);
}

function firstReason(stderr: string): string {
  const [line = ''] = stderr.split('\n');
  const reason = /Error: (.*)/.exec(line)?.[1] ?? line;
  return reason.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_REASON) || 'no reason given';
}

function run(
  [program, ...args]: readonly [string, ...string[]],
  text: string,
  timeoutMs: number,
  { wanted, keep = false }: Reading,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const file = fileOf(text);
    const child = spawn(program, args, {
      stdio: [file ?? 'pipe', wanted === undefined && !keep ? 'ignore' : 'pipe', 'pipe'],
      // The messages are parsed, so they must not be translated.
      env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
    });
    if (file !== null) closeSync(file);
    // The timeout option of spawn leaks its timer if the program cannot be started.
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    let stderr = '';
    let found = false;
    let end = '';
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      if (keep) output += chunk;
      if (wanted === undefined || found) return;
      found = (end + chunk).includes(wanted);
      end = (end + chunk).slice(-wanted.length);
    });
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      if (stderr.length < MAX_OUTPUT) stderr += chunk.slice(0, MAX_OUTPUT - stderr.length);
    });
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new DriverError('unavailable', `${program} could not be run`, [], { cause }));
    });
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      if (signal === null) resolve({ status, stderr, found, output });
      else reject(new DriverError('unavailable', `${program} was ended by ${signal}`));
    });
    // nft may exit before it has read everything (EPIPE). Its exit status gives the reason.
    child.stdin?.on('error', () => {});
    child.stdin?.end(text);
  });
}

/**
 * A text above the capacity of a pipe would wait for this busy thread, so it becomes a memory file. Returns null for a
 * shorter text.
 */
function fileOf(text: string): number | null {
  if (text.length <= PIPE_BYTES) return null;
  try {
    return memoryFile('portcullis', text);
  } catch (error) {
    if (error instanceof NativeUnavailable || error instanceof SystemError) return null;
    throw error;
  }
}
