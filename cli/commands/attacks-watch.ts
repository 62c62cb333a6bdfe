import { setTimeout as delay } from 'node:timers/promises';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import { CliError, EXIT } from '../exit.ts';
import { print } from '../output.ts';
import type { AttackListOptions } from '../program/attacks.ts';
import { askAll, type Attack, queryOf } from './attacks.ts';

/** Records keep up with their attacks each second. */
const WATCH_MS = 1_000;
/** A key may ask 600 times a minute unless somebody says otherwise; others may use it too. */
const PAGE_MS = 200;
/** Attacks that are watched at a time. */
const MAX_WATCHED = 10_000;
/** Attacks that ended so long before a look are still in it. */
const BACK_MS = 600_000;
/** Control that is away is looked for after one second, then after twice as long each time, at most so long. */
const LONGEST_AWAY_MS = 15_000;

type Look = Awaited<ReturnType<typeof askAll>>;

/**
 * `portcullis attacks watch`: until it is interrupted, or control refuses. Control that was there and is not is waited
 * for: it may be starting again, in the middle of an attack. Throws if it is not there at first, as the URL may be wrong.
 */
export async function watchAttacks(options: AttackListOptions): Promise<void> {
  let known = new Map<number, Attack>();
  let isCut = false;
  let lookedAt = Date.now();
  let look = await lookSince(options, lookedAt - BACK_MS);
  for (;;) {
    const { attacks, meta, pages } = look;
    for (const { attack, line } of newsOf(known, attacks)) {
      if (options.json === true) process.stdout.write(`${JSON.stringify(attack)}\n`);
      else print(line);
    }
    known = new Map(attacks.map((one) => [one.id, one]));
    const wasCut = isCut;
    isCut = meta.total > attacks.length;
    if (isCut && !wasCut)
      tell(`Of ${meta.total} attacks the newest ${attacks.length} are watched.`);
    await delay(Math.max(WATCH_MS, pages * PAGE_MS));
    // From the look before on: however long control was away, what ended meanwhile is in it.
    ({ look, lookedAt } = await lookUntilAnswered(options, lookedAt - BACK_MS));
  }
}

async function lookUntilAnswered(options: AttackListOptions, from: number) {
  for (let failures = 0; ; failures += 1) {
    const lookedAt = Date.now();
    try {
      const look = await lookSince(options, from);
      if (failures > 0) tell('Control is back.');
      return { look, lookedAt };
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
      if (failures === 0)
        tell(`Control is away, and looked for until it is back: ${error.message}`);
      await delay(Math.min(LONGEST_AWAY_MS, WATCH_MS * 2 ** Math.min(failures, 10)));
    }
  }
}

function lookSince(options: AttackListOptions, from: number): Promise<Look> {
  const query = queryOf(options);
  query.set('from', new Date(from).toISOString());
  return askAll(options, query, MAX_WATCHED);
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Pure: what is new of each attack, oldest first, in words. */
export function newsOf(
  known: ReadonlyMap<number, Attack>,
  now: readonly Attack[],
): { readonly attack: Attack; readonly line: string }[] {
  return now.toReversed().flatMap((attack) => {
    const what = changeOf(known.get(attack.id) ?? null, attack);
    if (what === null) return [];
    const { id, destination_ip: ip, attack_type: type } = attack;
    const peak = `${formatPps(attack.peak_pps)}, ${formatBps(attack.peak_bps)}`;
    return [{ attack, line: `${id}  ${ip}  ${type}  ${what}  ${peak}` }];
  });
}

function changeOf(before: Attack | null, attack: Attack): string | null {
  if (before === null && attack.ended_at !== null) return 'ended before';
  const isMitigatedNow = attack.mitigated_at !== null && (before?.mitigated_at ?? null) === null;
  const mitigated = isMitigatedNow ? ['mitigated'] : [];
  if (before === null) return ['began', ...mitigated].join(', ');
  if (before.ended_at === null && attack.ended_at !== null)
    return [...mitigated, 'ended'].join(', ');
  if (before.ended_at !== null && attack.ended_at === null)
    return ['goes on', ...mitigated].join(', ');
  if (isMitigatedNow) return 'mitigated';
  const rises =
    attack.peak_pps > before.peak_pps ||
    attack.peak_bps > before.peak_bps ||
    attack.attack_type !== before.attack_type;
  return rises ? 'rises' : null;
}
