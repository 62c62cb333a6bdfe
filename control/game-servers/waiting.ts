import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { launchParts } from '@portcullis/core/game-servers/eggs/launch-parts.ts';
import { launchDigests } from '@portcullis/link/launch-digests.ts';
import type { Reader } from '../db/database.ts';
import type { LiveServer } from './live.ts';
import { loadAssignment } from './nodes/store.ts';

/**
 * The settings of a server that wait for its next start, as JSON pointers: those that differ from what its instance was
 * launched with. None for a server that does not run; null if its node does not say it.
 */
export async function loadWaiting(
  db: Reader,
  uuid: string,
  egg: Egg,
  live: LiveServer | null,
): Promise<string[] | null> {
  if (live?.state === 'offline') return [];
  const launched = live?.launched ?? null;
  const assignment = launched && (await loadAssignment(db, uuid));
  if (launched === null || assignment === null) return null;
  const wanted = launchDigests(launchParts(egg, assignment));
  const parts = new Set([...Object.keys(wanted), ...Object.keys(launched)]);
  return [...parts].filter((part) => wanted[part] !== launched[part]);
}
