import type { DropReading, DropSource } from '@portcullis/dataplane/drops.ts';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import type { CounterMode, KernelState } from '@portcullis/core/firewall/edge-state.ts';
import { edgeReport, type EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import { type DeviceModes } from '@portcullis/dataplane/xdp/devices/device-modes.ts';
import { describeDevices } from '../host/devices.ts';
import { DropLedger } from './drop-ledger.ts';
import type { Host } from '../host/host.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import type { ControlClient } from '../agent/control-client.ts';

/** Whether the kernel still has what the agent put there. */
export interface KernelWatch {
  state(): KernelState;
  /** Times since the start that something foreign was found and mended. */
  repairs(): number;
}

/** What parts of the agent know that control and people want to see. Each part may be missing. */
export interface EdgeFacts {
  readonly deviceModes?: DeviceModes;
  readonly kernel?: KernelWatch;
  readonly drops?: readonly DropSource[];
  /** Filters on ports that are enforced now. */
  readonly filters?: () => number;
  /** Connections that were forgotten because rules deny them. */
  readonly forgottenConnections?: () => number;
  /** Which part of the kernel counts for the detection of attacks. */
  readonly counters?: () => CounterMode;
  /** What stands in the way of something wished for, a sentence each. */
  readonly problems?: () => readonly string[];
}

export interface Reporting {
  readonly host: Host;
  readonly control: ControlClient;
  readonly facts: EdgeFacts;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** What the agent itself knows. */
export type OwnReport = Pick<EdgeReport, 'policies' | 'elements' | 'lastError' | 'lastApplyMs'>;

/** Reports in the time of a heartbeat, at most: a backlog is caught up with over several. */
const MAX_REPORTS = 10;

/** Says what this edge knows. Never throws for what a part cannot tell: that is in `problems` instead. */
export class Reporter {
  readonly #options: Reporting;
  readonly #ledger: DropLedger;
  #sequence = 0;
  #sending = false;
  #collecting: Promise<void> | null = null;
  /** Control is of a version that does not count drops. */
  #unwanted = false;
  /** By source: why it could not be read last. */
  readonly #unreadable = new Map<string, string>();

  constructor(options: Reporting) {
    this.#options = options;
    this.#ledger = new DropLedger(options.nowMs());
  }

  /** Control may be another one now. */
  greeted(): void {
    this.#unwanted = false;
  }

  kernel(): KernelState {
    return this.#options.facts.kernel?.state() ?? 'unknown';
  }

  compose(devices: readonly string[], own: OwnReport): EdgeReport {
    const { facts, host } = this.#options;
    return acceptable({
      ...own,
      filters: facts.filters?.() ?? 0,
      repairs: facts.kernel?.repairs() ?? 0,
      forgottenConnections: facts.forgottenConnections?.() ?? 0,
      kernel: this.kernel(),
      problems: [...(facts.problems?.() ?? []), ...this.#ownProblems()],
      devices: describeDevices(devices, host, facts.deviceModes ?? null),
      counters: facts.counters?.() ?? 'none',
    });
  }

  /** Reads every source, also while control is away: what nobody reads, the kernel forgets. Never rejects. */
  collect(): Promise<void> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = null;
    });
    return this.#collecting;
  }

  /** Reads every source and tells control. Rejects when control does not answer; what was read is kept. */
  async sendDrops(): Promise<void> {
    if (this.#sending || this.#unwanted) return;
    this.#sending = true;
    try {
      await this.collect();
      await this.#send();
    } finally {
      this.#sending = false;
    }
  }

  async #collect(): Promise<void> {
    const { facts, nowMs, log } = this.#options;
    const readings: DropReading[] = [];
    for (const source of facts.drops ?? []) {
      try {
        readings.push(await source.read());
        this.#unreadable.delete(source.name);
      } catch (error) {
        const why = describeError(error);
        if (this.#unreadable.get(source.name) !== why)
          log.warn({ error, source: source.name }, 'drop counters cannot be read');
        this.#unreadable.set(source.name, why);
      }
    }
    this.#ledger.add(this.#unwanted ? [] : readings, nowMs());
  }

  async #send(): Promise<void> {
    for (let sent = 0; sent < MAX_REPORTS; sent += 1) {
      const drops = this.#ledger.pending();
      if (drops === null) return;
      try {
        const atMs = this.#options.nowMs();
        await this.#options.control.drops({ sequence: this.#sequence + 1, atMs, drops });
      } catch (error) {
        if (!(error instanceof RefusedByControl) || error.code !== 'unsupported') throw error;
        this.#unwanted = true;
        this.#ledger.discard();
        return;
      }
      this.#sequence += 1;
      this.#ledger.settle();
    }
  }

  #ownProblems(): string[] {
    const unreadable = [...this.#unreadable].map(
      ([name, why]) => `The drop counters of ${name} cannot be read: ${why}.`,
    );
    const { lostPackets } = this.#ledger;
    if (lostPackets === 0) return unreadable;
    return [
      ...unreadable,
      `${lostPackets} dropped packets are in no report: there were too many, or control was away for too long.`,
    ];
  }
}

/**
 * Control hangs up on what it does not understand, and then nothing is enforced as it should be. A report with such a
 * part (a device renamed to what is no name elsewhere) goes without the parts that people read.
 */
function acceptable(report: EdgeReport): EdgeReport {
  const judged = check(edgeReport, report);
  if (judged.ok) return report;
  const { lastError } = report;
  const problem = `This edge cannot say more of itself: ${judged.reason}.`;
  return {
    policies: 0,
    elements: 0,
    filters: 0,
    lastError,
    lastApplyMs: null,
    repairs: 0,
    forgottenConnections: 0,
    kernel: report.kernel,
    problems: [problem],
    devices: [],
    counters: report.counters,
  };
}
