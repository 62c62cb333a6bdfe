import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { type LaunchSurroundings, planLaunch } from '@portcullis/core/game-servers/eggs/launch.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { withXmlAttributes } from '../config-files/xml-attributes.ts';
import {
  type Engine,
  EngineError,
  type InstanceSpec,
  type PublishedPort,
  isAlive,
  withTimeout,
} from '../engine/engine.ts';
import type { ApplyConfigFiles } from '../config-files/apply.ts';
import type { ServerFolders } from '../server-folder/server-folders.ts';
import type { InstanceConnection } from './instance-connection.ts';
import { allowMounts, type OfferedMount } from './mounts.ts';

export const PULL_MS = 30 * 60_000;
const CALL_MS = 60_000;
const FILES_MS = 60_000;
const PIDS_LIMIT = 512;

export interface LaunchOrder {
  readonly assignment: ServerAssignment;
  readonly egg: Egg;
  readonly folders: ServerFolders;
  readonly surroundings: LaunchSurroundings;
  readonly applyConfigFiles: ApplyConfigFiles;
  readonly connection: InstanceConnection;
  readonly engine: Engine;
  /** Folders that this host offers. */
  readonly mounts: readonly OfferedMount[];
}

/**
 * Creates and starts the instance of a server: image, configuration files, instance, console, and last the start, so
 * that no line is lost. It can be cancelled between two steps; a call to the engine is awaited, so that nothing starts
 * after the cancellation.
 */
export async function launch(order: LaunchOrder, signal: AbortSignal): Promise<void> {
  const { engine, assignment, connection } = order;
  const egg = { ...order.egg, configFiles: withXmlAttributes(order.egg.configFiles) };
  const { uuid } = assignment;
  if (isAlive(await withTimeout('say what runs', CALL_MS, engine.inspect(uuid)))) {
    // The operator started it, or an earlier start succeeded late.
    await connection.reattach().catch(() => {});
    return;
  }
  const plan = planLaunch(egg, assignment, order.surroundings);
  if (!plan.ok)
    throw new EngineError('refused', `The egg's startup is no command: ${plan.reason}.`);
  for (const note of plan.value.notes) connection.console.say(note);
  const { image, command, fallbackCommand, env, scope } = plan.value;
  const refreshed = engine.pull(image, () => {}, signal);
  const note = await withTimeout('get the image', PULL_MS, refreshed);
  if (note !== null) connection.console.say(note);
  throwIfCancelled(signal);
  const mounts = await allowMounts(assignment.mounts, order.mounts);
  const { folder, owner, notice } = await order.folders.prepare(uuid, signal);
  if (notice !== null) connection.console.say(notice);
  throwIfCancelled(signal);
  const applied = order.applyConfigFiles({ folder, files: egg.configFiles, scope, owner });
  for (const { path, detail } of await withTimeout('write its files', FILES_MS, applied)) {
    connection.console.say(`${path}: ${detail}`);
  }
  throwIfCancelled(signal);
  const spec: InstanceSpec = {
    uuid,
    organisation: assignment.organisation,
    image,
    command,
    fallbackCommand: fallbackCommand?.ok === true ? fallbackCommand.value : null,
    env,
    folder,
    limits: assignment.limits,
    pidsLimit: PIDS_LIMIT,
    capabilities: egg.capabilities,
    ports: publishedPorts(egg, assignment),
    mounts,
  };
  await startInstance(order, spec, signal);
}

async function startInstance(
  { engine, connection }: LaunchOrder,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  try {
    await withTimeout('make the instance', CALL_MS, engine.create(spec));
    throwIfCancelled(signal);
    await connection.attach();
    throwIfCancelled(signal);
    await withTimeout('start it', CALL_MS, engine.start(spec.uuid));
  } catch (error) {
    // The engine may still execute a start that it did not answer; removing the instance prevents it.
    await withTimeout('remove it', CALL_MS, engine.remove(spec.uuid)).catch(() => {});
    throw error;
  }
}

function publishedPorts(egg: Egg, { allocation, ports }: ServerAssignment): PublishedPort[] {
  const all = ports.length > 0 ? ports : [{ ...allocation, protocols: egg.protocols }];
  return all.flatMap(({ ip, port, protocols }) =>
    protocols.map((protocol) => ({ ip, port, protocol })),
  );
}

function throwIfCancelled(signal: AbortSignal): void {
  if (signal.aborted) throw new EngineError('aborted', 'It was cancelled.');
}
