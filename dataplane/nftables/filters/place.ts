import type { FilterProgram } from '@portcullis/core/filters/program.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { TcpServer } from '../../filters/tcp-server.ts';
import type { BySource } from './safe-sources.ts';

/** How chains of a filter are made; equal programs share theirs. */
export interface FilterPlace {
  readonly family: Family;
  readonly sees: EdgeSettings['sees'];
  /** Of a prefix: its members may be more than there is room for. */
  readonly prefix: boolean;
  /** What a server says of itself in a handshake. */
  readonly serverAt: (port: number) => TcpServer;
}

export interface FilteredPort {
  readonly port: number;
  readonly transport: FilterProgram['transport'];
  /** Null: no filter is there for these sources. For some there is one. */
  readonly programs: BySource<FilterProgram | null>;
}
