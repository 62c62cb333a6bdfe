import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { DropReading, DropSource } from '../drops.ts';
import { SystemError } from '../kernel/native.ts';
import type { SampleReader } from './reader.ts';
import { FLUSH_SAMPLES, REMOVE_SAMPLES, renderSamples, type Sampling } from './ruleset.ts';

export interface PassedSamplerOptions {
  /** Throws `DriverError` if nft refuses. */
  readonly apply: (text: string) => Promise<void>;
  /** Throws without the rights. */
  readonly open: () => SampleReader;
}

/**
 * Samples packets that pass the policies, in an nftables table of its own: what a default of deny would drop. The table
 * is written and emptied when it is read.
 */
export class PassedSampler implements DropSource {
  readonly name = 'passed packets';
  readonly #options: PassedSamplerOptions;
  #reader: SampleReader | null = null;
  #wanted: Sampling = { devices: [], networks: [], sees: 'both' };
  /** The table that the kernel has; null if unknown. */
  #written: string | null = null;
  /** Whether the kernel may have a table of ours. */
  #isThere = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: PassedSamplerOptions) {
    this.#options = options;
  }

  /** Packets are sampled that enter by these devices. With none, nothing is. */
  enter(devices: readonly string[], sees: Sampling['sees']): void {
    this.#wanted = { ...this.#wanted, devices, sees };
  }

  /** Packets to these networks are sampled. */
  watch(networks: readonly string[]): void {
    const parsed = networks.flatMap((text): Cidr[] => {
      const network = parseCidr(text);
      return network.ok ? [network.value] : [];
    });
    this.#wanted = { ...this.#wanted, networks: parsed };
  }

  read(): Promise<DropReading> {
    const turn = this.#turn.then(() => this.#read());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Removes the table. */
  async close(): Promise<void> {
    this.enter([], 'both');
    await this.read();
    this.#reader?.close();
    this.#reader = null;
  }

  async #read(): Promise<DropReading> {
    const passed = this.#isSampling ? await this.#take() : [];
    await this.#write();
    return { entries: [], samples: [], passed };
  }

  get #isSampling(): boolean {
    return this.#isThere && this.#written !== null && this.#written !== REMOVE_SAMPLES;
  }

  async #take() {
    try {
      this.#reader ??= this.#options.open();
      const samples = await this.#reader.read();
      if (samples.length > 0) await this.#options.apply(FLUSH_SAMPLES);
      return samples;
    } catch (error) {
      this.#written = null;
      // Another program deleted the table.
      if (error instanceof SystemError && error.code === 'ENOENT') return [];
      throw error;
    }
  }

  async #write(): Promise<void> {
    const text = renderSamples(this.#wanted);
    if (text === this.#written) return;
    // An agent that never sampled leaves the kernel alone.
    if (text === REMOVE_SAMPLES && !this.#isThere) return;
    this.#written = null;
    this.#isThere = true;
    await this.#options.apply(text);
    this.#written = text;
    this.#isThere = text !== REMOVE_SAMPLES;
  }
}
