import { join } from 'node:path';
import type { Measured } from '@portcullis/core/attacks/attack.ts';
import type { ongoingIn } from '@portcullis/core/attacks/detector/resume.ts';
import { keyOf } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { request } from '@portcullis/agent/request.ts';
import {
  MAX_ATTACKS_PER_MESSAGE,
  MAX_OVERLAY_ACTIONS,
  type OutageAttack,
  outageAttack,
} from '@portcullis/link/messages/attacks.ts';
import { array, check, integer, object } from '@portcullis/link/messages/schema.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { OverlayEntry } from './overlay/overlay.ts';

export type OngoingAttacks = ReturnType<typeof ongoingIn>;

export interface OutageAttacksOptions {
  readonly folder: string;
  readonly log: Log;
  readonly link: AgentSide;
  readonly instance: string;
  /** The wall clock. */
  readonly nowMs: () => number;
  /** The top sources and ports of a subject. */
  readonly tops: (subject: string) => SubjectTops | null;
}

/** The most attacks of outages; further ones are not reported. */
const MAX_ATTACKS = 512;
/** Seen again within this time, also after a restart of the agent, it is the same attack. */
const MERGE_MS = 300_000;
/** The detector knows an attack this long after its start at the latest. */
const DETECTED_MS = 2_000;
const RETRY_MS = 5_000;

const FORMAT = 1;
const shape = object({
  format: integer(FORMAT, FORMAT),
  attacks: array(outageAttack, MAX_ATTACKS),
});

/**
 * The attacks of this edge's own detector while control did not answer. They are kept on disk until control has
 * acknowledged them: with a failing disk, a restart loses them.
 */
export class OutageAttacks {
  readonly #options: OutageAttacksOptions;
  readonly #path: string;
  #attacks: readonly OutageAttack[] = [];
  #isUnsaved = false;
  #saving: Promise<void> | null = null;
  #reporting: Promise<void> | null = null;
  #nextReportMs = 0;
  #problem: string | null = null;
  #lost = new Set<string>();

  constructor(options: OutageAttacksOptions) {
    this.#options = options;
    this.#path = join(options.folder, 'outage-attacks.json');
    this.#load();
  }

  problems(): string[] {
    const { size } = this.#lost;
    return [
      ...(this.#problem === null
        ? []
        : [`Autonomously detected attacks cannot be saved: ${this.#problem}.`]),
      ...(size === 0
        ? []
        : [`${size} autonomously detected attacks are in no report: there were too many.`]),
    ];
  }

  /**
   * Takes the ongoing attacks of a bucket that control did not receive. An attack that control saw start is control's,
   * unless this edge mitigates it: then its part since the last contact is reported.
   */
  note(
    ongoing: OngoingAttacks,
    entries: readonly OverlayEntry[],
    { atMs, silentSinceMs }: { readonly atMs: number; readonly silentSinceMs: number },
  ): void {
    const mitigated = new Set(entries.map(({ subject }) => subject));
    for (const [subject, { phase }] of ongoing) {
      const { quietMs } = phase;
      const { present: _present, ...attack } = phase.attack;
      const known = this.#find(subject, attack.startedAtMs);
      const isUnseen = attack.startedAtMs >= silentSinceMs - DETECTED_MS;
      if (known === null && !isUnseen && !mitigated.has(subject)) continue;
      const startedAtMs =
        known?.startedAtMs ?? Math.round(isUnseen ? attack.startedAtMs : silentSinceMs);
      const next: OutageAttack = {
        ...attack,
        id: known?.id ?? `${subject}@${startedAtMs}`,
        peakPps: higher(known?.peakPps, attack.peakPps),
        peakBps: higher(known?.peakBps, attack.peakBps),
        startedAtMs,
        // It ends with its last traffic so far.
        endedAtMs: Math.max(startedAtMs, Math.round(atMs - quietMs)),
        openedAtMs: known?.openedAtMs ?? Math.max(startedAtMs, Math.round(atMs)),
        mitigatedAtMs: known?.mitigatedAtMs ?? null,
        actions: known?.actions ?? [],
        tops: this.#options.tops(subject) ?? known?.tops ?? null,
      };
      if (known !== null) this.#replace(known, next);
      else if (this.#attacks.length < MAX_ATTACKS) this.#attacks = [...this.#attacks, next];
      else this.#lost.add(next.id);
      if (known === null) this.save();
    }
    this.#noteActions(entries, atMs);
  }

  /** The kernel has the autonomous mitigations of these subjects. */
  mitigated(subjects: ReadonlySet<string>, atMs: number): void {
    for (const one of this.#attacks) {
      const { subject, mitigatedAtMs, openedAtMs, endedAtMs } = one;
      const isCurrent = atMs - endedAtMs <= MERGE_MS;
      if (mitigatedAtMs !== null || !isCurrent || !subjects.has(subject)) continue;
      this.#replace(one, { ...one, mitigatedAtMs: Math.max(openedAtMs, Math.round(atMs)) });
      this.save();
    }
  }

  /** Writes the attacks to disk. Writes that are requested meanwhile become one. */
  save(): void {
    this.#isUnsaved = true;
    this.#saving ??= this.#write();
  }

  /** Resolves when all writes are done or have failed. */
  async settled(): Promise<void> {
    await this.#saving;
  }

  /** Control answers: reports the attacks, one message at a time, until it has acknowledged each. Never rejects. */
  report(): void {
    const isDue = performance.now() >= this.#nextReportMs;
    if (!isDue || this.#attacks.length === 0) return;
    this.#reporting ??= this.#send().finally(() => {
      this.#reporting = null;
    });
  }

