import { setTimeout as delay } from 'node:timers/promises';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { Command } from 'commander';
import { print } from '../../output.ts';
import { ConnectionError, RateLimitError, ServiceError } from '@portcullis/client/errors.ts';
import type { Attack } from '@portcullis/client/generated/operations.ts';
import {
  attackQuery,
  type AttackOptions,
  type AttackPages,
  loadAttacks,
  withTargetOptions,
} from './attack-pages.ts';

/** Control updates the records of attacks each second. */
const WATCH_MS = 1_000;
/** The default limit of a key is 600 requests a minute, which other programs may share. */
const PAGE_MS = 200;
const MAX_WATCHED = 10_000;
/** A request also returns attacks that ended up to this time before. */
const OVERLAP_MS = 600_000;
/** Retries while control is unavailable: after one second, doubling up to this delay. */
const MAX_RETRY_MS = 15_000;
const AWAY = [ConnectionError, RateLimitError, ServiceError] as const;

export function addWatch(attacks: Command): void {
  withTargetOptions(
    attacks
      .command('watch')
      .description('print attacks as they start, grow and end, until interrupted'),
  )
    .addHelpText(
      'after',
      `
  portcullis attacks watch
  portcullis attacks watch --prefix 203.0.113.0/24 --json

With --json: one JSON document per line, for each attack that is new or changed.
If control becomes unavailable, the command retries and reports that on standard error.`,
    )
    .action(watchAttacks);
}

/**
 * Runs until it is interrupted or control refuses. Retries when control becomes unavailable, as it may restart during an
 * attack. Throws if the first request fails, because then the URL may be wrong.
 */
async function watchAttacks(options: AttackOptions): Promise<void> {
  let known = new Map<number, Attack>();
  let isTruncated = false;
  let requestedAt = Date.now();
  let loaded = await loadSince(options, requestedAt - OVERLAP_MS);
  if (options.quiet !== true)
    report('Watching; an attack is printed as it starts. Ctrl-C ends it.');
  for (;;) {
    const { attacks, meta, pages } = loaded;
    for (const { attack, line } of changesOf(known, attacks)) {
      if (options.json === true) process.stdout.write(`${JSON.stringify(attack)}\n`);
      else print(line);
    }
    known = new Map(attacks.map((one) => [one.id, one]));
    const wasTruncated = isTruncated;
    isTruncated = meta.total > attacks.length;
    if (isTruncated && !wasTruncated)
      report(`Watching the newest ${attacks.length} of ${meta.total} attacks.`);
    await delay(Math.max(WATCH_MS, pages * PAGE_MS));
    // Starts before the last successful request, so that attacks that ended while control was unavailable are included.
    ({ loaded, requestedAt } = await loadWithRetry(options, requestedAt - OVERLAP_MS));
  }
}

async function loadWithRetry(options: AttackOptions, from: number) {
  for (let failures = 0; ; failures += 1) {
    const requestedAt = Date.now();
    try {
      const loaded = await loadSince(options, from);
      if (failures > 0) report('Control is available again.');
      return { loaded, requestedAt };
    } catch (error) {
      const isAway = AWAY.some((kind) => error instanceof kind);
      if (!isAway || !(error instanceof Error)) throw error;
      if (failures === 0) report(`Control is unavailable, retrying: ${error.message}`);
      await delay(Math.min(MAX_RETRY_MS, WATCH_MS * 2 ** Math.min(failures, 10)));
    }
  }
}

function loadSince(options: AttackOptions, from: number): Promise<AttackPages> {
  const query = { ...attackQuery(options), from: new Date(from).toISOString() };
  return loadAttacks(options, query, MAX_WATCHED);
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Pure: the attacks that changed, oldest first, with a line that says how. */
export function changesOf(
  known: ReadonlyMap<number, Attack>,
  now: readonly Attack[],
): { readonly attack: Attack; readonly line: string }[] {
  return now.toReversed().flatMap((attack) => {
    const change = changeOf(known.get(attack.id) ?? null, attack);
    if (change === null) return [];
    const { id, destination_ip: ip, attack_type: type } = attack;
    const peak = `${formatPps(attack.peak_pps)}, ${formatBps(attack.peak_bps)}`;
    return [{ attack, line: `${id}  ${ip}  ${type}  ${change}  ${peak}` }];
  });
}

function changeOf(before: Attack | null, attack: Attack): string | null {
  if (before === null && attack.ended_at !== null) return 'ended earlier';
  const isMitigatedNow = attack.mitigated_at !== null && (before?.mitigated_at ?? null) === null;
  const mitigated = isMitigatedNow ? ['mitigated'] : [];
  if (before === null) return ['started', ...mitigated].join(', ');
  if (before.ended_at === null && attack.ended_at !== null)
    return [...mitigated, 'ended'].join(', ');
  if (before.ended_at !== null && attack.ended_at === null)
    return ['ongoing again', ...mitigated].join(', ');
  if (isMitigatedNow) return 'mitigated';
  const hasGrown =
    attack.peak_pps > before.peak_pps ||
    attack.peak_bps > before.peak_bps ||
    attack.attack_type !== before.attack_type;
  return hasGrown ? 'grew' : null;
}
