import { readFileSync } from 'node:fs';
import { dumpOf } from '../../kernel/netlink/dump.ts';
import { NETLINK } from '../../kernel/netlink/netlink.ts';
import {
  attributesOf,
  type Message,
  netfilterHeader,
  textOf,
} from '../../kernel/netlink/netlink-message.ts';
import { SystemError } from '../../kernel/native.ts';
import {
  CONNECTIONS_TABLE_NAME,
  COUNTER_TABLE_NAME,
  PASSED_TABLE_NAME,
  TABLE_NAME,
} from '../../nftables/names.ts';

/**
 * Finds work of the network stack on forwarded packets beyond our policies and its routes: rules of other programs,
 * routing by marks, IPsec. Packets that are forwarded without the network stack would skip it.
 */
export function skippedOnHost(): string | null {
  return otherChains() ?? legacyTables() ?? routingByMarks() ?? ipsecPolicies();
}

/** Source of all numbers: include/uapi/linux/netfilter/nf_tables.h and netfilter.h. */
const SUBSYSTEM = 10 << 8;
const MESSAGE = { getTable: SUBSYSTEM | 1, getChain: SUBSYSTEM | 4 } as const;
const TABLE = { name: 1, flags: 2 } as const;
const DORMANT = 1;
const CHAIN = { table: 1, name: 3, hook: 4, policy: 5, use: 6 } as const;
const HOOK_NUMBER = 1;
const ACCEPT = 1;
const FAMILIES: Readonly<Record<number, string>> = { 1: 'inet', 2: 'ip', 10: 'ip6', 5: 'netdev' };
const NETDEV = 5;
/** Hooks that a forwarded packet passes; `ingress` is a hook of inet too. */
const HOOKS: Readonly<Record<number, string>> = {
  0: 'prerouting',
  2: 'forward',
  4: 'postrouting',
  5: 'ingress',
};
const OURS: readonly string[] = [
  TABLE_NAME,
  COUNTER_TABLE_NAME,
  PASSED_TABLE_NAME,
  CONNECTIONS_TABLE_NAME,
];

function otherChains(): string | null {
  const families = new Set<number>();
  for (const { payload } of dumpOf(NETLINK.netfilter, MESSAGE.getTable, netfilterHeader(0))) {
    const attributes = attributesOf(payload, 4);
    const isDormant = ((attributes.get(TABLE.flags)?.readUInt32BE(0) ?? 0) & DORMANT) !== 0;
    const family = payload[0] ?? 0;
    if (isDormant || isOurs(family, textOf(attributes.get(TABLE.name)))) continue;
    if (FAMILIES[family] !== undefined) families.add(family);
  }
  for (const family of families) {
    const chains = dumpOf(NETLINK.netfilter, MESSAGE.getChain, netfilterHeader(family));
    for (const chain of chains) {
      const found = describeChain(family, chain);
      if (found !== null) return found;
    }
  }
  return null;
}

function isOurs(family: number, table: string | null): boolean {
  return FAMILIES[family] === 'inet' && table !== null && OURS.includes(table);
}

/** Describes a chain that does something with forwarded packets; null for all others. Chains count their rules. */
function describeChain(family: number, { payload }: Message): string | null {
  const attributes = attributesOf(payload, 4);
  const hook = attributes.get(CHAIN.hook);
  const table = textOf(attributes.get(CHAIN.table));
  if (hook === undefined || isOurs(family, table)) return null;
  const number = attributesOf(hook).get(HOOK_NUMBER)?.readUInt32BE(0) ?? 0;
  if (family !== NETDEV && HOOKS[number] === undefined) return null;
  const policy = attributes.get(CHAIN.policy)?.readUInt32BE(0) ?? ACCEPT;
  const rules = attributes.get(CHAIN.use)?.readUInt32BE(0) ?? 0;
  if (policy === ACCEPT && rules === 0) return null;
  const where = family === NETDEV ? 'of a device' : `at ${HOOKS[number]}`;
  return `the chain ${textOf(attributes.get(CHAIN.name))} of the table ${FAMILIES[family]} ${table} (${where}) has rules for forwarded packets`;
}

/** Tables of iptables-legacy, which nf_tables does not know. */
function legacyTables(): string | null {
  for (const [tool, file] of [
    ['iptables-legacy', 'ip_tables_names'],
    ['ip6tables-legacy', 'ip6_tables_names'],
  ] as const) {
    const [table] = linesOf(`/proc/net/${file}`);
    if (table !== undefined) return `${tool} has a table ${table}`;
  }
  return null;
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Source of all numbers: include/uapi/linux/{rtnetlink,fib_rules}.h. */
const GET_RULE = 34;
const RULE_HEADER_BYTES = 12;
const MARK_ATTRIBUTES = [10, 16] as const;
const ROUTED_FAMILIES: readonly number[] = [2, 10];

function routingByMarks(): string | null {
  const rules = ROUTED_FAMILIES.flatMap((family) => {
    const header = Buffer.alloc(RULE_HEADER_BYTES);
    header[0] = family;
    return dumpOf(NETLINK.route, GET_RULE, header);
  });
  const isByMark = ({ payload }: Message): boolean => {
    const attributes = attributesOf(payload, RULE_HEADER_BYTES);
    return MARK_ATTRIBUTES.some((attribute) => attributes.has(attribute));
  };
  return rules.some(isByMark) ? 'a rule of ip rule routes by the mark of a packet' : null;
}

/** Source of all numbers: include/uapi/linux/xfrm.h. */
const GET_POLICY = 21;
const POLICY_ID_BYTES = 64;

function ipsecPolicies(): string | null {
  try {
    const policies = dumpOf(NETLINK.xfrm, GET_POLICY, Buffer.alloc(POLICY_ID_BYTES));
    return policies.length === 0 ? null : 'there are policies of IPsec';
  } catch (error) {
    // The kernel has no IPsec.
    if (error instanceof SystemError && error.code === 'EPROTONOSUPPORT') return null;
    throw error;
  }
}
