import { callApi } from '../api.ts';
import { usageError } from '../exit.ts';
import { print, printJson, printTable, styled } from '../output.ts';
import type { ExplainOptions } from '../program/explain.ts';

interface Decision {
  readonly verdict: 'pass' | 'drop';
  readonly stage: string;
  readonly decided_by: { readonly kind: string; readonly id: number | null } | null;
  readonly explanation: string;
}
interface EdgeAnswer extends Decision {
  readonly mode: string;
  readonly generation: number;
  readonly up_to_date: boolean;
  readonly kernel: string;
}
interface Explanation {
  readonly data: Decision & {
    readonly edges: readonly {
      readonly name: string;
      readonly in_service: boolean;
      readonly answer: EdgeAnswer | null;
    }[];
    readonly differences: readonly string[];
  };
}

/** `portcullis explain`: asks control, so that the answer is about what is stored, not about a guess. */
export async function explain(ip: string, options: ExplainOptions): Promise<void> {
  const path = `/api/x1/firewall/ips/${encodeURIComponent(ip)}/explain`;
  const answer = (await callApi(options, 'POST', path, packetOf(options))) as Explanation;
  if (options.json === true) {
    printJson(answer);
    return;
  }
  const { verdict, explanation, edges, differences } = answer.data;
  print(verdict === 'pass' ? styled('green', 'pass') : styled('red', 'drop'));
  print(explanation);
  print(decidedBy(answer.data));
  if (edges.length > 0) {
    print();
    await printTable(
      ['EDGE', 'VERDICT', 'GENERATION', 'DECIDED BY', 'POLICY', 'KERNEL'],
      edges.map(({ name, answer: said }) =>
        said === null ? [name, 'no answer', '-', '-', '-', '-'] : [name, ...edgeRow(said)],
      ),
    );
  }
  for (const difference of differences) print(styled('yellow', difference));
}

function edgeRow(said: EdgeAnswer): string[] {
  return [
    said.mode === 'observe' ? `${said.verdict} (observes)` : said.verdict,
    String(said.generation),
    decidedBy(said),
    said.up_to_date ? 'accepted' : 'another',
    said.kernel,
  ];
}

function decidedBy({ stage, decided_by: by }: Decision): string {
  return `stage: ${stage}${by === null ? '' : `, decided by ${by.kind} ${by.id ?? ''}`.trimEnd()}`;
}

function packetOf(options: ExplainOptions): object {
  const number = Number(options.protocol);
  return {
    protocol: /^\d{1,3}$/.test(options.protocol) ? number : options.protocol,
    source_ip: options.from,
    ...numeric('destination_port', '--port', options.port),
    ...numeric('source_port', '--source-port', options.sourcePort),
    ...numeric('icmp_type', '--icmp-type', options.icmpType),
    ...(options.view === undefined ? {} : { view: options.view }),
  };
}

function numeric(field: string, option: string, text: string | undefined): object {
  if (text === undefined) return {};
  if (!/^\d{1,5}$/.test(text)) throw usageError(`${option} ${text} is not a number`);
  return { [field]: Number(text) };
}
