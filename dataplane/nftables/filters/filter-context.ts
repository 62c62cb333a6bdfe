import type { FilterProgram } from '@portcullis/core/filters/program.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { TcpServer } from '../../filters/tcp-server.ts';
import type { BySource } from './safe-sources.ts';

/** Everything that the chains of a filter depend on besides its program. Equal chains are shared. */
export interface FilterContext {
  readonly family: Family;
  readonly sees: EdgeSettings['sees'];
  /** Whether the target is a prefix, whose members may exceed the size of a set. */
  readonly prefix: boolean;
  /** The handshake options of a server. */
  readonly serverAt: (port: number) => TcpServer;
}

export interface FilteredPort {
  readonly port: number;
  readonly transport: FilterProgram['transport'];
  /** The program for each source; null where no filter applies. At least one source has a program. */
  readonly programs: BySource<FilterProgram | null>;
}
