import type {
  DeclaredBlockedList,
  DeclaredFirewallGeoRule,
  DeclaredFirewallGroup,
} from '@portcullis/client/index.ts';
import { operatorFirewallMessages as text } from '../../../messages/operator-firewall.ts';
import { personClient } from '../../../session/session.ts';

/** An object of the firewall of an organisation, as its card lists it. */
export interface FirewallItem {
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  readonly owner: DeclaredBlockedList['owner'];
  /** The name of the list that is edited here. */
  readonly label: string;
  read(how: { readonly signal: AbortSignal }): Promise<ReadList>;
  change(list: readonly string[], how: { readonly ifMatch?: string }): Promise<unknown>;
  remove(): Promise<unknown>;
}

interface ReadList {
  readonly list: readonly string[];
  readonly etag: string | null;
}

export async function loadFirewall(
  organisation: string,
  signal: AbortSignal,
): Promise<FirewallItem[]> {
  const [groups, geoRules, lists] = await Promise.all([
    personClient.listFirewallGroups({ organisation }, { signal }),
    personClient.listFirewallGeoRules({ organisation }, { signal }),
    personClient.listBlockedLists({ organisation }, { signal }),
  ]);
  return [
    ...groups.data.map(groupItem),
    ...geoRules.data.map(geoItem),
    ...lists.data.map(listItem),
  ];
}

function groupItem({ organisation, name, owner, ...group }: DeclaredFirewallGroup): FirewallItem {
  const at = { organisation, name };
  const { rules, filters, addresses } = group;
  return {
    key: `group ${name}`,
    title: text.group(name),
    detail: `${text.content(rules.length, filters.length)}; ${placesOf(addresses)}`,
    owner,
    label: text.addresses,
    async read(how) {
      const { data, response } = await personClient.readFirewallGroup(at, how);
      return { list: data.addresses, etag: response.etag };
    },
    change: (list, how) =>
      personClient.changeFirewallGroup({ ...at, body: { addresses: [...list] } }, how),
    remove: () => personClient.removeFirewallGroup(at),
  };
}

function geoItem({ organisation, id, owner, ...rule }: DeclaredFirewallGeoRule): FirewallItem {
  const at = { organisation, id };
  const names = [rule.action, ...rule.countries, ...rule.asns.map((asn) => `AS${asn}`)].join(' ');
  return {
    key: `geo ${id}`,
    title: text.geo(names),
    detail: placesOf(rule.addresses),
    owner,
    label: text.addresses,
    async read(how) {
      const { data, response } = await personClient.readFirewallGeoRule(at, how);
      return { list: data.addresses, etag: response.etag };
    },
    change: (list, how) =>
      personClient.changeFirewallGeoRule({ ...at, body: { addresses: [...list] } }, how),
    remove: () => personClient.removeFirewallGeoRule(at),
  };
}

function listItem({ organisation, target, owner, sources }: DeclaredBlockedList): FirewallItem {
  const at = { organisation, target };
  const known = new Map(sources.map((one) => [one.source, one]));
  return {
    key: `blocked ${target} ${owner}`,
    title: text.blocked(target),
    detail: shorten(sources.map(({ source }) => source)),
    owner,
    label: text.sources,
    async read(how) {
      const { data, response } = await personClient.readBlockedList(at, how);
      return { list: data.sources.map(({ source }) => source), etag: response.etag };
    },
    // Sources that stay keep their notes and ends.
    change: (list, how) =>
      personClient.changeBlockedList(
        { ...at, body: { sources: list.map((source) => known.get(source) ?? { source }) } },
        how,
      ),
    remove: () => personClient.removeBlockedList(at),
  };
}

function placesOf(addresses: readonly string[]): string {
  return addresses.length === 0 ? text.nowhere : shorten(addresses);
}

const NAMED = 5;

function shorten(names: readonly string[]): string {
  const more = names.length > NAMED ? ', …' : '';
  return names.slice(0, NAMED).join(', ') + more;
}
