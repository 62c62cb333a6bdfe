import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import { type DrawnAttack, exceedsAfterSeconds } from '../attacks/attack.ts';
import type { RecordedAttack } from '../attack-journal.ts';
import { type FloodReport, sentBetween } from '../schedule.ts';
import type { ClientKind, Tries } from './clients.ts';

/** Packets of each vector that had reached the server, by the wall clock. */
export interface Snapshot {
  readonly atMs: number;
  readonly packets: readonly number[];
}

/** One attack as it was sent, what reached the server, and what became of the clients beside it. */
export interface AttackRun {
  readonly attack: DrawnAttack;
  readonly family: 4 | 6;
  /** The reports of each vector, by the sender's own count. */
  readonly floods: readonly FloodReport[];
  readonly passed: readonly Snapshot[];
  readonly tries: Tries;
  /** From the first to the last packet of the attack. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How long the machine kept this process or the sender waiting meanwhile. */
  readonly heldUpMs: number;
}

type RunRecord = Pick<
  RecordedAttack,
  'type' | 'openedCommittedMs' | 'mitigatedAtMs' | 'endedAtMs' | 'startedAtMs'
>;

export interface Served {
  readonly sent: number;
  readonly served: number;
  /** The latency of those served; null without any. */
  readonly p95Ms: number | null;
}

/** The effect of a mitigation, in shares from 0 to 1 and in milliseconds. */
export interface Verdict {
  readonly name: string;
  readonly family: 4 | 6;
  readonly types: readonly string[];
  readonly expectedType: AttackType | null;
  /** The share of everything that was sent. */
  readonly passed: number | null;
  /** The share of vectors above a threshold, of what was sent two seconds after they passed it; null without any. */
  readonly passedAfter: number | null;
  /** The same in packets a second. */
  readonly passedAfterPps: number | null;
  readonly clients: Readonly<Record<ClientKind, Served>>;
  readonly records: number;
  /** After the attack passed a threshold; null: never, or while control was away. */
  readonly detectedMs: number | null;
  readonly kernelMs: number | null;
  /** Between the last packet and the end on record. */
  readonly endMs: number | null;
  readonly heldUpMs: number;
  /** The goals that were missed, in words; empty when every goal was met. */
  readonly misses: readonly string[];
}

/** Vectors count from this time after they pass a threshold. */
const AFTER_MS = 2_000;
/** Packets that were sent are on their way for no longer. */
const ON_ITS_WAY_MS = 300;
/** A run that the machine held up for longer may have missed a goal by that. */
export const HELD_UP_MS = 100;
/** An answer within this time is one. */
export const WITHIN_MS = 3_000;
export const GOALS = {
  passedAfter: 0.05,
  old: 0.999,
  kept: 0.999,
  new: 0.99,
  tcp: 0.99,
  busy: 0.999,
  crowd: 0.99,
} as const;
const CLIENTS: readonly ClientKind[] = ['old', 'new', 'kept', 'tcp', 'busy', 'crowd'];

/** `records`: those of the attacked prefix. */
export function judge(run: AttackRun, records: readonly RunRecord[]): Verdict {
  const { attack, family, floods } = run;
  const sent = sum(floods.map(({ packets }) => packets));
  const after = floods.map((report, index) => afterOf(run, report, index));
  const counted = sum(after.map((one) => one.sent));
  const share = counted === 0 ? null : sum(after.map((one) => one.passed)) / counted;
  const seconds = secondsTogether(after);
  const clients = Object.fromEntries(
    CLIENTS.map((kind) => [kind, servedOf(run, kind)]),
  ) as unknown as Verdict['clients'];
  const startMs = run.fromMs + exceedsMs(attack);
  const [first] = records;
  const verdict = {
    name: attack.name,
    family,
    types: records.map(({ type }) => type),
    expectedType: attack.type,
    passed:
      sent === 0 ? null : sum(floods.map((_, index) => passedBy(run, index, Infinity))) / sent,
    passedAfter: share,
    passedAfterPps: seconds === 0 ? null : sum(after.map((one) => one.passed)) / seconds,
    clients,
    records: records.length,
    detectedMs: sinceOf(first?.openedCommittedMs, startMs),
    kernelMs: sinceOf(first?.mitigatedAtMs, startMs),
    endMs: sinceOf(first?.endedAtMs, run.toMs),
    heldUpMs: run.heldUpMs,
  };
  return { ...verdict, misses: [...missesOnWire(verdict), ...missesOnRecord(records, attack)] };
}

