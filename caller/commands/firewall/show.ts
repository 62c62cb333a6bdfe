import type { Command } from 'commander';
import type {
  AcceptedFilter,
  AcceptedRule,
  HeldAddress,
} from '@portcullis/client/generated/operations.ts';
import { connect } from '../../connect.ts';
import { alsoDrops } from '../../file/also-drops.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { portExpression } from '@portcullis/core/net/ports.ts';
import { localTime, print, printJson, printTable, styled } from '../../output.ts';

/** `firewall show` and `firewall catalogue`. */
export function addShow(firewall: Command): void {
  withCallOptions(
    firewall
      .command('show')
      .description('the addresses that you hold, or the rules and filters of one')
      .argument('[ip]'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall show
  portcullis firewall show 203.0.113.10
  portcullis firewall show 203.0.113.10 --json | jq '.data.rules[].id'`,
    )
    .action(show);
  withCallOptions(
    firewall
      .command('catalogue')
      .description('filters that there are, or those available on an address')
      .argument('[ip]'),
  ).action(catalogue);
}

async function show(ip: string | undefined, options: CallOptions): Promise<void> {
  if (ip !== undefined) return showAddress(ip, options);
  const addresses: HeldAddress[] = [];
  let prefixes: readonly { readonly prefix: string }[] = [];
  for await (const page of connect(options).pages.listHeldAddresses()) {
    ({ prefixes } = page.data);
    addresses.push(...page.data.addresses);
  }
  if (options.json === true) return printJson({ prefixes, addresses });
  if (prefixes.length > 0) print(`prefixes: ${prefixes.map((one) => one.prefix).join(', ')}`);
  if (addresses.length === 0)
    return print('No address has rules, filters or a service of its own.');
  await printTable(
    ['ADDRESS', 'SERVICE', 'RULES', 'FILTERS', 'DROPPED IN AN HOUR'],
    addresses.map((one) => [
      one.ip,
      one.service_id === null ? '' : String(one.service_id),
      String(one.rules_count),
      String(one.filters_count),
      String(one.dropped_packets),
    ]),
  );
}

async function showAddress(ip: string, options: CallOptions): Promise<void> {
  const { data, meta } = await connect(options).readAcceptedAddress({ ip });
  if (options.json === true) return printJson(data, { meta });
  const { limits } = meta;
  print(
    `${styled('bold', data.ip)}: what no rule matches is ${data.default === 'deny' ? 'dropped' : 'let through'}`,
  );
  print(
    `${meta.rules_count} of ${limits.rules_per_ip} rules, ${meta.filters_count} of ${limits.filters_per_ip} filters`,
  );
  print(ENFORCEMENT[meta.enforcement]);
  if (meta.enforcement !== 'none') print(meta.propagation.text);
  for (const line of alsoDrops(meta.also_drops)) print(styled('yellow', line));
  if (data.rules.length > 0) {
    print();
    await printTable(
      ['ID', 'ACTION', 'PROTOCOL', 'PORT', 'FROM', 'REF', 'UNTIL', 'OF', 'STATUS'],
      alike(data.rules).map(([rule, ports]) => [
        ports.length < 2 ? String(rule.id) : `${rule.id} and ${ports.length - 1} more`,
        rule.action,
        rule.protocol,
        rule.named_port ?? (portExpression(ports) || 'any'),
        rule.source_ip ?? 'anywhere',
        rule.ref ?? '',
        localTime(rule.expires_at),
        ownerOf(rule.managed_by_group),
        rule.status,
      ]),
    );
  }
  if (data.filters.length > 0) {
    print();
    await printFilters(data.filters);
  }
}

const ownerOf = (group: { readonly name: string } | null): string =>
  group === null ? '' : `group ${group.name}`;

export async function printFilters(filters: readonly AcceptedFilter[]): Promise<void> {
  await printTable(
    ['FILTER', 'PORT', 'SETTINGS', 'OF', 'STATUS'],
    filters.map(({ type, port, settings, managed_by_group: group, status }) => [
      type,
      String(port),
      Object.entries(settings)
        .flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
        .join(', '),
      ownerOf(group),
      status,
    ]),
  );
}

/** Rules that differ in their ports alone are one line: they were made by one port expression. */
function alike(rules: readonly AcceptedRule[]): [AcceptedRule, number[]][] {
  const groups = Map.groupBy(rules, ({ id, destination_port: port, ref, named_port, ...rule }) =>
    JSON.stringify(ref !== null || named_port !== null || port === null ? id : rule),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const ports = group.flatMap(({ destination_port: port }) => port ?? []);
    return first === undefined ? [] : [[first, ports]];
  });
}

const ENFORCEMENT = {
  full: 'enforced by every edge that serves it',
  partial: 'enforced by some edges: one is out of service, lacks a device, or refused it',
  none: 'enforced by no edge now: packets to it are not filtered until one does',
} as const;

async function catalogue(ip: string | undefined, options: CallOptions): Promise<void> {
  const client = connect(options);
  const { data: all } = await client.listFilters();
  const available =
    ip === undefined
      ? null
      : new Set((await client.listAvailableFilters({ ip })).data.map(({ type }) => type));
  const shown = available === null ? all : all.filter(({ type }) => available.has(type));
  if (options.json === true) return printJson(shown);
  await printTable(
    ['FILTER', 'KIND', 'PROTOCOLS', 'USUAL PORTS', 'NAME'],
    shown.map((one) => [
      one.type,
      one.category,
      one.protocols.join(', '),
      one.usual_ports.join(', '),
      one.name,
    ]),
  );
}
