import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { maskInto, wordsOf } from './subject-head.ts';

/** The networks that an exporter may report. They are few, so each is compared. */
export class Networks {
  readonly #networks: readonly { family: 4 | 6; length: number; words: Uint32Array }[];
  readonly #masked = new Uint32Array(4);

  constructor(cidrs: readonly Cidr[]) {
    this.#networks = cidrs.map((cidr) => ({
      family: cidr.family,
      length: cidr.family === 4 ? cidr.length + 96 : cidr.length,
      words: wordsOf(cidr),
    }));
  }

  hasDestinationOf({ family, destination }: FlowRecord): boolean {
    const masked = this.#masked;
    return this.#networks.some((network) => {
      if (network.family !== family) return false;
      maskInto(masked, destination, network.length);
      return network.words.every((word, index) => word === masked[index]);
    });
  }
}
