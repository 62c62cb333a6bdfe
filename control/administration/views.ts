import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { KnownCollector } from '../collectors/index.ts';
import type { EdgeStatus } from '../fleet/index.ts';
import type { NodeStatus } from '../game-servers/index.ts';
import type { OrganisationRow } from './store.ts';

/** `2026-11-21T02:00:00+00:00`. */
export function timeView(moment: Date): string {
  return `${moment.toISOString().slice(0, 19)}+00:00`;
}

export function timeViewOrNull(moment: Date | null): string | null {
  return moment && timeView(moment);
}

export function organisationView({ id: _id, detection, ...row }: OrganisationRow) {
  return {
    ...row,
    thresholds: thresholdsView(detection),
    services: row.services.map(detectedView),
    holdings: row.holdings.map(detectedView),
  };
}

function detectedView({ detection, ...row }: OrganisationRow['services'][number]) {
  return { ...row, thresholds: thresholdsView(detection) };
}

function thresholdsView(set: Partial<ScopeSettings>) {
  const { pps, mbps, holdSeconds, mitigation, safelist } = { ...NOTHING_SET, ...set };
  return { pps, mbps, hold_seconds: holdSeconds, mitigation, safelist };
}

export function edgeView({ modeReason, inService, lastSeenAt, refused, ...edge }: EdgeStatus) {
  const { name, site, owner, devices, serves, sees, fragments, mode, generation, report } = edge;
  return {
    name,
    site,
    owner,
    devices,
    serves,
    sees,
    fragments,
    mode,
    generation,
    report,
    mode_reason: modeReason,
    in_service: inService,
    last_seen_at: timeViewOrNull(lastSeenAt),
    accepted_generation: edge.acceptedGeneration,
    lag_ms: edge.lagMs,
    refused: refused.map(({ target, reason, goodGeneration }) => ({
      target,
      reason,
      good_generation: goodGeneration,
    })),
  };
}

export function nodeView({ enrolledAt, lastSeenAt, id: _id, ...node }: NodeStatus) {
  return {
    ...node,
    enrolled_at: timeViewOrNull(enrolledAt),
    last_seen_at: timeViewOrNull(lastSeenAt),
  };
}

export function collectorView({ name, owner, listen, connected, report, ...of }: KnownCollector) {
  return {
    name,
    owner,
    listen,
    connected,
    report,
    exporters: of.listed,
    enrolled_at: timeViewOrNull(of.enrolledAt),
    last_seen_at: timeViewOrNull(of.lastSeenAt),
  };
}
