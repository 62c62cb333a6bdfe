import { describeKernelError } from '../../kernel/describe-error.ts';
import type { Flow } from './mark-keys.ts';
import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { formatCidr, networkOf } from '@portcullis/core/net/cidr.ts';

export interface OpenFlowsOptions {
  /**
   * Reports every connection that connection tracking knows, as its replies arrive. Resolves to false if some may be
   * missing.
   */
  readonly read: (take: (flow: Flow) => void) => Promise<boolean>;
  /** Called before every read. The result says whether packets of a flow may be dropped now or soon. */
  readonly relevantFlows: () => (flow: Flow) => boolean;
  readonly remember: (flows: readonly Flow[]) => void;
}

const FLOWS_AT_ONCE = 1_000;
/** Reads per attempt: connection tracking may change during a read. */
const READS = 3;
const RETRY_MS = 5_000;

/**
 * Learns flows that the programs could not remember: flows older than the programs, and flows of ports that were
 * open. Connection tracking knows them. Once learnt they stay known until `forget`.
 */
export class OpenFlows {
  readonly #options: OpenFlowsOptions;
  #known = false;
  #forgetCount = 0;
  #learning: Promise<void> | null = null;
  #problem: string | null = null;
  #retryMs = Infinity;

  constructor(options: OpenFlowsOptions) {
    this.#options = options;
  }

  /** Every flow whose replies must pass is remembered. */
  get known(): boolean {
    return this.#known;
  }

  /** Why the flows are unknown; null if they are known or not needed. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Whether it is time to retry. */
  get isDue(): boolean {
    return performance.now() >= this.#retryMs;
  }

  /** Called when there may be unknown flows. */
  forget(): void {
    this.#known = false;
    this.#forgetCount++;
  }

  /** The flows are not needed now. */
  pause(problem: string | null): void {
    this.#problem = problem;
    this.#retryMs = Infinity;
  }

  /** Runs one read at a time and never rejects. All outgoing flows must be marked meanwhile. */
  learn(): Promise<void> {
    this.#learning ??= this.#learn().finally(() => (this.#learning = null));
    return this.#learning;
  }

  /** Resolves after this time even if the flows are still unknown. */
  async learnWithTimeout(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([this.learn(), timeout]);
    clearTimeout(timer);
  }

  async #learn(): Promise<void> {
    this.pause(null);
    try {
      for (let reads = 0; reads < READS && !this.#known; reads++) {
        const forgetCount = this.#forgetCount;
        if ((await this.#read()) && forgetCount === this.#forgetCount) this.#known = true;
      }
      if (!this.#known) throw new Error('connection tracking changed while it was read');
    } catch (error) {
      // Nothing that may be a reply is dropped until the retry.
      this.#problem = `open flows are not known yet: ${describeKernelError(error)}`;
      this.#retryMs = performance.now() + RETRY_MS;
    }
  }

  async #read(): Promise<boolean> {
    const { read, relevantFlows, remember } = this.#options;
    const isRelevant = relevantFlows();
    const batch: Flow[] = [];
    const flush = (): void => remember(batch.splice(0));
    const isComplete = await read((flow) => {
      if (!isRelevant(flow)) return;
      // The addresses are valid only during this call.
      const { local, remote } = flow;
      batch.push({ ...flow, local: Buffer.from(local), remote: Buffer.from(remote) });
      if (batch.length >= FLOWS_AT_ONCE) flush();
    });
    flush();
    return isComplete;
  }
}

/** Targets by canonical name of an address or prefix. */
type Named = ReadonlyMap<string, unknown>;

/**
 * Selects flows to addresses in these targets. Nothing is dropped of other flows, so they need not be remembered.
 * Most entries of connection tracking are the opposite direction: connections from clients.
 */
export function protectedSides(...targets: readonly Named[]): (flow: Flow) => boolean {
  const lengths: Record<Family, Set<number>> = { 4: new Set(), 6: new Set() };
  for (const names of targets) {
    for (const name of names.keys()) {
      const slash = name.indexOf('/');
      if (slash < 0) continue;
      lengths[name.includes(':') ? 6 : 4].add(Number(name.slice(slash + 1)));
    }
  }
  return ({ family, local }) => {
    const value = BigInt(`0x${local.toString('hex')}`);
    const named = (name: string): boolean => targets.some((names) => names.has(name));
    if (named(formatAddress({ family, value }))) return true;
    return [...lengths[family]].some((length) =>
      named(formatCidr(networkOf({ family, value }, Math.min(length, BITS[family])))),
    );
  };
}
