import { deviceMatch, passManagement } from '../table/base-chain.ts';
import { type EdgeRules } from '../table/edge-rules.ts';
import type { Chain } from '../policy/compiled.ts';
import type { Interval } from '../policy/intervals.ts';
import { resetClients, resetServers } from './reset.ts';
import { dispatchMap, IP, type PortDispatch, prefixMap } from '../names.ts';

/** After source NAT (100), where the server's address is the one that clients use. */
const AFTER_SOURCE_NAT = 110;
/** Before conntrack (-200). */
const BEFORE_CONNTRACK = -300;
/** Before the host's firewall (0), which would treat a SYN to a published port as one to the host itself. */
const BEFORE_FIREWALLS = -10;
const BEFORE_SYN_PROXY = BEFORE_FIREWALLS - 1;
/** After conntrack, before DNAT of local packets (-100). */
const BEFORE_DESTINATION_NAT = -150;
const BARE_SYN = 'tcp flags & (fin|syn|rst|ack) == syn';

/**
 * Base chains that exist only if a target needs them, since each costs time for every packet of the host. The chain
 * that resets old connections stays after the last SYN proxy as long as the agent knows the previous layout.
 */
export function filterHooks(
  rules: EdgeRules,
  counts: ReadonlyMap<string, number>,
  prefixes: ReadonlyMap<string, readonly Interval[]>,
  before: { readonly chains: ReadonlyMap<string, Chain> } | null,
): [string, Chain][] {
  const used = (dispatch: PortDispatch): boolean =>
    ([4, 6] as const).some(
      (family) =>
        (counts.get(dispatchMap(dispatch, family)) ?? 0) > 0 ||
        (prefixes.get(prefixMap(dispatch, family)) ?? []).length > 0,
    );
  const devices = deviceMatch(rules.devices);
  const hooks: [string, Chain][] = used('learn') ? [['learn', LEARN]] : [];
  if (devices === null) return hooks;
  // Management traffic passes without the filters of its port.
  const managed = passManagement(rules, 'tcp').map((statement) => `${devices} ${statement}`);
  if (used('synproxy')) hooks.push(...synProxyHooks(devices, managed));
  if (used('synproxy') || before?.chains.has(RESET_HOOK) === true)
    hooks.push(...resetHooks(devices, managed));
  return hooks;
}

const RESET_HOOK = 'reset_forward';

function resetHooks(devices: string, managed: readonly string[]): [string, Chain][] {
  const clients = resetClients(devices);
  return [
    ['reset_input', hook(`input priority ${BEFORE_SYN_PROXY}`, [...managed, ...clients])],
    [RESET_HOOK, hook(`forward priority ${BEFORE_SYN_PROXY}`, [...clients, ...resetServers()])],
    ['reset_output', hook(`output priority ${BEFORE_SYN_PROXY}`, resetServers())],
  ];
}

const LEARN = hook(
  `postrouting priority ${AFTER_SOURCE_NAT}`,
  lookups('meta l4proto udp', 'saddr', 'udp sport', 'learn'),
);

/**
 * A SYN is not tracked, is evaluated like any packet, and is answered in the input or forward hook. DNAT does not apply
 * to untracked packets, so a published port is matched by its public address.
 */
function synProxyHooks(devices: string, managed: readonly string[]): [string, Chain][] {
  const entered = `${devices} meta l4proto tcp`;
  const proxied = lookups(
    `${entered} ct state invalid,untracked`,
    'daddr',
    'tcp dport',
    'synproxy',
  );
  return [
    [
      'untrack',
      hook(`prerouting priority ${BEFORE_CONNTRACK}`, [
        ...managed,
        ...lookups(`${entered} ${BARE_SYN}`, 'daddr', 'tcp dport', 'untrack'),
      ]),
    ],
    ['synproxy_input', hook(`input priority ${BEFORE_FIREWALLS}`, [...managed, ...proxied])],
    ['synproxy_forward', hook(`forward priority ${BEFORE_FIREWALLS}`, proxied)],
    [
      'connect',
      hook(
        `output priority ${BEFORE_DESTINATION_NAT}`,
        // The proxy's SYN to the server, which has the address of the client.
        lookups(`${BARE_SYN} fib saddr type != local`, 'daddr', 'tcp dport', 'connect'),
      ),
    ],
  ];
}

function hook(where: string, statements: readonly string[]): Chain {
  return { hook: `type filter hook ${where}; policy accept;`, statements, sets: [], maps: [] };
}

function lookups(
  matches: string,
  address: 'saddr' | 'daddr',
  port: string,
  dispatch: PortDispatch,
): string[] {
  return ([4, 6] as const).flatMap((family) => [
    `${matches} ${IP[family]} ${address} . ${port} vmap @${dispatchMap(dispatch, family)}`,
    `${matches} ${IP[family]} ${address} vmap @${prefixMap(dispatch, family)}`,
  ]);
}
