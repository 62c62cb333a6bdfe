import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { WorldState } from './world.ts';

const FILE = 'world.json';

/** The world of the last run; null: there is none. What cannot be read is set aside, and `say` tells it. */
export function loadWorld(say: (line: string) => void): WorldState | null {
  let text: string;
  try {
    text = readFileSync(FILE, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const state = parseWorld(text);
  if (state !== null) return state;
  renameSync(FILE, `${FILE}.broken`);
  say(`${FILE} cannot be read: it is now ${FILE}.broken, and the world begins anew`);
  return null;
}

/** Whole or not at all, whenever the process is killed. */
export function saveWorld(state: WorldState): void {
  const file = openSync(`${FILE}.new`, 'w', 0o644);
  try {
    writeSync(file, `${JSON.stringify(state)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${FILE}.new`, FILE);
}

function parseWorld(text: string): WorldState | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || !isRecord(value['items']) || !isRecord(value['players'])) return null;
  const { items, players } = value;
  if (!Object.values(items).every(isTexts)) return null;
  const sound = Object.values(players).every(
    (player) =>
      isRecord(player) && typeof player['room'] === 'string' && isTexts(player['carries']),
  );
  return sound ? (value as unknown as WorldState) : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
