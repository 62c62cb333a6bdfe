import type { Notice } from './fastnetmon.ts';
import type { Sighting } from './trial.ts';

/**
 * Sightings that FastNetMon's notices tell of each address: from a ban to the next, the last word about type and
 * peak.
 */
export function sightingsOf(notices: readonly Notice[]): Sighting[] {
  const sightings: Sighting[] = [];
  for (const notice of notices) {
    const { ip, kind, atMs, type, peakPps } = notice;
    const end = kind === 'unban' ? atMs : null;
    if (kind === 'ban') {
      sightings.push({ ip, openedAtMs: atMs, type, peakPps, endReportedAtMs: end, endedAtMs: end });
      continue;
    }
    const index = sightings.findLastIndex((one) => one.ip === ip);
    const before = sightings[index];
    if (before === undefined) continue;
    sightings[index] = {
      ...before,
      type: type ?? before.type,
      peakPps: peakPps ?? before.peakPps,
      endReportedAtMs: end ?? before.endReportedAtMs,
      endedAtMs: end ?? before.endedAtMs,
    };
  }
  return sightings;
}