/** Whether the machine held up a run that missed a goal by what was sent and received: then nobody knows why it did. */
export function isDoubtful(run: AttackRun): boolean {
  return run.heldUpMs > HELD_UP_MS && missesOnWire(judge(run, [])).length > 0;
}

function missesOnWire({ passedAfter, clients }: Pick<Verdict, 'passedAfter' | 'clients'>) {
  const misses: string[] = [];
  if (passedAfter !== null && passedAfter > GOALS.passedAfter)
    misses.push(`${percent(passedAfter)} passed`);
  for (const kind of CLIENTS) {
    const { sent, served } = clients[kind];
    if (sent > 0 && served / sent < GOALS[kind]) misses.push(`${kind} ${served} of ${sent}`);
  }
  return misses;
}

function missesOnRecord({ length }: readonly RunRecord[], attack: DrawnAttack): string[] {
  const [least, most] = recordsWanted(attack);
  return length < least || length > most ? [`${length} records`] : [];
}

/** A crowd of real clients may be recorded, as long as it is served. */
function recordsWanted({ type, records = 1, crowd }: DrawnAttack): readonly [number, number] {
  if (crowd !== undefined) return [0, 1];
  return type === null ? [0, 0] : [records, records];
}

/** Milliseconds until the first vector exceeds a threshold. */
function exceedsMs({ vectors }: DrawnAttack): number {
  const times = vectors.flatMap((vector) => {
    const after = exceedsAfterSeconds(vector);
    return after === null ? [] : [(vector.startSeconds ?? 0) + after];
  });
  return times.length === 0 ? 0 : Math.min(...times) * 1000;
}

interface After {
  readonly sent: number;
  readonly passed: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The seconds of vectors that overlap or follow each other, the time in which any of them counts. */
function secondsTogether(parts: readonly After[]): number {
  let seconds = 0;
  let untilMs = 0;
  for (const { fromMs, toMs } of parts.toSorted((a, b) => a.fromMs - b.fromMs)) {
    seconds += Math.max(0, toMs - Math.max(fromMs, untilMs)) / 1000;
    untilMs = Math.max(untilMs, toMs);
  }
  return seconds;
}

function afterOf(run: AttackRun, report: FloodReport, index: number): After {
  const vector = run.attack.vectors[index];
  const exceeds = vector === undefined ? null : exceedsAfterSeconds(vector);
  const fromMs = report.beganAtMs + (exceeds ?? 0) * 1000 + AFTER_MS;
  if (exceeds === null || !(report.endedAtMs > fromMs))
    return { sent: 0, passed: 0, fromMs: 0, toMs: 0 };
  return {
    sent: sentBetween(report, fromMs, Infinity),
    passed: passedBy(run, index, Infinity) - passedBy(run, index, fromMs),
    fromMs,
    toMs: report.endedAtMs,
  };
}

/** Packets of a vector that had reached the server at a time, between two snapshots by their share of the time. */
export function passedBy(
  { passed, toMs }: Pick<AttackRun, 'passed' | 'toMs'>,
  index: number,
  atMs: number,
): number {
  const untilMs = Math.min(atMs, toMs + ON_ITS_WAY_MS);
  const next = passed.findIndex((one) => one.atMs >= untilMs);
  const after = passed[next];
  const before = next < 0 ? passed.at(-1) : passed[next - 1];
  const least = before?.packets[index] ?? 0;
  if (after === undefined || before === undefined) return least;
  const share = (untilMs - before.atMs) / Math.max(1, after.atMs - before.atMs);
  return least + ((after.packets[index] ?? 0) - least) * share;
}

function servedOf({ tries, fromMs, toMs }: AttackRun, kind: ClientKind): Served {
  const during = tries[kind].filter(([atMs]) => atMs >= fromMs && atMs <= toMs);
  const waits = during
    .flatMap(([, waitedMs]) => (waitedMs === null || waitedMs > WITHIN_MS ? [] : [waitedMs]))
    .toSorted((a, b) => a - b);
  return {
    sent: during.length,
    served: waits.length,
    p95Ms: waits[Math.min(waits.length - 1, Math.floor(waits.length * 0.95))] ?? null,
  };
}

function sinceOf(atMs: number | null | undefined, fromMs: number): number | null {
  return atMs === null || atMs === undefined ? null : atMs - fromMs;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
