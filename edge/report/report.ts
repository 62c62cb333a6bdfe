import { describeKernelError } from '@portcullis/dataplane/kernel/describe-error.ts';
import { isDeepStrictEqual } from 'node:util';
import type { DropReading, DropSource } from '@portcullis/dataplane/drops.ts';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import type {
  CounterMode,
  FastPathState,
  KernelState,
} from '@portcullis/core/firewall/edge-state.ts';
import { edgeReport, type EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import { type DeviceModes } from '@portcullis/dataplane/xdp/devices/device.ts';
import type { NamedDevices } from '../host/devices.ts';
import { DropLedger } from './drop-ledger.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { ControlClient } from '../agent/control-client.ts';

/** Whether the kernel still has what the agent wrote. */
export interface KernelWatch {
  state(): KernelState;
  /** The number of repairs since the start. */
  repairs(): number;
}

/** Facts of the agent's parts for heartbeats. Each may be missing. */
export interface EdgeFacts {
  readonly deviceModes?: DeviceModes;
  readonly kernel?: KernelWatch;
  readonly drops?: readonly DropSource[];
  /** The number of enforced port filters. */
  readonly filters?: () => number;
  /** The number of conntrack entries removed because rules deny them. */
  readonly forgottenConnections?: () => number;
  /** The counters that the detection uses. */
  readonly counters?: () => CounterMode;
  /** How answered flows are forwarded. */
  readonly fastPath?: () => FastPathState;
  /** Problems for the operator, a sentence each. */
  readonly problems?: () => readonly string[];
}

export interface Reporting {
  readonly devices: NamedDevices;
  readonly control: ControlClient;
  readonly facts: EdgeFacts;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** The facts of the agent itself. */
export type OwnReport = Pick<
  EdgeReport,
  'policies' | 'elements' | 'lastError' | 'lastApplyMs' | 'management'
>;

/** The most drop reports per heartbeat: a backlog is sent over several. */
const MAX_REPORTS = 10;

/** Composes heartbeats and sends drop reports. A part that fails becomes a problem of the report, not an exception. */
export class Reporter {
  readonly #options: Reporting;
  readonly #ledger: DropLedger;
  #sequence = 0;
  #sending = false;
  #collecting: Promise<void> | null = null;
  /** Control is too old to count drops. */
  #unsupported = false;
  /** Devices as the last heartbeat had them. */
  #reportedDevices: EdgeReport['devices'] | null = null;
  /** The error of the last read, by source. */
  readonly #unreadable = new Map<string, string>();

  constructor(options: Reporting) {
    this.#options = options;
    this.#ledger = new DropLedger(options.nowMs());
  }

  /** After a hello control may be a newer one. */
  greeted(): void {
    this.#unsupported = false;
  }

  compose(devices: readonly string[], own: OwnReport): EdgeReport {
    const { facts } = this.#options;
    const { by, reason } = this.#options.devices.reception(devices);
    this.#reportedDevices = this.#describe(devices);
    return acceptable({
      ...own,
      filters: facts.filters?.() ?? 0,
      repairs: facts.kernel?.repairs() ?? 0,
      forgottenConnections: facts.forgottenConnections?.() ?? 0,
      kernel: facts.kernel?.state() ?? 'unknown',
      problems: [
        ...(by === 'some' ? [`Nothing is enforced on some devices: ${reason}.`] : []),
        ...(facts.problems?.() ?? []),
        ...this.#ownProblems(),
      ],
      devices: this.#reportedDevices,
      hostDevices: this.#options.devices.namesOfHost(),
      counters: facts.counters?.() ?? 'none',
      fastPath: facts.fastPath?.() ?? null,
    });
  }

  /** Whether a device is not as control knows it: that does not wait for the next heartbeat. */
  isBehind(devices: readonly string[]): boolean {
    return !isDeepStrictEqual(this.#describe(devices), this.#reportedDevices);
  }

  #describe(devices: readonly string[]): EdgeReport['devices'] {
    return this.#options.devices.describe(devices, this.#options.facts.deviceModes ?? null);
  }

  /** Reads every source, also while control is away, because the kernel's counters are lost unread. Never rejects. */
  collect(): Promise<void> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = null;
    });
    return this.#collecting;
  }

  /** Reads every source and sends the drops. Rejects if control does not answer; the counts stay in the ledger. */
  async sendDrops(): Promise<void> {
    if (this.#sending || this.#unsupported) return;
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
        const reason = describeKernelError(error);
        if (this.#unreadable.get(source.name) !== reason)
          log.warn({ error, source: source.name }, 'drop counters cannot be read');
        this.#unreadable.set(source.name, reason);
      }
    }
    this.#ledger.add(this.#unsupported ? [] : readings, nowMs());
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
        this.#unsupported = true;
        this.#ledger.discard();
        return;
      }
      this.#sequence += 1;
      this.#ledger.settle();
    }
  }

  #ownProblems(): string[] {
    const unreadable = [...this.#unreadable].map(
      ([name, reason]) => `The drop counters of ${name} cannot be read: ${reason}.`,
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
 * Control closes the connection on a malformed report, which would stop policies too. So a report with an invalid part
 * (a device renamed to an invalid name) is sent without the optional facts.
 */
function acceptable(report: EdgeReport): EdgeReport {
  const parsed = check(edgeReport, report);
  if (parsed.ok) return report;
  const { lastError } = report;
  const problem = `This edge cannot report more of itself: ${parsed.reason}.`;
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
    hostDevices: null,
    management: [],
    counters: report.counters,
    fastPath: report.fastPath,
  };
}
