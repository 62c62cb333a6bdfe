import type { Filter } from '@portcullis/core/filters/filter.ts';
import type { FilterSettings } from '@portcullis/core/filters/settings.ts';
import { filterKey } from '@portcullis/core/firewall/rules/content.ts';
import {
  describeDifference,
  type DescribedObject,
} from '@portcullis/core/firewall/rules/describe.ts';
import { X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import type { HeldPrefix } from '../access/index.ts';
import type { AddressCall, CallerCall } from '../http/operations/operation.ts';
import type { AcceptedAddress, AlsoDrops } from './accepted.ts';
import { type Explained, namedPortOf } from './explain/explain.ts';
import type { EdgeVerdict } from './explain/edge-verdicts.ts';
import { type AddressState, enforcedGeneration } from './objects.ts';
import { viewOf } from '../http/operations/view.ts';
import type { HeldAddress } from './held-store.ts';
import type { Written } from './writes/own-objects.ts';
import { describePropagation, type Propagation } from './writes/propagation.ts';
import { addressMeta, filterView, marksView, ownerView, ruleView } from './views.ts';

export function acceptedView(call: AddressCall, accepted: AcceptedAddress) {
  const { state, rules, filters, edges } = accepted;
  return {
    data: {
      ip: call.params.ip,
      default: state.default,
      rules: rules.map((rule) => ({
        ...ruleView(call.params.ip, rule),
        named_port: rule.namedPort?.shown ?? null,
        ...marksView(rule),
        status: rule.status,
      })),
      filters: filters.map((filter) => ({
        ...filterView(filter),
        settings: settingsView(filter.settings ?? {}),
        status: filter.status,
      })),
    },
    meta: {
      ...addressMeta(call, { rules, filters }),
      accepted_generation: state.acceptedGeneration,
      live_generation: enforcedGeneration(state),
      enforcement: state.enforcement,
      edges: edges
        .filter(({ isEnforcing }) => isEnforcing)
        .map(({ isEnforcing: _isEnforcing, seenRecently: _seenRecently, ...edge }) => viewOf(edge)),
      also_drops: alsoDropsView(accepted.alsoDrops),
      propagation: propagationView(accepted.propagation),
    },
  };
}

function propagationView(measured: Propagation | null) {
  return { measured: measured && viewOf(measured), text: describePropagation(measured) };
}

function alsoDropsView({ blocked, geo, baseline }: AlsoDrops) {
  const names = (sets: readonly string[], kind: string): string[] =>
    sets.flatMap((set) => (set.startsWith(kind) ? [set.slice(kind.length)] : []));
  const idOf = (ref: string): number => Number(ref.slice(ref.indexOf(':') + 1));
  return {
    blocked_sources: blocked.map((list) => ({ ...list })),
    geo_rules: geo.map(({ ref, action, sets }) => ({
      id: idOf(ref),
      action,
      countries: names(sets, 'country:'),
      asns: names(sets, 'asn:').map(Number),
    })),
    baseline_rules: baseline.map(({ ref, action, protocol, source, port }) => ({
      id: idOf(ref),
      action,
      protocol,
      source_ip: source,
      destination_port: port,
    })),
  };
}

function settingsView({
  sourcePps = null,
  newPerSecond = null,
  minLength = null,
  maxLength = null,
  sourcePorts = null,
}: { readonly [field in keyof FilterSettings]: FilterSettings[field] | null }) {
  return viewOf({ sourcePps, newPerSecond, minLength, maxLength, sourcePorts });
}

export interface Held {
  readonly prefixes: readonly HeldPrefix[];
  /** One more than the page's limit when there is another page. */
  readonly addresses: readonly HeldAddress[];
  readonly configured: number;
}

export function heldView(
  call: CallerCall,
  held: Held,
  page: { readonly limit: number; readonly publicUrl: string },
) {
  const addresses = held.addresses.slice(0, page.limit);
  const last = held.addresses.length > page.limit ? addresses.at(-1) : undefined;
  return {
    data: {
      prefixes: held.prefixes.flatMap(({ holding, cidr }) =>
        isServiceAddress(holding) ? [] : [viewOf({ prefix: cidr, ...termsOf(holding) })],
      ),
      addresses: addresses.map(viewOf),
    },
    links: { next: last === undefined ? null : nextPage(last.ip, page) },
    meta: {
      per_page: page.limit,
      configured_addresses: {
        used: held.configured,
        limit: call.by.organisation.limits.configuredAddresses,
      },
    },
  };
}

/** One is among the addresses; CIDRs have their length. */
function isServiceAddress({ cidr, serviceId }: HeldPrefix['holding']): boolean {
  return serviceId !== null && /^[0-9.]+\/32$|\/128$/.test(cidr);
}

function termsOf({ asn, serviceId, since, until }: HeldPrefix['holding']) {
  return { asn, serviceId, since, until };
}

/** Uses the public URL, because the host of a request is not trustworthy. */
function nextPage(
  after: string,
  { limit, publicUrl }: { limit: number; publicUrl: string },
): string {
  const query = new URLSearchParams({ after, per_page: String(limit) });
  return `${publicUrl}${X1_PREFIX}/firewall/ips?${query}`;
}

export function writtenView(written: Written) {
  const { created, deleted, unchanged, message } = written;
  return { data: { created, deleted, unchanged, difference: differenceView(written) }, message };
}

function differenceView({ difference, unchanged, notes }: Written) {
  const { rules, filters, marked } = difference;
  const there = new Set(filters.deleted.map(filterKey));
  const settings = filters.created.filter((one) => there.has(filterKey(one))).length;
  return {
    created: rules.created.length + filters.created.length - settings,
    deleted: rules.deleted.length + filters.deleted.length - settings,
    changed: marked.length + settings,
    unchanged: unchanged - marked.length,
    changes: describeDifference(difference).map(({ operation, effect, text, object }) => ({
      operation,
      effect,
      text,
      rule: object.kind === 'rule' ? describedRuleView(object) : null,
      filter: object.kind === 'filter' ? { type: object.type, port: object.port } : null,
    })),
    notes: [...notes()],
  };
}

function describedRuleView(rule: DescribedObject & { readonly kind: 'rule' }) {
  const { action, protocol, destinationPort, source } = rule;
  return {
    action,
    protocol,
    destination_port: destinationPort,
    source_ip: source,
    ...marksView(rule),
  };
}

/** Kinds of policy references under their names in the interface. */
const KINDS: Readonly<Record<string, string>> = {
  rule: 'rule',
  'group-rule': 'group_rule',
  'server-port': 'server_port',
  'geo-rule': 'geo_rule',
  baseline: 'baseline',
  blocked: 'blocked_source',
  filter: 'filter',
  'group-filter': 'filter',
  'managed-filter': 'filter',
  mitigation: 'mitigation',
};

export function explanationView(explained: Explained) {
  const { state, edges, differences, dropped } = explained;
  return {
    data: {
      ...decisionView(explained, state),
      open_to: openToView(explained),
      edges: edges.map((edge) => edgeVerdictView(edge, state)),
      differences,
      dropped: [...dropped],
    },
  };
}

function openToView({ openTo, state }: Explained) {
  if (openTo === null) return null;
  const { open, explanation, decisions, filters, propagation } = openTo;
  return {
    to: open.to,
    explanation,
    decisions: decisions.map((outcome) => ({
      ...decisionView(outcome, state),
      source_ip: outcome.source,
    })),
    filters: [...filters],
    propagation,
  };
}

function edgeVerdictView({ name, inService, answer, upToDate }: EdgeVerdict, state: AddressState) {
  return {
    name,
    in_service: inService,
    answer: answer && {
      ...decisionView(answer, state),
      mode: answer.mode,
      generation: answer.generation,
      up_to_date: upToDate === true,
      kernel: answer.kernel,
    },
  };
}

function decisionView(
  { verdict, explanation }: Pick<Explained, 'verdict' | 'explanation'>,
  state: AddressState,
) {
  return {
    verdict: verdict.action,
    stage: verdict.stage,
    decided_by: verdict.ref === null ? null : deciderView(verdict.ref, state),
    explanation,
  };
}

function deciderView(ref: string, state: AddressState) {
  const mark = ref.indexOf(':');
  const kind = KINDS[ref.slice(0, mark)] ?? 'rule';
  const id = /^[1-9][0-9]*$/.test(ref.slice(mark + 1)) ? Number(ref.slice(mark + 1)) : null;
  const owner = kind === 'group_rule' ? state.rules.find((rule) => rule.id === id) : undefined;
  return {
    kind,
    id,
    managed_by_group: ownerView(owner?.group ?? null),
    named_port: namedPortOf(ref, state),
  };
}

/** A filter of the catalogue. */
export function filterEntry(filter: Filter, publicUrl: string) {
  const { type, name, category, description, usualPorts, udp, tcp } = filter;
  return {
    type,
    name,
    category,
    description,
    protocols: [
      ...(udp === null ? [] : ['udp' as const]),
      ...(tcp === null ? [] : ['tcp' as const]),
    ],
    usual_ports: [...usualPorts],
    page: `${publicUrl}/docs/filters/${type}`,
  };
}
