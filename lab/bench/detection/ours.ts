import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import type { Namespace } from '../../stack/netns.ts';
import { within } from '../within.ts';
import { FIRST } from './first.ts';
import type { Sighting } from './trial.ts';

const MAIN = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const READY_MS = 20_000;

export interface CollectorTrialOptions {
  readonly port: number;
  readonly networks: readonly string[];
  readonly pps: number;
  readonly mbps: number;
  readonly holdSeconds: number;
}

/** Times that events tell of each attack, dated by when they came. */
export class Sightings {
  readonly #known = new Map<string, Sighting>();

  note(atMs: number, { kind, attack }: AttackEvent): void {
    const before = this.#known.get(attack.id);
    this.#known.set(attack.id, {
      ip: attack.subject,
      openedAtMs: before?.openedAtMs ?? atMs,
      type: attack.type,
      peakPps: attack.peakPps.value,
      endReportedAtMs: kind === 'ended' ? atMs : null,
      endedAtMs: attack.endedAtMs,
    });
  }

  all(): readonly Sighting[] {
    return [...this.#known.values()];
  }
}

/** `portcullis collector` as anybody runs it, and what its lines say, dated by when they came. */
export class OurCollector {
  readonly #child: ChildProcess;
  readonly #sightings = new Sightings();
  /** Attacks by subject, as it was reported last. */
  readonly attacks = new Map<string, Attack>();
  #counters: Readonly<Record<string, number>> = {};

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(where: Namespace, options: CollectorTrialOptions): Promise<OurCollector> {
    const child = where.spawn(
      [
        ...FIRST,
        process.execPath,
        MAIN,
        'collector',
        '--json',
        '--top=0',
        `--listen=127.0.0.1:${options.port}`,
        '--exporter=127.0.0.1',
        ...options.networks.map((network) => `--prefix=${network}`),
        `--pps=${options.pps}`,
        `--mbps=${options.mbps}`,
        `--hold=${options.holdSeconds}s`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const collector = new OurCollector(child);
    const lines = createInterface({ input: child.stdout as Readable });
    lines.on('line', (line) => collector.#note(Date.now(), line));
    await within(READY_MS, 'the collector does not tell', once(lines, 'line'));
    return collector;
  }

  sightings(): readonly Sighting[] {
    return this.#sightings.all();
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await within(READY_MS, 'the collector does not end', gone);
  }

  #note(atMs: number, line: string): void {
    const { events, counters } = JSON.parse(line) as {
      readonly events: readonly AttackEvent[];
      readonly counters: Readonly<Record<string, number>>;
    };
    this.#counters = counters;
    for (const event of events) {
      this.#sightings.note(atMs, event);
      this.attacks.set(event.attack.subject, event.attack);
    }
  }
}
