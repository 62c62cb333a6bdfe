import { statSync } from 'node:fs';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import {
  installEnvironment,
  type Launch,
  type LaunchSurroundings,
  planLaunch,
} from '@portcullis/core/game-servers/eggs/launch.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { withTimeout, type Engine, EngineError } from '../engine/engine.ts';
import type { ServerConsole } from '../console/server-console.ts';
import { PULL_MS } from '../server/launch.ts';
import { beforeInstall } from '../files/operations/bin.ts';
import { emptyFolder } from '../files/operations/empty.ts';
import { isInFolder, Refusal } from '../server-folder/folder.ts';
import type { ServerFolders } from '../server-folder/server-folders.ts';

const INSTALL_MS = 2 * 60 * 60_000;
const LOG_LINES = 200;
/** The most that a report may carry (`MAX_BUILD_LOG_LENGTH`). */
const LOG_LENGTH = 16_000;

export interface BuildOrder {
  readonly engine: Engine;
  readonly assignment: ServerAssignment;
  readonly egg: Egg;
  readonly folders: ServerFolders;
  readonly surroundings: LaunchSurroundings;
  /** The bytes that the folder was last measured to hold. */
  readonly folderBytes: () => number;
}

/** The install exited with a code other than 0, left too little, or could not run. */
export class BuildFailed extends Error {
  override readonly name = 'BuildFailed';
}

/** The last lines of a build. */
export function logOf(output: ServerConsole): string {
  return output.last(LOG_LINES).join('\n').slice(-LOG_LENGTH);
}

/** The files of a startup that it cannot do without: a program of the folder, and the archive of `java -jar`. */
function namedFiles({ fallbackCommand }: Launch): string[] {
  if (fallbackCommand?.ok !== true) return [];
  const [program = '', ...rest] = fallbackCommand.value;
  const jar = rest[rest.indexOf('-jar') + 1];
  const names = [program, ...(rest.includes('-jar') && jar !== undefined ? [`./${jar}`] : [])];
  return names.filter((name) => /^\.\/[\w.-]+(?:\/[\w.-]+)*$/.test(name));
}

/**
 * Builds a server: pulls its image, creates its folder and runs its install script. An interrupted build starts from the
 * beginning; install scripts are written for that. `output` takes what the install writes.
 */
export async function build(
  order: BuildOrder,
  output: ServerConsole,
  signal: AbortSignal,
): Promise<void> {
  const { engine, assignment, egg, folders } = order;
  const { uuid } = assignment;
  try {
    const plan = planLaunch(egg, assignment, order.surroundings);
    if (!plan.ok)
      throw new EngineError('refused', `The egg's startup is no command: ${plan.reason}.`);
    const say = (line: string): void => output.push(Buffer.from(`${line}\n`));
    await withTimeout('get the image', PULL_MS, engine.pull(plan.value.image, say, signal));
    if (egg.install === null) return await prepare(order, say, signal);
    const { image, entrypoint, script } = egg.install;
    await withTimeout('get the image', PULL_MS, engine.pull(image, say, signal));
    const spec = {
      uuid,
      organisation: assignment.organisation,
      image,
      entrypoint,
      script,
      env: installEnvironment(plan.value),
      limits: assignment.limits,
      folderBytes: order.folderBytes,
    };
    await folders.install(uuid, async (folder) => {
      await empty(order, folder, say);
      const take = (chunk: Buffer): void => output.push(chunk);
      const installed = engine.runInstall({ ...spec, folder }, take, signal);
      const { exitCode } = await withTimeout('end the install', INSTALL_MS, installed);
      if (exitCode !== 0)
        throw new EngineError('refused', `The install ended with exit code ${exitCode}.`);
      for (const file of namedFiles(plan.value)) {
        if (await isInFolder(folder, file)) continue;
        throw new EngineError('refused', `The install left no ${file}, which the startup names.`);
      }
    });
  } catch (failure) {
    const error = failureReason(signal) ?? failure;
    if (!(error instanceof EngineError)) throw error;
    if (error.code === 'unreachable' || error.code === 'aborted') throw error;
    output.end();
    throw new BuildFailed(error.message, { cause: error });
  }
}

/** Prepares the folder of a server whose egg installs nothing. */
async function prepare(
  order: BuildOrder,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { folder, notice } = await order.folders.prepare(order.assignment.uuid, signal);
  if (notice !== null) say(notice);
  await empty(order, folder, say);
}

/** Empties the folder if that was asked for together with the build. */
async function empty(
  { assignment: { emptyFiles: how, buildEpoch } }: BuildOrder,
  folder: string,
  say: (line: string) => void,
): Promise<void> {
  if (how === null) return;
  const name = beforeInstall(buildEpoch);
  const { uid, gid } = statSync(folder);
  try {
    await emptyFolder({ folder, owner: { uid, gid }, how, name });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = `The files before the install cannot be moved away: ${error.message}.`;
    throw new EngineError('refused', message, { cause: error });
  }
  say(
    how === 'delete'
      ? 'The files before were deleted.'
      : `The files before are in the bin, as ${name}.`,
  );
}

/** The reason of an abort that makes the build fail, such as a disk limit; null for any other. */
function failureReason({ aborted, reason }: AbortSignal): EngineError | null {
  return aborted && reason instanceof EngineError && reason.code === 'refused' ? reason : null;
}
