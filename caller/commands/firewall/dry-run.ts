import type { Command } from 'commander';
import type { Affected, DryRunInput } from '@portcullis/client/generated/operations.ts';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { localTime, print, printJson, printTable } from '../../output.ts';
import { protocolName } from '../drops.ts';

interface DryRunOptions extends CallOptions {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly filter?: readonly string[];
  readonly default?: string;
}

const RULE = 'PROTOCOL[/PORTS][@SOURCE]';
const FILTER = 'FILTER/PORTS';

/** `firewall dry-run`. */
export function addDryRun(firewall: Command): void {
  withCallOptions(
    firewall
      .command('dry-run')
      .description('what rules, filters or a default would do to the traffic of the last day')
      .argument('<ip>', 'an address that you hold'),
  )
    .option('--allow <rule...>', `allow rules, as ${RULE}`)
    .option('--deny <rule...>', `deny rules, as ${RULE}`)
    .option('--filter <filter...>', `filters, as ${FILTER}`)
    .option('--default <action>', 'the default action: accept or deny')
    .addHelpText(
      'after',
      `
Evaluates the packets that edges sampled. Nothing is changed; what would refuse the change refuses this too.

  portcullis firewall dry-run 203.0.113.10 --filter source/27015
  portcullis firewall dry-run 203.0.113.10 --deny udp/27015@198.51.100.0/24
  portcullis firewall dry-run 203.0.113.10 --allow tcp/443 udp/27015@198.51.100.0/24 --default deny`,
    )
    .action(dryRun);
}

async function dryRun(ip: string, options: DryRunOptions): Promise<void> {
  const { allow = [], deny = [], filter = [], default: action } = options;
  const body = {
    rules: [
      ...allow.map((text) => ruleOf('allow', text)),
      ...deny.map((text) => ruleOf('deny', text)),
    ],
    filters: filter.map(filterOf),
    ...(action !== undefined && { default: action }),
  };
  if (body.rules.length + body.filters.length === 0 && action === undefined) {
    throw usageError('say what to try: --allow, --deny, --filter or --default');
  }
  const { data, message } = await connect(options).dryRun({ ip, body: body as DryRunInput });
  if (options.json === true) return printJson(data);
  print(message);
  const rows = [...rowsOf('dropped', data.dropped), ...rowsOf('reconnects', data.reconnecting)];
  if (rows.length > 0) await printTable(['', 'SOURCE', 'TO', 'SAMPLES', 'LAST SEEN'], rows);
}

function rowsOf(what: string, { top }: Affected): string[][] {
  return top.map(({ source_ip: source, protocol, port, samples, last_seen_at: at }) => [
    what,
    source,
    `${protocolName(protocol)}${port === null ? '' : ` ${port}`}`,
    String(samples),
    localTime(at),
  ]);
}

function ruleOf(action: 'allow' | 'deny', text: string) {
  const [, protocol, ports, source] = /^([a-z]+)(?:\/([0-9,-]+))?(?:@(\S+))?$/.exec(text) ?? [];
  if (protocol === undefined) {
    throw usageError(`"${text}" is no rule: write ${RULE}, such as udp/27015`);
  }
  return {
    action,
    protocol,
    ...(ports !== undefined && { destination_port: ports }),
    ...(source !== undefined && { source_ip: source }),
  };
}

function filterOf(text: string) {
  const [, type, port] = /^([a-z0-9-]+)\/([0-9,-]+)$/.exec(text) ?? [];
  if (type === undefined || port === undefined) {
    throw usageError(`"${text}" is no filter: write ${FILTER}, such as source/27015`);
  }
  return { type, port };
}
