import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { QueryEdges } from '../fleet/index.ts';
import { createFirewallEvents } from './writes/own-objects.ts';
import {
  createHandlers,
  createX1Handlers,
  type FirewallHandlers,
  type FirewallX1Handlers,
} from './handlers.ts';
import { type BlockedHandlers, createBlockedHandlers } from './blocked/index.ts';
import {
  type AddressPortalHandlers,
  createAddressPortalHandlers,
} from './portal/address-handlers.ts';
import { createGroupPortalHandlers, type GroupPortalHandlers } from './portal/group-handlers.ts';

export { findClosedPorts } from './explain/closed-ports.ts';

export interface FirewallDeps {
  /** Contents of the source sets that geo rules name. */
  readonly loadSourceSets: (names: readonly string[]) => Promise<SourceSets>;
  readonly queryEdges: QueryEdges;
  /** Base of the links in pages, without a trailing slash. */
  readonly publicUrl: string;
  readonly registry: Registry;
  readonly log: Logger;
}

/** The firewall area: its operations of both interfaces, to be put into the map of handlers. */
export interface Firewall {
  readonly handlers: FirewallHandlers &
    FirewallX1Handlers &
    BlockedHandlers &
    AddressPortalHandlers &
    GroupPortalHandlers;
}

export function createFirewall(deps: FirewallDeps): Firewall {
  const { loadSourceSets } = deps;
  const service = { events: createFirewallEvents(deps.registry, deps.log), loadSourceSets };
  return {
    handlers: {
      ...createHandlers(service),
      ...createX1Handlers({ ...deps, ...service }),
      ...createBlockedHandlers(deps),
      ...createAddressPortalHandlers(service),
      ...createGroupPortalHandlers(),
    },
  };
}
