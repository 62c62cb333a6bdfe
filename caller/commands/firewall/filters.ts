import type { Command } from 'commander';
import { ProblemError } from '@portcullis/client/errors.ts';
import type { AddressReplacement } from '@portcullis/client/generated/operations.ts';
import { expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import { ownObjects, sentFilter, sentRule } from '../../address.ts';
import { connect } from '../../connect.ts';
import { type CliError, failed, usageError } from '../../exit.ts';
import { nearest } from '../../file/places.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import { withWriteOptions, type WriteOptions } from '../../waiting.ts';
import { change } from './change.ts';
import { printFilters } from './show.ts';

/** `firewall filter list`, `add` and `remove`. */
export function addFilters(firewall: Command): void {
  const filter = firewall.command('filter').description('stateful filters of an address');
  withCallOptions(
    filter.command('list').description('the filters of an address').argument('<ip>'),
  ).action(listFilters);
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
      .addHelpText('after', `\n  portcullis firewall filter ${verb} 203.0.113.10 source 27015`)
      .action((ip: string, type: string, ports: string, options: WriteOptions) =>
        changeFilters(verb, { ip, type, ports }, options),
      );
  }
}

async function listFilters(ip: string, options: CallOptions): Promise<void> {
  const { data } = await connect(options).readAcceptedAddress({ ip });
  if (options.json === true) return printJson(data.filters);
  if (data.filters.length === 0) return print(`${ip} has no filter.`);
  await printFilters(data.filters);
}

/** A refused type, with the one that was probably meant. */
async function describeType(ip: string, type: string, options: CallOptions): Promise<CliError> {
  const client = connect(options);
  const [{ data: all }, { data: available }] = await Promise.all([
    client.listFilters(),
    client.listAvailableFilters({ ip }),
  ]);
  const names = available.map((one) => one.type);
  if (all.some((one) => one.type === type)) {
    return failed(`the service of ${ip} manages ${type} itself; nothing was changed`);
  }
  const near = names.find((name) => name.includes(type));
  const meant = near ?? nearest(type, names);
  const hint = meant === null ? '' : ` Did you mean "${meant}"?`;
  return usageError(
    `there is no filter "${type}".${hint} "portcullis firewall catalogue ${ip}" lists what there is`,
  );
}

async function changeFilters(
  verb: 'add' | 'remove',
  wanted: { readonly ip: string; readonly type: string; readonly ports: string },
  options: WriteOptions,
): Promise<void> {
  try {
    await writeFilters(verb, wanted, options);
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'filter_unavailable')
      throw await describeType(wanted.ip, wanted.type, options);
    throw error;
  }
}

async function writeFilters(
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
