import { describeError } from '@portcullis/core/log.ts';
import type { Flow } from './places.ts';

export interface OpenFlowsOptions {
  /** Shows everything that connection tracking knows, as replies to it come in. False: some may be missing. */
  readonly read: (take: (flow: Flow) => void) => Promise<boolean>;
  /** Asked before every read: whether anything may be dropped of what comes in by a flow, or is about to be. */
  readonly whatMatters: () => (flow: Flow) => boolean;
  readonly remember: (flows: readonly Flow[]) => void;
}

const FLOWS_AT_ONCE = 1_000;
/** Of one attempt: what changes under a reader is read again. */
const READS = 3;
const AGAIN_MS = 5_000;

/**
 * What the early drop does not know by itself: flows that began before it watched, or that nobody had to remember
 * because their port was open. They are learnt from connection tracking, and known from then on until `forget`.
 */
export class OpenFlows {
  readonly #options: OpenFlowsOptions;
  #known = false;
  #forgotten = 0;
  #learning: Promise<void> | null = null;
  #problem: string | null = null;
  #againMs = Infinity;

  constructor(options: OpenFlowsOptions) {
    this.#options = options;
  }

  /** Every flow whose replies must pass is remembered. */
  get known(): boolean {
    return this.#known;
  }

  /** Why not, in words; null: they are known, or nobody has asked for them. */
  get problem(): string | null {
    return this.#problem;
  }

  /** It is time to try again. */
  get isDue(): boolean {
    return performance.now() >= this.#againMs;
  }

  /** There may be others. */
  forget(): void {
    this.#known = false;
    this.#forgotten++;
  }

  /** Nobody asks for them now. */
  rest(problem: string | null): void {
    this.#problem = problem;
    this.#againMs = Infinity;
  }

  /** One read at a time; resolves when it has ended, well or not. Everything that leaves is to be marked meanwhile. */
  learn(): Promise<void> {
    this.#learning ??= this.#learn().finally(() => (this.#learning = null));
    return this.#learning;
  }

  async #learn(): Promise<void> {
    this.rest(null);
    try {
      for (let reads = 0; reads < READS && !this.#known; reads++) {
        const forgotten = this.#forgotten;
        if ((await this.#read()) && forgotten === this.#forgotten) this.#known = true;
      }
      if (!this.#known) throw new Error('connection tracking changed while it was read');
    } catch (error) {
      // Nothing that may be a reply is dropped meanwhile.
      this.#problem = `open flows are not known yet: ${describeError(error)}`;
      this.#againMs = performance.now() + AGAIN_MS;
    }
  }

  async #read(): Promise<boolean> {
    const { read, whatMatters, remember } = this.#options;
    const matters = whatMatters();
    const batch: Flow[] = [];
    const keep = (): void => remember(batch.splice(0));
    const whole = await read((flow) => {
      if (!matters(flow)) return;
      // Its addresses are good only while it is shown.
      const { local, remote } = flow;
      batch.push({ ...flow, local: Buffer.from(local), remote: Buffer.from(remote) });
      if (batch.length >= FLOWS_AT_ONCE) keep();
    });
    keep();
    return whole;
  }
}
