import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { type LaunchSurroundings, planLaunch } from '@portcullis/core/game-servers/eggs/launch.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { bounded, type Engine, EngineError, type InstanceSpec } from '../engine/engine.ts';
import type { ApplyConfigFiles } from '../config-files/apply.ts';
import { type Owner, prepareFolder } from '../server-folder/folder.ts';
import type { Terminal } from './instance-connection.ts';

export const PULL_MS = 30 * 60_000;
const CALL_MS = 60_000;
const FILES_MS = 60_000;
const PIDS_LIMIT = 512;

export interface LaunchOrder {
  readonly assignment: ServerAssignment;
  readonly egg: Egg;
  readonly folder: string;
  readonly owner: Owner | null;
  readonly surroundings: LaunchSurroundings;
  readonly applyConfigFiles: ApplyConfigFiles;
  readonly terminal: Terminal;
  readonly engine: Engine;
}

/**
 * Makes and starts the instance of a server: image, configuration files, instance, console, and only then the
 * start, so that no line is lost. Between any two of these it can be called off; a call to the engine that has begun
 * is waited for, so that nothing starts after it was given up.
 */
export async function launch(order: LaunchOrder, signal: AbortSignal): Promise<void> {
  const { engine, assignment, egg, terminal } = order;
  const { uuid } = assignment;
  if (await isRunning(engine, uuid)) {
    // Somebody started it, or a start that was thought to have failed did not: there is only ever one.
    await terminal.reattach().catch(() => {});
    return;
  }
  const plan = planLaunch(egg, assignment, order.surroundings);
  if (!plan.ok)
    throw new EngineError('refused', `The egg's startup is no command: ${plan.reason}.`);
  for (const note of plan.value.notes) terminal.console.say(note);
  const { image, command, fallbackCommand, env, scope } = plan.value;
  await bounded(
    'get the image',
    PULL_MS,
    engine.pull(image, () => {}, signal),
  );
  checkCalledOff(signal);
  prepareFolder(order.folder, order.owner);
  const { folder, owner, applyConfigFiles } = order;
  const applied = applyConfigFiles({ folder, files: egg.configFiles, scope, owner });
  for (const { path, detail } of await bounded('write its files', FILES_MS, applied)) {
    terminal.console.say(`${path}: ${detail}`);
  }
  checkCalledOff(signal);
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
    ports: egg.protocols.map((protocol) => ({ ...assignment.allocation, protocol })),
  };
  try {
    await bounded('make the instance', CALL_MS, engine.create(spec));
    checkCalledOff(signal);
    await terminal.attach();
    checkCalledOff(signal);
    await bounded('start it', CALL_MS, engine.start(uuid));
  } catch (error) {
    // A start that was not answered may still happen: not to what is no longer there.
    await bounded('remove it', CALL_MS, engine.remove(uuid)).catch(() => {});
    throw error;
  }
}

async function isRunning(engine: Engine, uuid: string): Promise<boolean> {
  const there = await bounded('say what runs', CALL_MS, engine.inspect(uuid));
  return there?.status === 'running' || there?.status === 'paused';
}

function checkCalledOff(signal: AbortSignal): void {
  if (signal.aborted) throw new EngineError('aborted', 'It was called off.');
}