  async stop(): Promise<void> {
    await this.#reporting;
    if (this.#attacks.length > 0) this.save();
    await this.settled();
  }

  #find(subject: string, startedAtMs: number): OutageAttack | null {
    const isSame = (one: OutageAttack): boolean =>
      one.subject === subject && startedAtMs - one.endedAtMs <= MERGE_MS;
    return this.#attacks.findLast(isSame) ?? null;
  }

  #replace(before: OutageAttack, next: OutageAttack): void {
    this.#attacks = this.#attacks.map((one) => (one === before ? next : one));
  }

  /** The autonomous mitigations are these now. */
  #noteActions(entries: readonly OverlayEntry[], atMs: number): void {
    for (const one of this.#attacks) {
      const entry = entries.find(({ subject }) => subject === one.subject);
      const actions = actionsAfter(one.actions, entry, Math.round(atMs));
      if (actions === one.actions) continue;
      this.#replace(one, { ...one, actions });
      this.save();
    }
  }

  #load(): void {
    try {
      const bytes = readIfThere(this.#path);
      if (bytes === null) return;
      const parsed = check(shape, JSON.parse(bytes.toString()));
      if (!parsed.ok) throw new Error(parsed.reason);
      this.#attacks = parsed.value.attacks;
    } catch (error) {
      this.#options.log.warn({ error: describeError(error) }, 'saved attacks cannot be read');
    }
  }

  async #write(): Promise<void> {
    while (this.#isUnsaved) {
      this.#isUnsaved = false;
      try {
        const content = JSON.stringify({ format: FORMAT, attacks: this.#attacks });
        await replaceFile(this.#path, [`${content}\n`]);
        this.#problem = null;
      } catch (error) {
        const why = describeError(error);
        if (this.#problem === null)
          this.#options.log.warn({ error: why }, 'attacks cannot be saved');
        this.#problem = why;
      }
    }
    this.#saving = null;
  }

  async #send(): Promise<void> {
    const { link, instance, nowMs, log } = this.#options;
    const attacks = this.#attacks.slice(0, MAX_ATTACKS_PER_MESSAGE);
    try {
      const atMs = Math.round(nowMs());
      await request(link, { kind: 'edge.attacks', instance, atMs, attacks }, 'done');
      const ids = new Set(attacks.map(({ id }) => id));
      this.#attacks = this.#attacks.filter(({ id }) => !ids.has(id));
      this.save();
      log.info({ attacks: [...ids] }, 'reported autonomously detected attacks to control');
    } catch (error) {
      this.#nextReportMs = performance.now() + RETRY_MS;
      log.debug({ error }, 'control did not receive attacks');
    }
  }
}

/** The actions so far: withdrawn ones get their end, new ones are added. The same array if nothing changed. */
function actionsAfter(
  before: OutageAttack['actions'],
  entry: OverlayEntry | undefined,
  atMs: number,
): OutageAttack['actions'] {
  const mode = entry?.mode ?? 'enforce';
  const keys = (entry?.actions ?? []).map((action) => keyOf({ action, mode }));
  const wanted = new Set(keys);
  const closed = before.map((one) =>
    one.untilMs === null && !wanted.has(keyOf({ action: one.action, mode: one.mode }))
      ? { ...one, untilMs: Math.max(atMs, one.sinceMs) }
      : one,
  );
  const open = closed.filter(({ untilMs }) => untilMs === null);
  const there = new Set(open.map((one) => keyOf({ action: one.action, mode: one.mode })));
  const added = (entry?.actions ?? [])
    .filter((_, index) => !there.has(keys[index] ?? ''))
    .map((action) => ({ action, mode, sinceMs: atMs, untilMs: null }));
  if (added.length === 0 && closed.every((one, index) => one === before[index])) return before;
  return [...closed, ...added].slice(-MAX_OVERLAY_ACTIONS);
}

function higher(a: Measured | undefined, b: Measured): Measured {
  return a !== undefined && a.value >= b.value ? a : b;
}
