import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import { portList } from '@portcullis/core/net/ports.ts';
import type { Enforcement, GroupRef } from '../objects.ts';

/** The wording of the interface; beyond it a message has what is measured (propagation.ts). */
const PROPAGATION = 'Changes take 3-5 minutes to propagate globally.';

/** The text in every message of a write while no edge enforces. */
export function notEnforced(target: string): string {
  return `At the moment no edge enforces rules for ${target}, so packets to it are not filtered until one does.`;
}

/** A warning that the interface requires in the response. */
const RECONNECT =
  'A stateful filter forces all connections going through its port to reconnect, so clients may be disconnected (players of a live game server drop).';

/** At most this many items are spelled out in a sentence. */
const LISTED = 20;

/** The effect of a write on the own objects of an address: rules and filters together. */
export interface Change {
  /** Rules that stay and get another name or end. */
  readonly marked: number;
  readonly created: number;
  readonly deleted: number;
  readonly filtersCreated: boolean;
  readonly enforcement: Enforcement;
  /** Sentences about rules that decide before a new one does, and about what stays closed. */
  readonly noEffect: readonly string[];
  /** How long it takes here, of a message beyond `/api/v1`. */
  readonly propagation: string;
}

export function rulesAccepted(change: Change): string {
  const what = `${counted(change.created, 'rule was', 'rules were')} accepted.`;
  return sentences(what, PROPAGATION, change);
}

/** Ids or keys of a request that are not on the address. */
type Missing = readonly (number | string)[];

export function rulesDeleted(deleted: number, missing: Missing, change: Change): string {
  if (deleted === 0) return 'Nothing was deleted: none of these ids is a rule of this address.';
  return sentences(deletion(deleted, missing, 'rule was', 'rules were'), PROPAGATION, change);
}

export function filtersAccepted(change: Change): string {
  return sentences(
    `${counted(change.created, 'filter was', 'filters were')} accepted. ${RECONNECT}`,
    PROPAGATION,
    change,
  );
}

export function filtersDeleted(deleted: number, missing: Missing, change: Change): string {
  if (deleted === 0) return 'Nothing was deleted: none of these keys is a filter of this address.';
  return sentences(deletion(deleted, missing, 'filter was', 'filters were'), PROPAGATION, change);
}

export function addressReplaced(change: Change): string {
  if (change.created + change.deleted === 0 && change.marked > 0) {
    return `The name or the end of ${counted(change.marked, 'rule', 'rules')} was changed; packets are evaluated as before.`;
  }
  if (change.created + change.deleted === 0) {
    return 'Nothing was changed: the address already has exactly these rules and filters.';
  }
  const what = `The change was accepted: ${counted(change.created, 'object', 'objects')} created, ${change.deleted} deleted.`;
  return sentences(
    change.filtersCreated ? `${what} ${RECONNECT}` : what,
    change.propagation,
    change,
  );
}

/** The message of a dry run of the same. */
export function replacementPlanned(change: Change): string {
  const what = `Nothing was written. The same request without dry_run creates ${counted(change.created, 'object', 'objects')}, deletes ${change.deleted}, and gives ${counted(change.marked, 'rule', 'rules')} another name or end.`;
  return sentences(what, change.filtersCreated ? RECONNECT : '', change);
}

export function settingsAccepted(change: Change): string {
  if (change.created === 0) return 'Nothing was changed: the filters have these settings already.';
  const what = `The settings of ${counted(change.created, 'filter', 'filters')} were accepted.`;
  return sentences(what, change.propagation, change);
}

export function defaultSet(
  target: string,
  action: DefaultAction | null,
  { changed, propagation }: { readonly changed: boolean; readonly propagation: string },
): string {
  if (!changed) return 'Nothing was changed: the target has this default already.';
  const what = {
    accept: `Packets to ${target} that no rule matches pass.`,
    deny: `Packets to ${target} that no rule allows are dropped. Answers to connections that the protected host opens, ICMP that networks need and management ports pass as before.`,
    none: `${target} has no default of its own any more; that of a containing prefix applies, or accept.`,
  }[action ?? 'none'];
  return `The change was accepted. ${what} ${propagation}`;
}

export function ruleExists(ports: readonly number[]): string {
  if (ports.length === 0)
    return 'The address already has a rule identical to this one; nothing was created.';
  return `The address already has a rule identical to this one on ${portList(ports)}; nothing was created.`;
}

export function refExists(ref: string): string {
  return `The address already has a rule with the ref ${JSON.stringify(ref)}; nothing was created. Replace the address to change that rule.`;
}

export function filterExists(ports: readonly number[]): string {
  return `The address already has this filter on ${portList(ports)}; nothing was created.`;
}

export function filterUnavailable(
  managed: readonly { readonly type: string; readonly ports: string }[],
): string {
  const own = managed.map(({ type, ports }) =>
    ports === '' ? `${type} (on no port yet)` : `${type} (ports ${ports})`,
  );
  const service =
    own.length === 0
      ? ''
      : ` The service of the address manages these itself, on the ports of its game servers or those it names: ${own.join(', ')}.`;
  return `This filter type is not available on this address.${service} Read filters/available for those that are.`;
}

export function ownedByGroup(group: GroupRef, what: 'rule' | 'filter', name: string): string {
  return `The ${what} ${name} is managed by the firewall group ${JSON.stringify(group.name)} (id ${group.id}) and can only be changed there; nothing was deleted.`;
}

function deletion(deleted: number, missing: Missing, one: string, many: string): string {
  if (missing.length === 0) return `${counted(deleted, one, many)} deleted.`;
  const more = missing.length > LISTED ? ` and ${missing.length - LISTED} more` : '';
  const names = `${missing.slice(0, LISTED).join(', ')}${more}`;
  return `The deletion of ${deleted} of ${deleted + missing.length} was accepted; not on this address: ${names}.`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function sentences(what: string, promise: string, change: Change): string {
  const all = [what, promise, ...change.noEffect];
  if (change.enforcement === 'none') all.push(notEnforced('this address'));
  return all.filter(Boolean).join(' ');
}
