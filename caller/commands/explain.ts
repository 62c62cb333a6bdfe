import type { Command } from 'commander';
import type {
  EdgeAnswer,
  ExplainRequest,
  OpenTo,
} from '@portcullis/client/generated/operations.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { connect } from '../connect.ts';
import { usageError } from '../exit.ts';
import { OPEN_TO, PROPAGATION } from '../open-to.ts';
import { type CallOptions, withCallOptions } from '../options.ts';
import { print, printJson, printTable, styled } from '../output.ts';

interface ExplainOptions extends CallOptions {
  readonly protocol: string;
  readonly from?: string;
  readonly port?: string;
  readonly sourcePort?: string;
  readonly icmpType?: string;
  readonly view?: string;
}

export function addExplain(program: Command): void {
  withCallOptions(
    program
      .command('explain')
      .description('would this packet pass, or from where, and which rule or filter decides')
      .argument('<ip>', 'the protected address that the packet is sent to')
      .requiredOption('--protocol <name>', 'tcp, udp, icmp, gre, esp, or a protocol number')
      .option('--from <ip>', 'source address of the packet (default: from anywhere)')
      .option('--port <port>', 'destination port, with tcp and udp: a number, or SERVER:PORT')
      .option('--source-port <port>', 'source port, with tcp and udp')
      .option('--icmp-type <type>', 'with icmp')
      .option('--view <view>', 'accepted (default) or live'),
  )
    .addHelpText(
      'after',
      `
  portcullis explain 203.0.113.10 --protocol tcp --port 25565
  portcullis explain 203.0.113.10 --protocol udp --port 27015 --from 192.0.2.7
  portcullis explain 2001:db8::10 --protocol icmp --icmp-type 128 --from 2001:db8:1::7 --json`,
    )
    .action(explain);
}

type Decision = Pick<EdgeAnswer, 'verdict' | 'stage' | 'decided_by' | 'explanation'>;

async function explain(ip: string, options: ExplainOptions): Promise<void> {
  requireAddresses(ip, options);
  const answer = await connect(options).explainPacket({ ip, body: packetOf(options) });
  if (options.json === true) {
    printJson(answer.data);
    return;
  }
  const { verdict, explanation, edges, differences, dropped, open_to: open } = answer.data;
  if (open === null) {
    print(verdict === 'pass' ? styled('green', 'pass') : styled('red', 'drop'));
    print(explanation);
    print(decidedBy(answer.data));
  } else describeOpenTo(open);
  if (edges.length > 0) {
    print();
    await printTable(
      ['EDGE', 'VERDICT', 'GENERATION', 'DECIDED BY', 'POLICY', 'KERNEL'],
      edges.map(({ name, answer: decision }) =>
        decision === null ? [name, 'no answer', '-', '-', '-', '-'] : [name, ...edgeRow(decision)],
      ),
    );
  }
  for (const difference of differences) print(styled('yellow', difference));
  if (dropped.length === 0) return;
  print('\nDropped of all packets to it in the last hour:');
  await printTable(
    ['STAGE', 'REASON', 'BY', 'PACKETS'],
    dropped.map(({ stage, reason, by, packets }) => [stage, reason, by, String(packets)]),
  );
}

/** Both of one family, before anything is asked. */
function requireAddresses(ip: string, { from }: ExplainOptions): void {
  const target = parseAddress(ip);
  if (!target.ok) throw usageError(`${ip} is not an address: ${target.reason}`);
  if (from === undefined) return;
  const source = parseAddress(from);
  if (!source.ok) throw usageError(`--from ${from} is not an address: ${source.reason}`);
  if (source.value.family !== target.value.family) {
    throw usageError(`--from ${from} is not an IPv${target.value.family} address, as ${ip} is`);
  }
}

function describeOpenTo({ to, explanation, decisions, filters, propagation }: OpenTo): void {
  print(styled(to === 'nobody' ? 'red' : 'green', OPEN_TO[to] ?? to));
  print(explanation);
  for (const { source_ip: source, ...decision } of decisions) {
    print(`  ${decision.verdict} from such as ${source}: ${decidedBy(decision)}`);
  }
  if (filters.length > 0) print(`filters: ${filters.join(', ')}`);
  // The differences name the other case.
  if (propagation === 'pending') print(styled('yellow', PROPAGATION[propagation] ?? ''));
}

function edgeRow(answer: EdgeAnswer): string[] {
  return [
    answer.mode === 'observe' ? `${answer.verdict} (observes)` : answer.verdict,
    String(answer.generation),
    decidedBy(answer),
    answer.up_to_date ? 'accepted' : 'another',
    answer.kernel,
  ];
}

function decidedBy({ stage, decided_by: by }: Decision): string {
  return `stage: ${stage}${by === null ? '' : `, decided by ${by.kind} ${by.id ?? ''}`.trimEnd()}`;
}

function packetOf(options: ExplainOptions): ExplainRequest {
  const number = Number(options.protocol);
  return {
    protocol: /^\d{1,3}$/.test(options.protocol) ? number : options.protocol,
    ...(options.from !== undefined && { source_ip: options.from }),
    ...(options.port?.includes(':') === true
      ? { destination_port: options.port }
      : numeric('destination_port', '--port', options.port)),
    ...numeric('source_port', '--source-port', options.sourcePort),
    ...numeric('icmp_type', '--icmp-type', options.icmpType),
    ...(options.view === undefined ? {} : { view: options.view }),
  } as ExplainRequest;
}

function numeric(field: string, option: string, text: string | undefined): object {
  if (text === undefined) return {};
  if (!/^\d+$/.test(text)) throw usageError(`${option} ${text} is not a number`);
  const highest = field === 'icmp_type' ? 255 : 65_535;
  if (Number(text) > highest) throw usageError(`${option} ${text} is not from 0 to ${highest}`);
  return { [field]: Number(text) };
}
