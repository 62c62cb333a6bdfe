import { findFilter, type FilterType } from '../../filters/catalogue.ts';
import {
  type Mitigation,
  MITIGATION_REF,
  type MitigationLimit,
  type PolicyFilter,
  type RuleProtocol,
} from '../../firewall/policy.ts';
import { REFLECTORS, type Reflector } from '../vectors.ts';

/** A mitigation action against an attack. The safelist is added when it is rendered. */
export type MitigationAction =
  /** Drops answers of a reflector: UDP from its port. */
  | { readonly kind: 'reflector'; readonly reflector: Reflector }
  /** Drops later fragments of UDP on an edge without reassembly. */
  | { readonly kind: 'fragments' }
  /** Drops one of few sources, by the protocol of the attack. */
  | { readonly kind: 'source'; readonly source: string; readonly protocol: RuleProtocol }
  /** Drops traffic above a rate. */
  | {
      readonly kind: 'limit';
      readonly protocol: RuleProtocol;
      /** Null: any port. */
      readonly port: number | null;
      readonly fragment: Mitigation['fragment'];
      readonly limit: MitigationLimit;
    }
  /** Applies a filter to a port. */
  | { readonly kind: 'filter'; readonly type: FilterType; readonly port: number };

export interface ActionRendering {
  /** The ref of the mitigation: `mitigation:12`. */
  readonly ref: string;
  readonly mode: Mitigation['mode'];
  readonly safelist: readonly string[];
}

/**
 * The part of a policy that an action becomes. Filters cannot observe, so an observing filter action becomes nothing.
 */
export type RenderedAction =
  | { readonly part: 'mitigation'; readonly value: Mitigation }
  | { readonly part: 'filter'; readonly value: PolicyFilter }
  | { readonly part: 'none' };

export function renderAction(action: MitigationAction, rendering: ActionRendering): RenderedAction {
  const { ref, mode, safelist } = rendering;
  if (action.kind === 'filter') {
    if (mode === 'observe') return { part: 'none' };
    const { type, port } = action;
    // The ref marks the filter as part of a mitigation.
    const ofAttack = ref.startsWith(MITIGATION_REF) ? ref : `${MITIGATION_REF}${ref}`;
    return { part: 'filter', value: { ref: ofAttack, type, port, managed: true, safelist } };
  }
  return { part: 'mitigation', value: { ...matchOf(action), ...rendering } };
}

type Match = Omit<Mitigation, 'ref' | 'mode' | 'safelist'>;

const EVERYTHING: Match = {
  protocol: 'any',
  sourcePort: null,
  destinationPort: null,
  source: null,
  fragment: 'any',
  limit: null,
};

function matchOf(action: Exclude<MitigationAction, { kind: 'filter' }>): Match {
  switch (action.kind) {
    case 'reflector':
      return { ...EVERYTHING, protocol: 'udp', sourcePort: REFLECTORS[action.reflector] };
    case 'fragments':
      return { ...EVERYTHING, protocol: 'udp', fragment: 'later' };
    case 'source': {
      const { source, protocol } = action;
      // Its address may be forged, so what the protected host has answered passes at the rate of a player.
      const unanswered = { per: 'source', pps: 0, unansweredOnly: true } as const;
      const limit = protocol === 'tcp' ? unanswered : { ...unanswered, answeredPps: ANSWERED_PPS };
      return { ...EVERYTHING, protocol, source, limit };
    }
    case 'limit':
    default: {
      const { protocol, port, fragment } = action;
      const limit = protocol === 'udp' ? ofAnswered(action.limit) : action.limit;
      return { ...EVERYTHING, protocol, destinationPort: port, fragment, limit };
    }
  }
}

/**
 * The rate of one answered flow of a source that floods: more than games and voice send. TCP needs none, because
 * conntrack knows the sequence numbers of its connections.
 */
const ANSWERED_PPS = 250;

/** A limit of each source, where what the host has answered is counted flow by flow: forged packets do not use it up. */
function ofAnswered(limit: MitigationLimit): MitigationLimit {
  if (limit.per !== 'source' || limit.unansweredOnly) return limit;
  return { ...limit, unansweredOnly: true, answeredPps: limit.pps };
}

/** A description such as `UDP from port 53 (dns) is dropped`, without a full stop. */
export function describeAction(action: MitigationAction): string {
  switch (action.kind) {
    case 'reflector':
      return `UDP from port ${REFLECTORS[action.reflector]} (${action.reflector}) is dropped`;
    case 'fragments':
      return 'later fragments of UDP datagrams are dropped';
    case 'source':
      return `${nameOf(action.protocol)} from ${action.source} is dropped, except answered ${
        action.protocol === 'tcp' ? 'connections' : `flows up to ${ANSWERED_PPS} packets/s each`
      }`;
    case 'limit':
      return describeLimit(action);
    case 'filter':
    default:
      return `the filter ${findFilter(action.type)?.name ?? action.type} is applied to port ${action.port}`;
  }
}

const PER: Readonly<Record<MitigationLimit['per'], string>> = {
  destination: '',
  source: ' per source',
  attack: ' for all addresses together',
};

function describeLimit({
  protocol,
  port,
  fragment,
  limit,
}: Extract<MitigationAction, { kind: 'limit' }>): string {
  const parts = fragment === 'later' ? ' in later fragments' : '';
  const what = `${nameOf(protocol)}${parts}${port === null ? '' : ` to port ${port}`}`;
  const whose = limit.unansweredOnly ? ' from unanswered sources' : '';
  return `${what}${whose} is limited to ${limit.pps} packets/s${PER[limit.per]}`;
}

function nameOf(protocol: RuleProtocol): string {
  return protocol === 'any' ? 'traffic' : protocol.toUpperCase();
}

/** The same for a mitigation of a policy. */
export function describeMitigation(mitigation: Mitigation): string {
  const { protocol, sourcePort, destinationPort, source, fragment, limit } = mitigation;
  const parts = [
    nameOf(protocol),
    ...(fragment === 'later' ? ['in later fragments'] : []),
    ...(source === null ? [] : [`from ${source}`]),
    ...(sourcePort === null ? [] : [`from port ${sourcePort}`]),
    ...(destinationPort === null ? [] : [`to port ${destinationPort}`]),
    ...(limit?.unansweredOnly ? ['from unanswered sources'] : []),
  ];
  if (limit === null) return `drops ${parts.join(' ')}`;
  const { pps, per, answeredPps } = limit;
  const verdict =
    pps === 0
      ? `drops ${parts.join(' ')}`
      : `limits ${parts.join(' ')} to ${pps} packets/s${PER[per]}`;
  if (answeredPps === undefined) return verdict;
  return `${verdict}, and limits answered flows to ${answeredPps} packets/s each`;
}

/** JSON with sorted keys: equal actions give equal text, whatever the order of their fields. */
export function keyOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
