import { useQuery } from '@tanstack/react-query';
import type {
  AcceptedAddress,
  HeldAddress,
  HeldPrefix,
  KeyClient,
} from '@portcullis/client/index.ts';
import { useHasOrganisation, useSession } from '../../session/session.ts';

export interface Addresses {
  readonly prefixes: readonly HeldPrefix[];
  readonly addresses: readonly HeldAddress[];
  readonly configured: { readonly used: number; readonly limit: number };
  /** The generation that is live, beside the accepted one; they differ while something propagates. */
  readonly liveGeneration: number | null;
  readonly acceptedGeneration: number | null;
  readonly enforcement: 'full' | 'partial' | 'none' | null;
}

const PER_PAGE = 1000;
/** While something propagates: an event says when it is live, but not how far each edge is. */
const MOVING_MS = 2_000;

export function useAddresses() {
  const { client } = useSession();
  const enabled = useHasOrganisation();
  return useQuery({
    queryKey: ['addresses'],
    enabled,
    queryFn: ({ signal }) => loadAddresses(client, signal),
  });
}

async function loadAddresses(client: KeyClient, signal: AbortSignal): Promise<Addresses> {
  const addresses: HeldAddress[] = [];
  let loaded: Addresses | null = null;
  const pages = client.pages.listHeldAddresses({ query: { per_page: PER_PAGE } }, { signal });
  for await (const { data, meta, response } of pages) {
    addresses.push(...data.addresses);
    loaded = {
      prefixes: data.prefixes,
      addresses,
      configured: meta.configured_addresses,
      liveGeneration: response.generation,
      acceptedGeneration: response.acceptedGeneration,
      enforcement: response.enforcement,
    };
  }
  if (loaded === null) throw new Error('a list of addresses has at least one page');
  return loaded;
}

export type AcceptedView = AcceptedAddress & { readonly etag: string | null };

export function useAddress(ip: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['address', ip],
    queryFn: async ({ signal }): Promise<AcceptedView> => {
      const { response, ...view } = await client.readAcceptedAddress({ ip }, { signal });
      return { ...view, etag: response.etag };
    },
    refetchInterval: ({ state }) =>
      state.data !== undefined && isMoving(state.data) ? MOVING_MS : false,
  });
}

/** Whether something of the address is on its way to an edge. Without one that enforces, it waits for the operator. */
export function isMoving({ data, meta }: AcceptedAddress): boolean {
  if (meta.live_generation === null) return false;
  const isUnderway = ({ status }: { readonly status: string }) => status !== 'live';
  return (
    meta.live_generation < meta.accepted_generation ||
    data.rules.some(isUnderway) ||
    data.filters.some(isUnderway)
  );
}

/** A port whose openness changes by itself, when its server starts or an attack begins. */
const OPENNESS_MS = 15_000;

/** To whom a port is open, and by what. */
export function useOpenTo({
  ip,
  port,
  protocol,
}: {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['address', ip, 'open', protocol, port],
    queryFn: async ({ signal }) => {
      const body = { protocol, destination_port: port };
      const { open_to: open } = (await client.explainPacket({ ip, body }, { signal })).data;
      if (open === null)
        throw new Error('a packet without a source has an answer for every source');
      return open;
    },
    refetchInterval: ({ state }) =>
      state.data?.propagation === 'pending' ? MOVING_MS : OPENNESS_MS,
  });
}
