import type { GeoRuleView } from '../geo/index.ts';
import { LISTED_CONFLICTS } from '../groups/conflicts.ts';
import type { GroupView, SavedGroup } from '../groups/index.ts';
import { timestampView } from '../views.ts';

export function groupView({ rules, ...group }: GroupView) {
  return {
    ...group,
    rules: rules.map(({ id, action, protocol, source, port }) => ({
      id,
      action,
      protocol,
      source_ip: source,
      destination_port: port,
    })),
  };
}

export function groupPreviewView({ changes, conflicts }: SavedGroup) {
  return {
    targets: changes.map((one) => ({
      target: one.target,
      change: one.change,
      configured_addresses: one.configuredAddresses,
      rules_added: one.rulesAdded,
      rules_removed: one.rulesRemoved,
      filters_added: one.filtersAdded,
      filters_removed: one.filtersRemoved,
    })),
    conflicts: conflicts
      .slice(0, LISTED_CONFLICTS)
      .map(({ target, code, reason }) => ({ target, code, detail: reason })),
  };
}

export function geoRuleView({ createdAt, ...rule }: GeoRuleView) {
  return { ...rule, created_at: timestampView(createdAt) };
}
