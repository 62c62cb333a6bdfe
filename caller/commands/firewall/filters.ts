import type { Command } from 'commander';
import type { AddressReplacement } from '@portcullis/client/generated/operations.ts';
import { expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import { ownObjects, sentFilter, sentRule } from '../../address.ts';
import { failed, usageError } from '../../exit.ts';
import { withWriteOptions, type WriteOptions } from '../../waiting.ts';
import { change } from './change.ts';

/** `firewall filter add` and `remove`. */
export function addFilters(firewall: Command): void {
  const filter = firewall.command('filter').description('stateful filters of an address');
  for (const verb of ['add', 'remove'] as const) {
    withWriteOptions(
      filter
        .command(verb)
        .description(
          verb === 'add'
            ? 'put a filter on ports; connections through them open again'
            : 'take a filter from ports',
        )
        .argument('<ip>')
        .argument('<filter>', 'as `firewall catalogue IP` prints it')
        .argument('<ports>', 'such as 27015 or 27015-27020'),
    )
      .addHelpText(
        'after',
        `\n  portcullis firewall filter ${verb} 203.0.113.10 udp-stateful 27015`,
      )
      .action((ip: string, type: string, ports: string, options: WriteOptions) =>
        changeFilters(verb, { ip, type, ports }, options),
      );
  }
}

async function changeFilters(
  verb: 'add' | 'remove',
  { ip, type, ports: text }: { readonly ip: string; readonly type: string; readonly ports: string },
  options: WriteOptions,
): Promise<void> {
  const parsed = parsePortExpression(text);
  if (!parsed.ok) throw usageError(parsed.reason);
  const ports = expandPorts(parsed.value);
  await change(ip, options, ({ data }) => {
    const { rules, filters } = ownObjects(data);
    const isThere = (port: number): boolean =>
      filters.some((one) => one.type === type && one.port === port);
    const missing = ports.filter((port) => !isThere(port));
    if (verb === 'remove' && missing.length === ports.length) {
      throw failed(`${ip} has no own filter ${type} on ${text}; nothing was changed`);
    }
    if (verb === 'add' && missing.length === 0) return null;
    const kept =
      verb === 'add'
        ? filters
        : filters.filter((one) => one.type !== type || !ports.includes(one.port));
    const added = verb === 'add' ? missing.map((port) => ({ type, port: String(port) })) : [];
    return {
      rules: rules.map(sentRule),
      filters: [...kept.map(sentFilter), ...added] as AddressReplacement['filters'],
    };
  });
}
