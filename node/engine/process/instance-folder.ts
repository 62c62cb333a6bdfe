import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EngineError, type Instance, type InstanceSpec } from '../engine.ts';
import { setTimeout as delay } from 'node:timers/promises';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The record is four short lines. */
const MAX_RECORD_BYTES = 4096;

/** The run of a process, written by its supervisor and by the agent that started it. */
export interface RunRecord {
  readonly startedAtMs: number | null;
  /** The pid of the supervisor, which leads the process group; null until it runs. */
  readonly pid: number | null;
  /** Null until the process has exited; a killed supervisor writes none. */
  readonly exitCode: number | null;
}

/**
 * The folder of one instance, which holds everything known about it. It outlives the agent, as the process does:
 *
 * - `spec.json`: the specification that it was created with.
 * - `record`: its run, written by the agent that started it and by the supervisor.
 * - `alive`: a pipe that the supervisor holds open while it lives. Unlike a pid, it cannot be reused by another process.
 * - `in`: a pipe, the standard input. `out`: a file, the standard output.
 */
export class InstanceFolder {
  readonly folder: string;

  constructor(root: string, uuid: string) {
    if (!UUID.test(uuid)) throw new RangeError('no uuid');
    this.folder = join(root, uuid);
  }

  path(name: 'spec.json' | 'record' | 'alive' | 'in' | 'out'): string {
    return join(this.folder, name);
  }

  /** Creates the folder; replaces an earlier one. */
  async make(spec: InstanceSpec): Promise<void> {
    await this.remove();
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await promisify(execFile)('mkfifo', ['-m', '600', this.path('alive'), this.path('in')]);
    await writeFile(this.path('record'), '', { mode: 0o600 });
    await writeFile(this.path('out'), '', { mode: 0o600 });
    // Written last: without this file there is no instance.
    await writeFile(this.path('spec.json'), JSON.stringify(spec), { mode: 0o600 });
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Returns null if there is no instance. */
  async spec(): Promise<InstanceSpec | null> {
    try {
      return JSON.parse(await readFile(this.path('spec.json'), 'utf8')) as InstanceSpec;
    } catch {
      return null;
    }
  }

  /** Returns null if there is no instance, also when it is being removed. */
  async record(): Promise<RunRecord | null> {
    const file = await open(this.path('record')).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (file === null) return null;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_RECORD_BYTES), 0);
      return parseRecord(buffer.toString('utf8', 0, bytesRead));
    } finally {
      await file.close();
    }
  }

  /** Whether the supervisor lives. */
  isAlive(): boolean {
    try {
      closeSync(openSync(this.path('alive'), constants.O_WRONLY | constants.O_NONBLOCK));
      return true;
    } catch {
      // The pipe has no reader, or is missing.
      return false;
    }
  }

  async inspect(): Promise<Instance | null> {
    const spec = await this.spec();
    if (spec === null) return null;
    // Checked before the record is read, which is complete once the supervisor has exited.
    const alive = this.isAlive();
    const record = await this.record();
    if (record === null) return null;
    const { startedAtMs, exitCode } = record;
    const begun = startedAtMs !== null;
    return {
      uuid: spec.uuid,
      status: begun ? (alive ? 'running' : 'exited') : 'created',
      exitCode: begun && !alive ? (exitCode ?? KILLED) : null,
      oomKilled: false,
      startedAtMs,
    };
  }
}

/** The exit code of a shell for SIGKILL. */
const KILLED = 137;

/** Lists the instances under this root. */
export async function listInstanceFolders(root: string): Promise<InstanceFolder[]> {
  const names = await readdir(root).catch(() => []);
  return names.filter((name) => UUID.test(name)).map((uuid) => new InstanceFolder(root, uuid));
}

function parseRecord(text: string): RunRecord {
  const number = (name: string): number | null => {
    const [, digits] = new RegExp(`^${name} (\\d{1,15})$`, 'm').exec(text) ?? [];
    return digits === undefined ? null : Number(digits);
  };
  return { startedAtMs: number('start'), pid: number('pid'), exitCode: number('exit') };
}

const WRITE_MS = 5_000;
const RETRY_MS = 20;

/** Writes to the standard input of a running process; see `Console.write`. */
export async function writeInput(folder: InstanceFolder, bytes: Buffer): Promise<void> {
  let descriptor: number;
  try {
    descriptor = openSync(folder.path('in'), constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    // ENXIO: the pipe has no reader.
    throw new EngineError('refused', 'The server takes no commands now.', { cause: error });
  }
  const until = performance.now() + WRITE_MS;
  try {
    for (let written = 0; written < bytes.length; ) {
      try {
        written += writeSync(descriptor, bytes, written);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN')
          throw new EngineError('refused', 'The server ended before it took the command.');
        if (performance.now() > until)
          throw new EngineError('timeout', 'The server does not read its console.');
        // The pipe is full, and Node offers no event for when it is writable again.
        await delay(RETRY_MS);
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
