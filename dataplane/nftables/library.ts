import { closeSync } from 'node:fs';
import { memoryFile } from '../kernel/memory-file.ts';
import { type Library, loadLibrary, NativeUnavailable } from '../kernel/native.ts';
import { type Driver, DriverError, type MapChange } from './driver.ts';
import { TABLE } from './names.ts';
import { listObjects, probeWith, refusal } from './nft.ts';
import { elementCommands, linesOf, REMOVE_TABLES } from './table/render.ts';
import { openRuleset, type Ruleset } from './ruleset.ts';

/** In Debian, from the package libnftables1. */
const LIBRARY = 'libnftables.so.1';
/** Source: nftables/libnftables.h. */
const CTX_DEFAULT = 0;
const OUTPUT_JSON = 1 << 4;
const OUTPUT_NUMERIC_PROTOCOL = 1 << 7;
const OUTPUT_TERSE = 1 << 11;
const LISTING = OUTPUT_JSON | OUTPUT_NUMERIC_PROTOCOL;

interface Calls {
  readonly ctxNew: (flags: number) => unknown;
  readonly bufferOutput: (context: unknown) => number;
  readonly bufferError: (context: unknown) => number;
  readonly errorBuffer: (context: unknown) => string | null;
  readonly setOutputFlags: (context: unknown, flags: number) => void;
  readonly outputBuffer: (context: unknown) => string | null;
  readonly setDryRun: (context: unknown, dry: boolean) => void;
  readonly run: {
    async(context: unknown, path: string, done: (error: unknown, status: number) => void): void;
  };
}

let calls: Calls | null = null;

function libraryCalls(): Calls {
  if (calls !== null) return calls;
  const library: Library = loadLibrary(LIBRARY);
  calls = {
    ctxNew: library.func('void *nft_ctx_new(uint32_t flags)'),
    bufferOutput: library.func('int nft_ctx_buffer_output(void *context)'),
    bufferError: library.func('int nft_ctx_buffer_error(void *context)'),
    errorBuffer: library.func('const char *nft_ctx_get_error_buffer(void *context)'),
    setOutputFlags: library.func('void nft_ctx_output_set_flags(void *context, uint32_t flags)'),
    outputBuffer: library.func('const char *nft_ctx_get_output_buffer(void *context)'),
    setDryRun: library.func('void nft_ctx_set_dry_run(void *context, bool dry)'),
    run: library.func('int nft_run_cmd_from_filename(void *context, const char *path)'),
  };
  return calls;
}

/**
 * The size above which a text goes to a child process. nft needs a multiple of the text's size in memory, which is
 * returned to the host only when the process exits.
 */
const LARGE = 1 << 20;

/**
 * A driver that calls libnftables in this process, without child processes. Each command runs on another thread. Only
 * one runs at a time in the whole process, because the library shares state between contexts.
 *
 * The context and its netlink socket belong to the network namespace of the thread that creates it. nft updates its
 * cache of the ruleset before it uses it.
 *
 * A command cannot be interrupted; it takes as long as the kernel does. Texts above 1 MiB (whole tables of large edges)
 * go to `large` if it is available.
 *
 * Throws `NativeUnavailable` without the library, and `SystemError` without a socket.
 */
export function createLibraryDriver(large: Driver | null = null): Driver {
  const library = libraryCalls();
  const rules = openRuleset();
  const context = library.ctxNew(CTX_DEFAULT);
  if (context === null) throw new NativeUnavailable(`${LIBRARY} gives no context`);
  library.bufferOutput(context);
  library.bufferError(context);
  const run = (text: string, dry: boolean, output = 0): Promise<string> =>
    oneAtATime(async () => {
      library.setDryRun(context, dry);
      library.setOutputFlags(context, output);
      const status = await runCommand(library, context, text);
      // The library owns the buffer until the next command.
      if (status !== 0) throw refusal(library.errorBuffer(context) ?? '');
      return library.outputBuffer(context) ?? '';
    });
  const submit = async (text: string, dry: boolean): Promise<void> => {
    if (text !== '') await run(text, dry);
  };
  const apply = async (text: string): Promise<void> => {
    if (large === null || text.length <= LARGE) return submit(text, false);
    try {
      await large.apply(text);
    } catch (error) {
      const { code, cause } = error as DriverError;
      const missing = code === 'unavailable' && cause instanceof Error && 'code' in cause;
      if (!missing || cause.code !== 'ENOENT') throw error;
      await submit(text, false);
    }
  };
  return {
    probe: () => probeWith(async (text) => void (await run(text, true))),
    apply,
    change: async ({ text, steps }) => {
      if (steps === null) return submit(text, false);
      await submit(steps.prepare, false);
      if (steps.elements.length > 0) await changeElements(rules, steps.elements, run);
      await submit(steps.cleanup, false);
    },
    check: (text) => submit(text, true),
    remove: () => submit(REMOVE_TABLES, false),
    present: async () => rules.present(),
    stamp: async () => rules.generation(),
    objects: () => listObjects((listing) => run(`${listing}\n`, false, LISTING | OUTPUT_TERSE)),
    list: (set) => run(`list set ${TABLE} ${set}\n`, false, LISTING),
    watch: () => null,
  };
}

async function changeElements(
  rules: Ruleset,
  changes: readonly MapChange[],
  run: (text: string, dry: boolean) => Promise<string>,
): Promise<void> {
  const done = await oneAtATime(() => rules.change(changes));
  if (!done) await run(linesOf(elementCommands(changes)), false);
}

/** Passes the text as a memory file: nft names the lines that it refuses only for files. */
async function runCommand(library: Calls, context: unknown, text: string): Promise<number> {
  const fd = asFile(text);
  try {
    return await new Promise((resolve, reject) => {
      library.run.async(context, `/proc/self/fd/${fd}`, (error, status) => {
        if (error instanceof Error) reject(unavailable(error));
        else resolve(status);
      });
    });
  } finally {
    closeSync(fd);
  }
}

function asFile(text: string): number {
  try {
    return memoryFile('portcullis', text);
  } catch (error) {
    throw unavailable(error as Error);
  }
}

function unavailable(cause: Error): DriverError {
  return new DriverError('unavailable', `${LIBRARY} could not be run`, [], { cause });
}

let last: Promise<unknown> = Promise.resolve();

function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  const mine = last.then(work);
  last = mine.catch(() => {});
  return mine;
}
