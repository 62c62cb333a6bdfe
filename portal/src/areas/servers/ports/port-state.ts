import type { AcceptedAddress } from '@portcullis/client/index.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';

type Protocol = 'tcp' | 'udp';
type View = Pick<AcceptedAddress['data'], 'rules' | 'filters' | 'default'> & {
  /** Whether an edge enforces for the address. */
  readonly isEnforced: boolean;
};

export interface PortState {
  /** What the rules of the address do with a packet from somewhere: `some` depends on the source. */
  readonly verdict: 'open' | 'closed' | 'some';
  /** Of every rule and filter that decides: in the kernels of edges, on the way there, or with no edge that enforces. */
  readonly propagation: 'live' | 'moving' | 'waiting';
  /** The filters of the port. */
  readonly filters: readonly string[];
}

/** By rules, filters and default of the address: allow is read before deny, then the default. */
export function portStateOf(view: View, port: number, protocol: Protocol): PortState {
  const rules = view.rules.filter(
    (rule) =>
      (rule.protocol === protocol || rule.protocol === 'any') &&
      (rule.destination_port === null || rule.destination_port === port) &&
      rule.status !== 'going',
  );
  const of = (action: string, isAnywhere: boolean) =>
    rules.some((rule) => rule.action === action && (rule.source_ip === null) === isAnywhere);
  const filters = view.filters.filter((filter) => {
    const known = FILTERS.find(({ type }) => type === filter.type);
    return filter.port === port && (known === undefined || known[protocol] !== null);
  });
  return {
    verdict: verdictOf(of, view.default),
    propagation: propagationOf(view, [...rules, ...filters]),
    filters: filters.map(({ name }) => name),
  };
}

function propagationOf(
  { isEnforced }: View,
  objects: readonly { readonly status: string }[],
): PortState['propagation'] {
  if (!isEnforced) return 'waiting';
  return objects.every(({ status }) => status === 'live') ? 'live' : 'moving';
}

function verdictOf(
  of: (action: string, isAnywhere: boolean) => boolean,
  otherwise: string,
): PortState['verdict'] {
  if (of('allow', true)) return 'open';
  const isClosed = of('deny', true) || otherwise === 'deny';
  if (isClosed) return of('allow', false) ? 'some' : 'closed';
  return of('deny', false) ? 'some' : 'open';
}
