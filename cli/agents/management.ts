import type { EdgeConfig, ManagementMessage } from '@portcullis/edge/config.ts';
import { readManagement, watchManagement } from '@portcullis/edge/management/watch.ts';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import { usageError } from '@portcullis/caller/exit.ts';

const UNKNOWN =
  'It is not known by which port this host is administered: no sshd listens here. Name the ports with --management, such as tcp/22.';

/**
 * The ports by which this host is administered: what `--management` names, what this process needs (`own`), and what sshd
 * listens on now. Only root sees the sockets of other processes, so the parent of the edge looks, not the edge.
 */
export class HostManagement {
  readonly #own: readonly ManagementPort[];
  readonly #named: readonly ManagementPort[];
  #learned: readonly ManagementPort[];

  constructor(own: readonly ManagementPort[], named: readonly ManagementPort[]) {
    this.#own = own;
    this.#named = named;
    this.#learned = process.getuid?.() === 0 ? readManagement() : [];
  }

  get now(): Pick<EdgeConfig, 'management' | 'managementProblem'> {
    const administers = [...this.#named, ...this.#learned];
    return {
      management: [...this.#own, ...administers],
      managementProblem: administers.length === 0 ? UNKNOWN : null,
    };
  }

  /** Tells the edge of changes until the returned function is called. */
  watch(tell: (message: ManagementMessage) => void): () => void {
    if (process.getuid?.() !== 0) return () => {};
    return watchManagement(this.#learned, (ports) => {
      this.#learned = ports;
      tell({ kind: 'management', ...this.now });
    });
  }
}

/** Parses `tcp/22,udp/51820`. */
export function parseManagement(text: string | undefined): ManagementPort[] {
  if (text === undefined || text.trim() === '') return [];
  return text.split(',').map((entry) => {
    const [, protocol, digits] = /^\s*(tcp|udp)\/(\d{1,5})\s*$/.exec(entry) ?? [];
    const port = Number(digits);
    if ((protocol !== 'tcp' && protocol !== 'udp') || port < 1 || port > 65_535)
      throw usageError(`--management ${text} is not a list of ports such as tcp/22,udp/51820`);
    return { protocol, port };
  });
}
