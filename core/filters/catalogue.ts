import type { Filter } from './filter.ts';
import { fivem } from './games/fivem.ts';
import { luanti } from './games/luanti.ts';
import { minecraftBedrock } from './games/minecraft-bedrock.ts';
import { minecraftJava } from './games/minecraft-java.ts';
import { mumble } from './games/mumble.ts';
import { openttd } from './games/openttd.ts';
import { quake3 } from './games/quake3.ts';
import { rust } from './games/rust.ts';
import { samp } from './games/samp.ts';
import { source } from './games/source.ts';
import { teamspeak3 } from './games/teamspeak3.ts';
import { teeworlds } from './games/teeworlds.ts';
import { terraria } from './games/terraria.ts';
import { dns } from './protocols/dns.ts';
import { http } from './protocols/http.ts';
import { ntp } from './protocols/ntp.ts';
import { openvpn } from './protocols/openvpn.ts';
import { quic } from './protocols/quic.ts';
import { ssh } from './protocols/ssh.ts';
import { tcpSynProxy } from './protocols/tcp-syn-proxy.ts';
import { tls } from './protocols/tls.ts';
import { udpStateful } from './protocols/udp-stateful.ts';
import { wireguard } from './protocols/wireguard.ts';

/** All filters, in the order that callers see. How to add one: docs/adding-a-filter.md. */
export const FILTERS = [
  fivem,
  luanti,
  minecraftBedrock,
  minecraftJava,
  mumble,
  openttd,
  quake3,
  rust,
  samp,
  source,
  teamspeak3,
  teeworlds,
  terraria,
  dns,
  http,
  ntp,
  openvpn,
  quic,
  ssh,
  tcpSynProxy,
  tls,
  udpStateful,
  wireguard,
] as const satisfies readonly Filter[];

export type FilterType = (typeof FILTERS)[number]['type'];

/** The filters that a service manages by default. */
export const DEFAULT_MANAGED_FILTERS: readonly FilterType[] = ['tcp-syn-proxy', 'udp-stateful'];

export function findFilter(type: string): Filter<FilterType> | null {
  return FILTERS.find((filter) => filter.type === type) ?? null;
}

/** The filters that a caller may apply to an address: all except those that its service manages. */
export function availableFilters(managed: readonly FilterType[]): readonly Filter<FilterType>[] {
  return FILTERS.filter((filter) => !managed.includes(filter.type));
}
