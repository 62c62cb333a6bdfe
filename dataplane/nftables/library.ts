import { closeSync } from 'node:fs';
import { memoryFile } from '../kernel/memory-file.ts';
import { type Library, loadLibrary, NativeUnavailable } from '../kernel/native.ts';
import { type Driver, DriverError, type MapChange } from './driver.ts';
import { TABLE } from './names.ts';
import { listObjects, probeWith, refusal } from './nft.ts';
import { elementCommands, linesOf, REMOVE_TABLES } from './table/render.ts';
import { openRuleset, type Ruleset } from './ruleset.ts';

/** Of Debian's libnftables1, as nft itself has it. */
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

/** Of a text. nft takes many times its size of memory, which only a process that ends gives back to the host. */
const LARGE = 1 << 20;

/**
 * libnftables in this process: nothing is spawned. Each command runs on another thread, and one at a time in the
 * whole process, because the library shares state between contexts. The context, and with it the socket to the
 * kernel, is of the network namespace that this thread is in now. What nft remembers of the ruleset it asks the
 * kernel about before it uses it. A command cannot be ended from outside: it takes what the kernel takes.
 * Texts of megabytes, whole tables of large edges, go to `large` where it is given and can run.
 * Throws `NativeUnavailable` where there is no library, `SystemError` where there is no socket.
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
      // Its own memory, until the next command.
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

/** As a file in memory: of a mere text nft does not say which line it refuses. */
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
